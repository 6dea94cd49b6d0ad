#include "hca/host/copy.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hca/host/as_adapter.hpp"
#include "hca/host/lending.hpp"
#include "hca/host/peer.hpp"
#include "hca/objects/objects.hpp"
#include "hca/wire/path.hpp"
#include "loom/base/copy.hpp"

namespace loom::hca {

namespace {

// Programs poll the last byte of a write: it must land last, so the last bytes are a piece of their own.
constexpr std::uint64_t last_piece = 8;
constexpr std::size_t most_mappings = 64;  // of one peer's shared memory
constexpr std::uint64_t page = 4096;

struct Target {
    std::uint64_t address = 0;
    std::uint8_t* mapped = nullptr;  // ours, when the memory is shared
};

// What the other process published under the key, as one consistent answer.
struct Published {
    std::uint64_t key, iova, length, address, pd, share_fd, share_inode, share_offset;
};

bool read_entry(const MrEntry& entry, Published& out) {
    out.key = entry.key.load(std::memory_order_acquire);
    if (out.key == 0) return false;
    out.iova = entry.iova.load(std::memory_order_relaxed);
    out.length = entry.length.load(std::memory_order_relaxed);
    out.address = entry.address.load(std::memory_order_relaxed);
    out.pd = entry.pd.load(std::memory_order_relaxed);
    out.share_fd = entry.share_fd.load(std::memory_order_relaxed);
    out.share_inode = entry.share_inode.load(std::memory_order_relaxed);
    out.share_offset = entry.share_offset.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return entry.key.load(std::memory_order_relaxed) == out.key;
}

// The memfd of another process's memory, and how long it is; -1: there is none that may be mapped, because it could
// shrink or is not the one that was published.
int open_share(const Peer& peer, const Published& mr, std::uint64_t& length) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_getfd, peer.pidfd, static_cast<int>(mr.share_fd), 0));
    if (fd < 0) return -1;
    struct stat file {};
    struct statfs system {};
    const int seals = fcntl(fd, F_GET_SEALS);
    // Not huge pages: where the pool has none left, touching one would end this process.
    if (fstat(fd, &file) == 0 && file.st_ino == mr.share_inode && seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
        fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC) {
        length = static_cast<std::uint64_t>(file.st_size);
        return fd;
    }
    ::close(fd);
    return -1;
}

// Maps the memory of another process that lies in a memfd which can never shrink. 0 length: it cannot be had.
Peer::Mapping map_share(Peer& peer, const Published& mr) {
    if (mr.share_inode == peer.last_inode) return peer.last_mapping;
    const auto known = peer.mappings.find(mr.share_inode);
    if (known != peer.mappings.end()) {
        peer.last_inode = mr.share_inode;
        return peer.last_mapping = known->second;
    }
    // Programs that take new memory for every message would have us hold all of it: what is used again is mapped again.
    if (peer.mappings.size() >= most_mappings) peer.forget_mappings();
    Peer::Mapping mapping;
    std::uint64_t length = 0;
    if (const int fd = open_share(peer, mr, length); fd >= 0) {
        void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base != MAP_FAILED) {
            madvise(base, length, MADV_DONTFORK);
            mapping = {static_cast<std::uint8_t*>(base), length};
        }
        ::close(fd);
    }
    peer.mappings.emplace(mr.share_inode, mapping);
    return mapping;
}

// What the other process published of the remote memory of a request, when everything allows it.
bool find_published(const Peer& peer, const Qp& qp, const Remote& remote, Published& mr) {
    const QpNumber dest = qp.partner();
    const QpEntry& theirs = peer.directory->qps[index_of(dest)];
    const std::uint64_t what = theirs.what.load(std::memory_order_acquire);
    const std::uint64_t whose = theirs.whose.load(std::memory_order_relaxed);
    const auto state = static_cast<std::uint32_t>(what >> 24 & 0xff),
               type = static_cast<std::uint32_t>(what >> 32 & 0xff);
    const auto rights = static_cast<std::uint32_t>(what >> 40 & 0xff);
    if ((what & low_24_bits) != dest.value || (state != IBV_QPS_RTR && state != IBV_QPS_RTS && state != IBV_QPS_SQD))
        return false;
    if (type != static_cast<std::uint32_t>(qp.type()) || whose >> 32 != qp.qpn.value) return false;
    const std::uint32_t right = remote.read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    if ((rights & right) == 0) return false;

    const std::uint32_t index = remote.rkey >> 8;
    if (index >= mrs_per_process || !read_entry(peer.directory->mrs[index], mr)) return false;
    if ((mr.key & 0xffffffff) != remote.rkey || (mr.key >> 32 & right) == 0 || mr.pd != (whose & 0xffffffff))
        return false;
    const std::uint64_t offset = remote.address - mr.iova;
    return remote.address >= mr.iova && offset <= mr.length && remote.length <= mr.length - offset;
}

