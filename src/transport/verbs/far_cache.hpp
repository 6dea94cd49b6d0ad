// How messages get to a rank whose core may share a cache with ours or not.
#pragma once

#include <chrono>
#include <cstdint>

namespace loom::transport {

// Lines that another core has touched must be taken back from its cache before they can be written again: by our stores
// into its memory, frames and data, or by the kernel's counts of pages that are lent. Where both cores share a cache
// that is quick. Elsewhere another way is better, which touches no such lines. Virtual machines hide whether two cores
// share a cache, and the answer can change while a program runs: so at least one in eight is timed.
class FarCache {
public:
    enum class Way : std::uint8_t { usual, timed, other };
    // Slow is what takes longer than `once` and `each` for every line or page.
    constexpr FarCache(std::chrono::nanoseconds once, std::chrono::nanoseconds each) : once_(once), each_(each) {}
    // Which way the next shall go. A timed one goes the usual way; tell took() how long it was.
    [[nodiscard]] Way next() {
        if (other_left_ != 0) {
            --other_left_;
            return Way::other;
        }
        return slow_ != 0 || usual_++ % one_in == 0 ? Way::timed : Way::usual;
    }
    void took(std::uint64_t count, std::chrono::nanoseconds time) {
        if (time <= once_ + each_ * static_cast<std::int64_t>(count)) {
            slow_ = 0;
        } else if (++slow_ >= in_a_row) {
            other_left_ = believed_for;
            slow_ = in_a_row - 1;  // one is enough to go on
        }
    }

    static constexpr std::uint32_t one_in = 8;         // a look at the clock takes 30 ns
    static constexpr std::uint32_t in_a_row = 3;       // slow ones that are no accident
    static constexpr std::uint32_t believed_for = 31;  // the next is timed again

private:
    std::chrono::nanoseconds once_, each_;
    std::uint32_t other_left_ = 0, usual_ = 0, slow_ = 0;
};

// Of a frame of 4 KiB a line takes 8 ns, rarely 20, and 30 where caches are apart: an exchange 0.7 us and 2.7. Stores
// past the caches take 1.1 and 1.2 us.
inline constexpr FarCache stores_in_far_cache{std::chrono::nanoseconds(0), std::chrono::nanoseconds(18)};
inline constexpr std::uint64_t least_timed_lines = 48;  // of fewer many are still on their way when the clock is read

// Putting 8 pages into a pipe takes 1.0 us, 64 2.9; where caches are apart 1.7 and 6.0. An exchange of 32 KiB takes 3.8
// and 6.4 then; 5.1 when the reader has the kernel find the pages.
inline constexpr FarCache pages_in_far_cache{std::chrono::nanoseconds(1000), std::chrono::nanoseconds(60)};

}  // namespace loom::transport
