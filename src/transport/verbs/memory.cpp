#include "transport/verbs/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"
#include "loom/base/mapping.hpp"
#include "loom/base/settings.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t most_entries = 512;
constexpr std::uint64_t chunk_bytes = 8 << 20;
constexpr std::uint64_t most_allocated = std::uint64_t{1} << 47;  // addresses that a program has

// An adapter that does no atomics may refuse to register memory for them.
unsigned all_rights(const Device& device) {
    unsigned rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (device.atomics) rights |= IBV_ACCESS_REMOTE_ATOMIC;
    return rights;
}

bool keep_registrations(const Device& device) {
    const auto asked = settings::read_word(Setting::registration_cache);
    return asked ? *asked == "on" : device.adapter.soft;
}

}  // namespace

SharedMemory::SharedMemory(const Device& device, std::size_t bytes) : bytes_((bytes + page - 1) / page * page) {
    const int fd = memfd_create("loom-transport", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void* base = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes_)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int error = errno;
    if (base == MAP_FAILED) {
        if (fd >= 0) ::close(fd);
        throw Error("cannot get " + std::to_string(bytes_) + " bytes of shared memory: " + std::strerror(error));
    }
    base_ = static_cast<std::byte*>(base);
    mr_.reset(device.adapter.functions.reg_mr(device.pd.get(), base, bytes_, reinterpret_cast<std::uint64_t>(base),
                                              all_rights(device)));
    ::close(fd);
    if (mr_ == nullptr) {
        munmap(base_, bytes_);
        throw Error(std::string("verbs: cannot register memory: ") + std::strerror(errno));
    }
}

SharedMemory::~SharedMemory() {
    mr_.reset();
    munmap(base_, bytes_);
}

void SharedMemory::provide(std::uint64_t offset, std::uint64_t bytes) {
    if (madvise(base_ + offset, bytes, MADV_POPULATE_WRITE) == 0) return;
    for (std::uint64_t at = offset; at < offset + bytes; at += page)  // a kernel before 5.14
        *static_cast<volatile std::byte*>(base_ + at) = std::byte{};
}

Registrations::Registrations(const Device& device)
    : device_(device), keep_(keep_registrations(device)), whole_mappings_(keep_ && device.adapter.soft) {}

Registration& Registrations::make(std::uint64_t begin, std::uint64_t end, bool writable) {
    MrPtr mr(device_.adapter.functions.reg_mr(device_.pd.get(), reinterpret_cast<void*>(begin), end - begin, begin,
                                              writable ? all_rights(device_) : unsigned{IBV_ACCESS_REMOTE_READ}));
    if (mr == nullptr) throw Error(std::string("verbs: cannot register memory: ") + std::strerror(errno));
    ++made_;
    if (entries_.size() >= most_entries)
        for (auto old = std::prev(entries_.end()); old != entries_.begin(); --old)
            if (old->users == 0) {
                drop(*old);
                break;
            }
    Registration& made = entries_.emplace_front(Registration{std::move(mr), begin, end, writable});
    made.self = entries_.begin();
    by_begin_.emplace(begin, &made);
    return made;
}

void Registrations::drop(Registration& registration) {
    const auto [first, last] = by_begin_.equal_range(registration.begin);
    for (auto at = first; at != last; ++at)
        if (at->second == &registration) {
            by_begin_.erase(at);
            break;
        }
    if (last_ == &registration) last_ = nullptr;
    entries_.erase(registration.self);
}

Registration& Registrations::acquire(std::span<const std::byte> memory, bool writable) {
    const auto address = reinterpret_cast<std::uint64_t>(memory.data());
    const std::uint64_t end = address + memory.size();
    const auto holds = [&](const Registration& entry) {
        return entry.begin <= address && end <= entry.end && (entry.writable || !writable);
    };
    const auto use = [&](Registration& entry) -> Registration& {
        last_ = &entry;
        ++entry.users;
        return entry;
    };
    for (Registration* own : adopted_)
        if (holds(*own)) return ++own->users, *own;
    if (keep_) {
        if (last_ != nullptr && holds(*last_)) return use(*last_);
        // Ranges may overlap: a few of those that begin before are looked at.
        auto at = by_begin_.upper_bound(address);
        for (int tries = 0; tries < 8 && at != by_begin_.begin(); ++tries) {
            --at;
            if (!holds(*at->second)) continue;
            entries_.splice(entries_.begin(), entries_, at->second->self);
            return use(*at->second);
        }
    }
    return use(make_around(address, end, writable));
}