// The remote memory of a request; false: the responder is asked and gives its reasons.
bool allowed(Peer& peer, const Qp& qp, const Remote& remote, Target& target) {
    Published mr{};
    if (!find_published(peer, qp, remote, mr)) return false;
    const std::uint64_t offset = remote.address - mr.iova;
    target.address = mr.address + offset;
    if (peer.self) {
        target.mapped = reinterpret_cast<std::uint8_t*>(target.address);
    } else if (mr.share_inode != 0) {
        const Peer::Mapping mapping = map_share(peer, mr);
        const std::uint64_t at = mr.share_offset + offset;
        if (mapping.base != nullptr && at <= mapping.length && remote.length <= mapping.length - at)
            target.mapped = mapping.base + at;
    }
    return true;
}

using Copy = void (*)(void*, const void*, std::size_t);

Copy copy_for(const Remote& remote) {
    if (remote.past_caches) return copy_past_caches;
    return [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
}

void store_last_last(std::uint8_t* to, std::span<const ibv_sge> from, std::uint64_t length, Copy copy) {
    const AsAdapter unseen;
    const std::uint64_t split = length > last_piece ? length - last_piece : 0;
    std::uint64_t done = 0;
    for (const ibv_sge& piece : from) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(piece.addr);
        std::uint64_t n = piece.length;
        if (done < split) {
            const std::uint64_t early = std::min(n, split - done);
            copy(to + done, bytes, early);
            bytes += early;
            n -= early;
            done += early;
        }
        if (n == 0) continue;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_release);
        if (n == last_piece && reinterpret_cast<std::uintptr_t>(to + done) % 8 == 0) {
            std::uint64_t word;
            std::memcpy(&word, bytes, 8);
            __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + done), word, __ATOMIC_RELEASE);
        } else {
            for (std::uint64_t i = 0; i < n; ++i) __atomic_store_n(to + done + i, bytes[i], __ATOMIC_RELEASE);
        }
        done += n;
    }
}

// Moves the bytes between the lists, going on where the kernel stopped. 0 or errno.
template <class Call>
int move_all(Call call, pid_t pid, IoList& local, IoList remote, std::uint64_t left) {
    while (left != 0) {
        const ssize_t moved = call(pid, local.first, local.count, remote.first, remote.count, 0);
        if (moved < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (moved == 0) return EFAULT;
        left -= static_cast<std::uint64_t>(moved);
        local.skip(static_cast<std::size_t>(moved));
        remote.skip(static_cast<std::size_t>(moved));
    }
    return 0;
}

// Out of another process's memory: what it has lent us comes through pipes, the kernel finds the rest. 0 or errno.
int read_all(Peer& peer, std::uint64_t address, std::uint64_t length, IoList local) {
    // A peer that lends and takes back without end must not keep us here.
    for (std::size_t tries = 0; length != 0; ++tries) {
        const std::uint64_t lent = tries < 2 * lendings ? read_lent(peer, address, length, local) : 0;
        address += lent;
        length -= lent;
        const std::uint64_t other = tries < 2 * lendings ? before_lent(peer, address, length) : length;
        iovec remote{reinterpret_cast<void*>(address), other};
        if (const int error = move_all(process_vm_readv, peer.pid, local, {&remote, 1}, other); error != 0)
            return error;
        address += other;
        length -= other;
    }
    return 0;
}

}  // namespace

Copied copy_direct(Qp& qp, const Remote& remote, std::span<const ibv_sge> sges) {
    Peer& peer = *qp.path->peer;
    // Counted before the key is looked at: a deregistration that comes after waits for us.
    const std::uint32_t epoch = peer.directory->epoch.load(std::memory_order_acquire) & 1;
    std::atomic<std::uint32_t>& copying = peer.out->copying[epoch];
    copying.fetch_add(1, std::memory_order_seq_cst);
    struct Ended {
        std::atomic<std::uint32_t>& count;
        ~Ended() { count.fetch_sub(1, std::memory_order_release); }
    } ended{copying};

    Target target;
    if (!allowed(peer, qp, remote, target)) return Copied::ask_responder;
    PortCounters& counters = counters_of(*qp.context);
    if (remote.length == 0) return Copied::done;
    if (target.mapped != nullptr) {
        const Copy copy = copy_for(remote);
        if (remote.read) {
            const std::uint8_t* from = target.mapped;
            for (const ibv_sge& piece : sges) {
                copy(reinterpret_cast<void*>(piece.addr), from, piece.length);
                from += piece.length;
            }
        } else {
            store_last_last(target.mapped, sges, remote.length, copy);
        }
        add(counters.sent_bytes[static_cast<std::size_t>(Way::store)], remote.length);
        return Copied::done;
    }
    if (!peer.can_copy) return Copied::refused;

    iovec local[max_sges];
    std::size_t locals = 0;
    for (const ibv_sge& piece : sges)
        if (piece.length != 0) local[locals++] = {reinterpret_cast<void*>(piece.addr), piece.length};
    IoList list{local, locals};
    int error;
    if (remote.read) {
        error = read_all(peer, target.address, remote.length, list);
    } else {
        iovec there[2] = {{reinterpret_cast<void*>(target.address), remote.length}, {nullptr, 0}};
        std::size_t theres = 1;
        if (remote.length > last_piece) {
            there[0].iov_len = remote.length - last_piece;
            there[1] = {reinterpret_cast<void*>(target.address + remote.length - last_piece), last_piece};
            theres = 2;
        }
        error = move_all(process_vm_writev, peer.pid, list, {there, theres}, remote.length);
    }
    switch (error) {
        case 0:
            add(counters.sent_bytes[static_cast<std::size_t>(Way::direct)], remote.length);
            return Copied::done;
        case ESRCH:
            return Copied::gone;
        case EFAULT:
            return Copied::faulted;
        default:
            peer.can_copy = false;
            return Copied::refused;
    }
}

