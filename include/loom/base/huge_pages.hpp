// Puts memory that a program uses again and again into huge pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace loom {

// Whether huge pages may be asked for: the system has some of a bearable size, knows how to move memory into them
// (Linux 6.1) and does not say "never", and LOOM_HUGE_PAGES is not "off". Throws UsageError when that is anything but
// "auto", "soon" or "off".
[[nodiscard]] bool may_use_huge_pages();

// What moving may cost.
enum class HugePageBudget : std::uint8_t {
    share,  // one part in HugePages::share of the time that copies of the memory have taken, as far as can be told
    any,    // LOOM_HUGE_PAGES=soon: for programs that run long, and for measurements of what huge pages bring
};
[[nodiscard]] HugePageBudget huge_page_budget();

// Moves the memory into huge pages, and with it whatever else the program has in them, where at least half of one is in
// use already: so it takes at most twice as much as before. What it holds and where it lies do not change, and other
// threads may use it meanwhile. Costs half a millisecond a page, some hundred microseconds for itself on a busy
// machine, and half a microsecond for each mapping of the process. Returns how many bytes of it are in huge pages then.
//
// `allowance`: bytes that may be used beyond that; what is taken is taken off. A page of which less than half is in use
// comes out of it, and so does what a page lacks at an end of the program's mapping, beyond which nothing is mapped
// (the heap, the stack and their surroundings are left alone): the rest of it becomes part of that mapping, and stays
// when the program gives its memory back.
std::size_t move_to_huge_pages(std::span<const std::byte> memory, std::size_t& allowance);
std::size_t move_to_huge_pages(std::span<const std::byte> memory);  // without any

// Which memory that is: what was used several times as a whole. A program may give memory back and get other memory at
// the same place: then it counts anew, which shows in page faults since the last use; and it is looked at again, ever
// more rarely. Not thread-safe.
class HugePages {
public:
    explicit HugePages(HugePageBudget budget = huge_page_budget()) : budget_(budget) {}

    // Whether it is in huge pages, as far as is known. What has less than `least` bytes never moves by itself, and is
    // when it lies in other memory that is. Next to nothing, unless some is moved.
    bool used(std::span<const std::byte> memory);
    // To be called before what is used at one time and has `least` bytes: faults are counted. Costs a system call when
    // anything is in huge pages, too much for less.
    void next_use();

    static constexpr std::size_t least = std::size_t{256} << 10;
    static constexpr std::size_t allowance = std::size_t{16} << 20;  // bytes, see above: buffers' ends, mostly
    // Uses after which it is considered, of memory that fills its pages; of others in proportion.
    static constexpr std::uint32_t worth_it = 3;
    // Moving takes half a millisecond a page where cores are free, and 5 to 100 where ranks share them, since a kernel
    // thread of each core must have its turn. What it brings is a quarter to a half of each copy from then on.
    static constexpr std::int64_t share = 32;
    static constexpr std::int64_t copied_bytes_in_us = 20'000;    // between processes, small pages
    static constexpr std::int64_t first_page_us = 4000;           // what a page is taken to cost before one was moved
    static constexpr std::uint32_t look_again = 8;                // times as many uses later
    static constexpr std::uint32_t look_around = 64;              // uses of little memory, between looks
    static constexpr std::size_t at_once = std::size_t{8} << 20;  // bytes of a buffer, at one use: two milliseconds

private:
    struct Range {
        const std::byte* begin = nullptr;
        std::size_t bytes = 0;
        std::size_t looked_at = 0, huge = 0;  // bytes, since it was looked at again
        std::uint64_t uses = 0, next_look = 0, patience = 0;
        std::int64_t faults = 0;  // of the process, at the last use
        bool is_huge = false;
    };
    struct Little {
        const std::byte* begin = nullptr;
        std::size_t bytes = 0;
        std::uint32_t uses = 0;
        bool is_huge = false;
    };
    bool little_used(std::span<const std::byte> memory);
    [[nodiscard]] bool is_within_huge(std::span<const std::byte> memory) const;

    [[nodiscard]] bool can_afford(std::size_t bytes) const;
    void move_some(Range& range, std::span<const std::byte> memory);

    HugePageBudget budget_;
    std::int64_t copied_us_ = 0, spent_us_ = 0;  // about
    std::int64_t page_us_ = first_page_us;
    std::int64_t faults_ = 0;  // of the process
    bool any_huge_ = false;
    std::size_t allowance_ = allowance;
    std::array<Range, 64> ranges_{};  // by a hash of both; a newcomer takes the place of another
    std::array<Little, 64> little_{};
    bool allowed_ = may_use_huge_pages();
};

}  // namespace loom