Registration& Registrations::acquire_exactly(std::span<const std::byte> memory, bool writable) {
    const auto begin = reinterpret_cast<std::uint64_t>(memory.data()), end = begin + memory.size();
    Registration& made = make(begin / page * page, (end + page - 1) / page * page, writable);
    ++made.users;
    return made;
}

// On the software HCA a registration names addresses, however many, and costs some ten system calls: the whole mapping
// then, which has the program's next buffers as well.
Registration& Registrations::make_around(std::uint64_t address, std::uint64_t end, bool writable) {
    const std::uint64_t begin = address / page * page, rounded = (end + page - 1) / page * page;
    if (whole_mappings_)
        if (const auto mapping = mapping_at(address);
            mapping && mapping->readable && !mapping->shared && mapping->start <= begin && rounded <= mapping->end)
            return make(mapping->start, mapping->end, mapping->writable || writable);
    return make(begin, rounded, writable);
}

void Registrations::release(Registration& registration) {
    if (--registration.users == 0 && !keep_) drop(registration);
}

void Registrations::adopt(SharedMemory& memory) {
    const auto begin = reinterpret_cast<std::uint64_t>(memory.bytes().data());
    Registration& made = make(begin, begin + memory.bytes().size(), true);
    made.shared = true;
    made.users = 1;  // which nobody gives back but forget()
    adopted_.push_back(&made);
}

void Registrations::forget(std::span<const std::byte> memory) {
    const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
    std::erase_if(adopted_, [&](Registration* own) {
        if (own->begin != begin) return false;
        --own->users;
        return true;
    });
    for (auto at = entries_.begin(); at != entries_.end();) {
        Registration& entry = *at++;
        if (entry.users == 0 && entry.begin < begin + memory.size() && begin < entry.end) drop(entry);
    }
}

std::span<std::byte> SharedHeap::allocate(std::size_t wanted) {
    if (wanted > most_allocated) throw Error("cannot allocate " + std::to_string(wanted) + " bytes of shared memory");
    const std::uint64_t bytes = (std::max<std::size_t>(wanted, 1) + 63) / 64 * 64;
    const auto take = [&](Chunk& chunk) -> std::byte* {
        for (auto at = chunk.free.begin(); at != chunk.free.end(); ++at) {
            const auto [offset, length] = *at;
            if (length < bytes) continue;
            chunk.free.erase(at);
            if (length > bytes) chunk.free.emplace(offset + bytes, length - bytes);
            return chunk.memory->bytes().data() + offset;
        }
        return nullptr;
    };
    for (Chunk& chunk : chunks_)
        if (std::byte* const found = take(chunk)) return {found, wanted};
    auto memory = std::make_unique<SharedMemory>(device_, std::max(bytes, chunk_bytes));
    registrations_.adopt(*memory);
    Chunk& chunk = chunks_.emplace_back();
    chunk.memory = std::move(memory);
    chunk.free.emplace(0, chunk.memory->bytes().size());
    return {take(chunk), wanted};
}

void SharedHeap::release(std::span<std::byte> memory) {
    for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
        std::byte* const base = chunk->memory->bytes().data();
        const std::uint64_t size = chunk->memory->bytes().size();
        if (memory.data() < base || memory.data() >= base + size) continue;
        std::uint64_t begin = static_cast<std::uint64_t>(memory.data() - base);
        std::uint64_t end = begin + (std::max<std::size_t>(memory.size(), 1) + 63) / 64 * 64;
        auto after = chunk->free.lower_bound(begin);
        if (after != chunk->free.end() && after->first == end) {
            end += after->second;
            after = chunk->free.erase(after);
        }
        if (after != chunk->free.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == begin) {
                begin = before->first;
                chunk->free.erase(before);
            }
        }
        chunk->free.emplace(begin, end - begin);
        if (end - begin == size && chunks_.size() > 1) {
            registrations_.forget(chunk->memory->bytes());
            chunks_.erase(chunk);
        }
        return;
    }
}

}  // namespace loom::transport