void* map_remote(Qp& qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t length) {
    Peer* const peer = qp.path == nullptr ? nullptr : qp.path->peer.get();
    if (peer == nullptr || peer->state != Peer::State::up || peer->self || length == 0) return nullptr;
    Published mr{};
    if (!find_published(*peer, qp, {false, address, rkey, 0, false}, mr) || mr.share_inode == 0) return nullptr;
    const std::uint64_t offset = address - mr.iova;
    std::uint64_t whole = 0;
    if (length > mr.length - offset || mr.share_offset > UINT64_MAX - offset) return nullptr;
    const int fd = open_share(*peer, mr, whole);
    if (fd < 0) return nullptr;
    const std::uint64_t begin = mr.share_offset + offset, within = begin % page;
    void* mapped = MAP_FAILED;
    if (begin <= whole && length <= whole - begin)
        mapped =
            mmap(nullptr, within + length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin - within));
    ::close(fd);
    if (mapped == MAP_FAILED) return nullptr;
    madvise(mapped, within + length, MADV_DONTFORK);
    return static_cast<std::uint8_t*>(mapped) + within;
}

void unmap_remote(void* mapped, std::uint64_t length) {
    const std::uint64_t within = reinterpret_cast<std::uintptr_t>(mapped) % page;
    munmap(static_cast<std::uint8_t*>(mapped) - within, within + length);
}

// The receiver's half of a large send: the payload lists where it lies in the sender's memory.
Pulled pull(Peer& peer, std::span<const std::uint8_t> references, std::uint32_t total, std::span<const ibv_sge> into) {
    struct Reference {
        std::uint64_t address, length;
    };
    iovec remote[max_sges], local[max_sges];
    const std::size_t count = references.size() / sizeof(Reference);
    if (references.size() % sizeof(Reference) != 0 || count > max_sges) return Pulled::refused;
    std::uint64_t sum = 0;
    std::size_t remotes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Reference reference;
        std::memcpy(&reference, references.data() + i * sizeof reference, sizeof reference);
        if (reference.length > total - sum) return Pulled::refused;
        sum += reference.length;
        if (reference.length != 0) remote[remotes++] = {reinterpret_cast<void*>(reference.address), reference.length};
    }
    if (sum != total) return Pulled::refused;
    std::size_t locals = 0;
    std::uint64_t left = total;
    for (const ibv_sge& piece : into) {
        const std::uint64_t take = std::min<std::uint64_t>(piece.length, left);
        if (take == 0) continue;
        local[locals++] = {reinterpret_cast<void*>(piece.addr), take};
        left -= take;
    }
    if (left != 0) return Pulled::refused;
    if (total == 0) return Pulled::done;
    if (peer.self) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < remotes; ++i) {
            const auto* from = static_cast<const std::uint8_t*>(remote[i].iov_base);
            std::size_t n = remote[i].iov_len;
            while (n > 0) {
                const std::size_t take = std::min(n, local[at].iov_len);
                std::memmove(local[at].iov_base, from, take);
                local[at].iov_base = static_cast<char*>(local[at].iov_base) + take;
                local[at].iov_len -= take;
                if (local[at].iov_len == 0) ++at;
                from += take;
                n -= take;
            }
        }
        return Pulled::done;
    }
    IoList list{local, locals};
    const int error = move_all(process_vm_readv, peer.pid, list, {remote, remotes}, total);
    return error == 0 ? Pulled::done : error == ESRCH ? Pulled::gone : Pulled::refused;
}

}  // namespace loom::hca
