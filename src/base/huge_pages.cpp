#include "loom/base/huge_pages.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "loom/base/error.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // newer than some C libraries' headers (Linux 6.1); the number is the kernel's interface
#endif

namespace loom {
namespace {

const auto small_page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
constexpr const char* folder = "/sys/kernel/mm/transparent_hugepage/";

// 0: there are none.
std::uintptr_t huge_page_bytes() {
    static const std::uintptr_t bytes = [] {
        std::uintptr_t found = 0;
        std::ifstream(std::string(folder) + "hpage_pmd_size") >> found;
        return found >= 4096 && (found & (found - 1)) == 0 ? found : 0;
    }();
    return bytes;
}

// So far, of those that needed no disk.
std::int64_t page_faults() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

// Bytes of it that are in use; none: not all of it is the program's.
std::optional<std::uintptr_t> used_bytes(std::uintptr_t begin, std::uintptr_t bytes) {
    std::vector<unsigned char> pages(bytes / small_page);
    if (mincore(reinterpret_cast<void*>(begin), bytes, pages.data()) != 0) return std::nullopt;
    const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
    return static_cast<std::uintptr_t>(there) * small_page;
}

// What would be used in addition is taken off the allowance, unless it is less than what is used.
bool is_allowed(std::uintptr_t used, std::uintptr_t page, std::size_t& allowance) {
    if (used * 2 >= page) return true;
    if (page - used > allowance) return false;
    allowance -= page - used;
    return true;
}

bool collapse(std::uintptr_t begin, std::uintptr_t bytes) {
    // Refused where it is of another kind, or where somebody reads some of it just now.
    return madvise(reinterpret_cast<void*>(begin), bytes, MADV_COLLAPSE) == 0;
}

struct Part {
    std::uintptr_t begin, end;
};

// The one mapping inside this page, if it is memory as malloc maps it and nothing will want to grow into the rest.
std::optional<Part> only_mapping(std::uintptr_t page_begin, std::uintptr_t page_end) {
    constexpr std::uintptr_t room_to_grow = std::uintptr_t{1} << 30;
    std::ifstream maps("/proc/self/maps");
    std::optional<Part> found;
    for (std::string text; std::getline(maps, text);) {
        std::istringstream words(text);
        Part part{};
        char dash = 0;
        std::string rights, offset, device, inode, name;
        if (!(words >> std::hex >> part.begin >> dash >> part.end >> rights >> offset >> device >> inode))
            return std::nullopt;
        words >> name;
        if (part.begin >= page_end) {
            if (name == "[stack]" && part.begin - page_end < room_to_grow) return std::nullopt;
            break;
        }
        if (part.end > page_begin) {
            if (found || rights != "rw-p" || inode != "0" || !name.empty()) return std::nullopt;
            found = {std::max(part.begin, page_begin), std::min(part.end, page_end)};
        } else if (name == "[heap]" && page_begin - part.end < room_to_grow) {
            return std::nullopt;
        }
    }
    return found;
}

// Memory from `begin` to a mapping that begins at `end`, unless there is some. The system joins both.
bool map_below(std::uintptr_t begin, std::uintptr_t end) {
    if (begin == end) return true;
    void* const there = reinterpret_cast<void*>(begin);
    void* const got =
        mmap(there, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED && got != there) munmap(got, end - begin);  // a system that does not know the last flag
    return got == there;
}

// Lets a mapping that ends at `begin` go on to `end`, unless there is another; which new memory might be joined with.
bool extend(std::uintptr_t begin, std::uintptr_t end) {
    if (begin == end) return true;
    void* const last = reinterpret_cast<void*>(begin - small_page);
    return mremap(last, small_page, small_page + (end - begin), 0) == last;
}

void unmap(std::uintptr_t begin, std::uintptr_t end) {
    if (begin != end) munmap(reinterpret_cast<void*>(begin), end - begin);
}

// Moves a page of which a part is mapped, after mapping the rest.
bool complete(std::uintptr_t begin, std::uintptr_t page, std::size_t& allowance) {
    const std::optional<Part> part = only_mapping(begin, begin + page);
    if (!part) return false;
    const std::optional<std::uintptr_t> used = used_bytes(part->begin, part->end - part->begin);
    std::size_t left = allowance;
    if (!used || !is_allowed(*used, page, left) || !map_below(begin, part->begin)) return false;
    if (extend(part->end, begin + page)) {
        if (collapse(begin, page)) {
            allowance = left;
            return true;
        }
        unmap(part->end, begin + page);
    }
    unmap(begin, part->begin);
    return false;
}

// In a table of 64.
std::size_t place_of(std::span<const std::byte> memory) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    return (begin ^ memory.size() << 17) * 0x9e37'79b9'7f4a'7c15 >> 58;
}

}  // namespace

