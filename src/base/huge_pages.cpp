#include "loom/base/huge_pages.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

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

// Bytes of it that are in use; 0 as well where it is not all mapped.
std::uintptr_t used_bytes(std::uintptr_t begin, std::uintptr_t end) {
    std::vector<unsigned char> pages((end - begin) / small_page);
    if (mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) != 0) return 0;
    const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
    return static_cast<std::uintptr_t>(there) * small_page;
}

bool collapse(std::uintptr_t begin, std::uintptr_t end) {
    // Refused where it is of another kind, or where somebody reads some of it just now. (Where no mapping has a whole
    // page of it, nothing is done, and nothing is said either.)
    return madvise(reinterpret_cast<void*>(begin), end - begin, MADV_COLLAPSE) == 0;
}

struct Mapping {
    std::uintptr_t begin = 0, end = 0;
    bool plain = false;  // as malloc maps memory, and nothing will want to grow into what is beside it
};

// Those that meet the memory, in order. Reads the system's list up to there: half a microsecond for each mapping.
std::vector<Mapping> mappings_in(std::uintptr_t begin, std::uintptr_t end) {
    constexpr std::uintptr_t room_to_grow = std::uintptr_t{1} << 30;
    std::vector<Mapping> found;
    bool near_heap = false;
    std::ifstream maps("/proc/self/maps");
    for (std::string text; std::getline(maps, text);) {
        Mapping next;
        char rights[5] = {};
        unsigned long inode = 0;
        int name = 0;
        if (std::sscanf(text.c_str(), "%lx-%lx %4s %*s %*s %lu %n", &next.begin, &next.end, rights, &inode, &name) < 4)
            return {};
        const std::string_view whose = name == 0 ? "" : text.c_str() + name;
        if (next.begin >= end) {
            if (whose == "[stack]" && next.begin - end < room_to_grow)
                for (Mapping& each : found) each.plain = false;
            break;
        }
        if (next.end <= begin) {
            near_heap = whose == "[heap]" && begin - next.end < room_to_grow;
            continue;
        }
        next.plain = !near_heap && inode == 0 && whose.empty() && std::strcmp(rights, "rw-p") == 0;
        found.push_back(next);
    }
    return found;
}

// Memory from `begin` to a mapping that begins at `end`, unless there is some. The system joins both, as a rule.
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

// What moving a page takes that was not used: nothing where half of it is, unless it has to be mapped first.
std::uintptr_t cost_of(std::uintptr_t page, std::uintptr_t used, std::uintptr_t unmapped) {
    return used * 2 >= page ? unmapped : page - used;
}

// Moves a page of which the mapping has a part, and others have nothing, after mapping the rest.
bool complete(std::uintptr_t begin, std::uintptr_t end, const Mapping& mapping, std::size_t& allowance) {
    const std::uintptr_t from = std::max(begin, mapping.begin), to = std::min(end, mapping.end);
    const std::uintptr_t cost = cost_of(end - begin, used_bytes(from, to), (end - begin) - (to - from));
    if (!mapping.plain || cost > allowance || !map_below(begin, from)) return false;
    if (extend(to, end)) {
        const std::vector<Mapping> now = mappings_in(begin, end);
        if (now.size() == 1 && now[0].begin <= begin && now[0].end >= end && collapse(begin, end)) {
            allowance -= cost;
            return true;
        }
        unmap(to, end);
    }
    unmap(begin, from);
    return false;
}

// In a table of 64.
std::size_t place_of(std::span<const std::byte> memory) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    return (begin ^ memory.size() << 17) * 0x9e37'79b9'7f4a'7c15 >> 58;
}

}  // namespace

bool may_use_huge_pages() {
    if (settings::read_word(Setting::huge_pages) == "off") return false;
    std::string setting;
    std::getline(std::ifstream(std::string(folder) + "enabled"), setting);
    if (huge_page_bytes() == 0 || huge_page_bytes() > HugePages::at_once) return false;
    return setting.find("[never]") == std::string::npos && madvise(nullptr, 0, MADV_COLLAPSE) == 0;
}

HugePageBudget huge_page_budget() {
    return settings::read(Setting::huge_pages) == "soon" ? HugePageBudget::any : HugePageBudget::share;
}

