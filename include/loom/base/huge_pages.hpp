// Puts memory that a program uses again and again into huge pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace loom {

// Whether huge pages may be asked for: the system has some of a bearable size, knows how to move memory into them
// (Linux 6.1) and does not say "never", and LOOM_HUGE_PAGES is not "off". Throws UsageError when that is anything but
// "auto" or "off".
[[nodiscard]] bool may_use_huge_pages();

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
    // Whether it is in huge pages, as far as is known. What has less than `least` bytes never moves by itself, and is
    // when it lies in other memory that is. Next to nothing, unless some is moved.
    bool used(std::span<const std::byte> memory);
    // To be called before what is used at one time and has `least` bytes: faults are counted. Costs a system call when
    // anything is in huge pages, too much for less.
    void next_use();

    static constexpr std::size_t least = std::size_t{256} << 10;
    static constexpr std::size_t allowance = std::size_t{16} << 20;  // bytes, see above: buffers' ends, mostly
    // Uses after which it is worth the while, of memory that fills its pages; of others in proportion. Moving costs
    // about what is lost by twice as many without.
    static constexpr std::uint32_t worth_it = 3;
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

    std::int64_t faults_ = 0;  // of the process
    bool any_huge_ = false;
    std::size_t allowance_ = allowance;
    std::array<Range, 64> ranges_{};  // by a hash of both; a newcomer takes the place of another
    std::array<Little, 64> little_{};
    bool allowed_ = may_use_huge_pages();
};

}  // namespace loom