bool may_use_huge_pages() {
    const char* const asked = std::getenv("LOOM_HUGE_PAGES");
    if (asked != nullptr && std::strcmp(asked, "off") == 0) return false;
    if (asked != nullptr && std::strcmp(asked, "auto") != 0)
        throw UsageError(std::string("LOOM_HUGE_PAGES='") + asked + "': expected auto or off");
    std::string setting;
    std::getline(std::ifstream(std::string(folder) + "enabled"), setting);
    if (huge_page_bytes() == 0 || huge_page_bytes() > HugePages::at_once) return false;
    return setting.find("[never]") == std::string::npos && madvise(nullptr, 0, MADV_COLLAPSE) == 0;
}

std::size_t move_to_huge_pages(std::span<const std::byte> memory, std::size_t& allowance) {
    const std::uintptr_t page = huge_page_bytes();
    if (page == 0 || memory.empty()) return 0;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    const auto may_be_moved = [&](std::uintptr_t at, std::size_t& left) {
        const std::optional<std::uintptr_t> used = used_bytes(at, page);
        if (!used) return allowance != 0 && complete(at, page, left);
        return is_allowed(*used, page, left);
    };
    std::uintptr_t moved = 0;
    const auto move = [&](std::uintptr_t from, std::uintptr_t to) {
        if (!collapse(from, to - from)) return false;
        moved += std::min(end, to) - std::max(begin, from);
        return true;
    };
    for (std::uintptr_t first = begin / page * page, next = first; first < end; first = next + page) {
        // As many as lie together in one call: each waits until all cores have done something for it. Refused where
        // one of them is of several mappings: then each for itself.
        std::size_t left = allowance;
        for (next = first; next < end && may_be_moved(next, left);) next += page;
        if (next == first) continue;
        bool any = move(first, next);
        if (!any && next - first > page)
            for (std::uintptr_t at = first; at < next; at += page) any = move(at, at + page) || any;
        if (any) allowance = left;
    }
    return moved;
}

std::size_t move_to_huge_pages(std::span<const std::byte> memory) {
    std::size_t none = 0;
    return move_to_huge_pages(memory, none);
}

void HugePages::next_use() {
    if (any_huge_) faults_ = page_faults();
}

// All of it, as far as is known.
bool HugePages::is_within_huge(std::span<const std::byte> memory) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
        return range.is_huge && range.huge == range.bytes && range.begin <= memory.data() &&
               memory.data() + memory.size() <= range.begin + range.bytes;
    });
}

bool HugePages::little_used(std::span<const std::byte> memory) {
    if (!any_huge_) return false;
    Little& little = little_[place_of(memory)];
    if (little.begin != memory.data() || little.bytes != memory.size()) little = {memory.data(), memory.size()};
    if (little.uses++ % look_around == 0) little.is_huge = is_within_huge(memory);
    return little.is_huge;
}

bool HugePages::used(std::span<const std::byte> memory) {
    if (!allowed_) return false;
    if (memory.size() < least) return little_used(memory);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    Range& range = ranges_[place_of(memory)];
    if (range.begin != memory.data() || range.bytes != memory.size()) {
        const std::uintptr_t page = huge_page_bytes();
        const std::uintptr_t pages = (begin + memory.size() - 1) / page - begin / page + 1;
        const bool is_huge = any_huge_ && is_within_huge(memory);
        range = {memory.data(), memory.size(), memory.size()};
        range.next_look = range.patience = worth_it * pages * page / memory.size();
        if (is_huge) range.next_look *= look_again;
        range.is_huge = is_huge;
        range.faults = faults_;
    }
    if (++range.uses == range.next_look) range.looked_at = range.huge = 0;
    if (range.looked_at < range.bytes) [[unlikely]] {
        // Up to the end of a page, so that each is looked at once.
        const std::uintptr_t from = begin + range.looked_at;
        const std::uintptr_t to =
            std::min((from + at_once) / huge_page_bytes() * huge_page_bytes(), begin + range.bytes);
        range.huge += move_to_huge_pages(memory.subspan(range.looked_at, to - from), allowance_);
        range.looked_at += to - from;
        if (range.looked_at == range.bytes) {
            range.is_huge = range.huge >= range.bytes / 2;
            range.next_look = range.uses * look_again;
            if (range.is_huge) range.faults = faults_ = page_faults();
            any_huge_ = any_huge_ || range.is_huge;
        }
    }
    if (range.is_huge) {
        const std::int64_t before = std::exchange(range.faults, faults_);
        if (range.faults - before > static_cast<std::int64_t>(range.bytes / small_page / 2)) {
            range.is_huge = false;
            range.next_look = range.uses + range.patience;
            range.patience *= 2;
        }
    }
    return range.is_huge;
}

}  // namespace loom
