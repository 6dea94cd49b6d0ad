#include "loom/base/huge_pages.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
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

// Whether all of it is the program's, and half of it at least is there, so that a huge page does not take much more.
bool is_used(std::uintptr_t begin, std::uintptr_t bytes) {
    std::vector<unsigned char> pages(bytes / small_page);
    if (mincore(reinterpret_cast<void*>(begin), bytes, pages.data()) != 0) return false;
    const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
    return static_cast<std::uintptr_t>(there) * 2 >= pages.size();
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

bool move_to_huge_pages(std::span<const std::byte> memory) {
    const std::uintptr_t page = huge_page_bytes();
    if (page == 0 || memory.empty()) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    std::uintptr_t moved = 0;
    for (std::uintptr_t first = begin / page * page, next = first; first < end; first = next + page) {
        // As many as lie together in one call: each waits until all cores have done something for it.
        for (next = first; next < end && is_used(next, page);) next += page;
        if (next == first) continue;
        // Refused where it is of another kind, or where somebody reads some of it just now.
        if (madvise(reinterpret_cast<void*>(first), next - first, MADV_COLLAPSE) == 0)
            moved += std::min(end, next) - std::max(begin, first);
    }
    return moved * 2 >= memory.size();
}

void HugePages::next_use() {
    if (any_huge_) faults_ = page_faults();
}

bool HugePages::used(std::span<const std::byte> memory) {
    if (!allowed_) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    Range& range = ranges_[(begin ^ memory.size() << 17) * 0x9e37'79b9'7f4a'7c15 >> 58];
    if (range.begin != memory.data() || range.bytes != memory.size()) {
        const std::uintptr_t page = huge_page_bytes();
        const std::uintptr_t pages = (begin + memory.size() - 1) / page - begin / page + 1;
        range = {memory.data(), memory.size(), memory.size()};
        range.next_look = range.patience = worth_it * pages * page / memory.size();
    }
    if (++range.uses == range.next_look) {
        range.looked_at = range.huge = 0;
    }
    if (range.looked_at < range.bytes) [[unlikely]] {
        // Up to the end of a page, so that each is looked at once.
        const std::uintptr_t from = begin + range.looked_at;
        const std::uintptr_t to =
            std::min((from + at_once) / huge_page_bytes() * huge_page_bytes(), begin + range.bytes);
        if (move_to_huge_pages(memory.subspan(range.looked_at, to - from))) range.huge += to - from;
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
