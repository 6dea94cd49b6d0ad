// How frames get into a ring that another core reads.
#pragma once

#include <chrono>
#include <cstdint>

namespace loom::transport {

// Lines that a core has read must be taken back from its cache before they can be written again. Of a frame of 4 KiB
// that takes 8 ns a line where both cores share a cache, rarely 20, and 30 where they do not: an exchange takes 0.7 us
// and 2.7. Stores past the caches take nothing back: 1.1 and 1.2. Which it is nobody tells, virtual cores least of all,
// and it changes while a program runs: so a frame is timed now and then.
class FarCache {
public:
    enum class Way : std::uint8_t { plain, timed, past };
    // How the next frame shall be written. Of a timed one the time is to be told.
    [[nodiscard]] Way next() {
        if (past_left_ != 0) {
            --past_left_;
            return Way::past;
        }
        return plain_++ % one_in == 0 ? Way::timed : Way::plain;
    }
    void took(std::uint64_t lines, std::chrono::nanoseconds time) {
        if (time <= slow_line * static_cast<std::int64_t>(lines)) return;
        past_left_ = believed_for;
        plain_ = 0;
    }

    static constexpr std::uint64_t least_lines = 48;  // of shorter ones much is still on its way when the clock is read
    static constexpr std::chrono::nanoseconds slow_line{18};
    static constexpr std::uint32_t one_in = 8;         // a look at the clock takes 30 ns
    static constexpr std::uint32_t believed_for = 31;  // frames; the next is timed again

private:
    std::uint32_t past_left_ = 0, plain_ = 0;
};

}  // namespace loom::transport