std::size_t move_to_huge_pages(std::span<const std::byte> memory, std::size_t& allowance) {
    const std::uintptr_t page = huge_page_bytes();
    if (page == 0 || memory.empty()) return 0;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    const std::uintptr_t first_page = begin / page * page, last_page = (end + page - 1) / page * page;
    const std::vector<Mapping> mappings = mappings_in(first_page, last_page);
    std::uintptr_t moved = 0;
    const auto count = [&](std::uintptr_t from, std::uintptr_t to) {
        moved += std::min(end, to) - std::max(begin, from);
    };
    auto mapping = mappings.begin();
    for (std::uintptr_t at = first_page, next = at; at < last_page; at = next) {
        next = at + page;
        while (mapping != mappings.end() && mapping->end <= at) ++mapping;
        if (mapping == mappings.end()) break;
        if (mapping->begin >= next) continue;
        if (mapping->begin > at || mapping->end < next) {
            const bool alone = mapping + 1 == mappings.end() || (mapping + 1)->begin >= next;
            if (alone && complete(at, next, *mapping, allowance)) count(at, next);
            continue;
        }
        // As many as lie together in one call: each waits until all cores have done something for it.
        std::vector<std::uintptr_t> costs;
        for (next = at; next < last_page && next + page <= mapping->end; next += page) {
            const std::uintptr_t cost = cost_of(page, used_bytes(next, next + page), 0);
            if (cost > allowance) break;
            allowance -= cost;
            costs.push_back(cost);
        }
        if (next == at) {
            next = at + page;
        } else if (collapse(at, next)) {
            count(at, next);
        } else {
            for (std::uintptr_t each = at; each < next; each += page)
                if (collapse(each, each + page))
                    count(each, each + page);
                else
                    allowance += costs[(each - at) / page];
        }
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

// All of it, as far as is known. What was given back and taken again since shows in faults.
bool HugePages::is_within_huge(std::span<const std::byte> memory) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
        return range.is_huge && range.huge == range.bytes && range.begin <= memory.data() &&
               memory.data() + memory.size() <= range.begin + range.bytes &&
               faults_ - range.faults <= static_cast<std::int64_t>(range.bytes / small_page / 2);
    });
}

bool HugePages::little_used(std::span<const std::byte> memory) {
    if (!any_huge_) return false;
    Little& little = little_[place_of(memory)];
    if (little.begin != memory.data() || little.bytes != memory.size()) little = {memory.data(), memory.size()};
    if (little.uses++ % look_around == 0) {
        next_use();
        little.is_huge = is_within_huge(memory);
    }
    return little.is_huge;
}

bool HugePages::can_afford(std::size_t bytes) const {
    const auto pages = static_cast<std::int64_t>(bytes / huge_page_bytes() + 1);
    return budget_ == HugePageBudget::any || (copied_us_ - spent_us_) / share >= spent_us_ + pages * page_us_;
}

// Up to the end of a page, so that each is looked at once.
void HugePages::move_some(Range& range, std::span<const std::byte> memory) {
    using Clock = std::chrono::steady_clock;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t page = huge_page_bytes(), from = begin + range.looked_at;
    const std::uintptr_t to = std::min((from + at_once) / page * page, begin + range.bytes);
    const auto started = Clock::now();
    range.huge += move_to_huge_pages(memory.subspan(range.looked_at, to - from), allowance_);
    const std::int64_t took = (Clock::now() - started) / std::chrono::microseconds(1);
    spent_us_ += took;
    page_us_ = (page_us_ + took / static_cast<std::int64_t>((to - from) / page + 1)) / 2;
    range.looked_at += to - from;
    if (range.looked_at != range.bytes) return;
    range.is_huge = range.huge >= range.bytes / 2;
    range.next_look = range.uses * look_again;
    if (range.is_huge) range.faults = faults_ = page_faults();
    any_huge_ = any_huge_ || range.is_huge;
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
    copied_us_ += static_cast<std::int64_t>(memory.size()) / copied_bytes_in_us;
    if (++range.uses >= range.next_look && range.looked_at == range.bytes && can_afford(range.bytes))
        range.looked_at = range.huge = 0;
    if (range.looked_at < range.bytes) [[unlikely]]
        move_some(range, memory);
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
