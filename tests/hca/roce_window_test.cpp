#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <utility>

#include "hca/roce/window.hpp"

namespace loom::hca::roce {
namespace {

constexpr std::uint64_t us = 1000, ms = 1'000'000;

// A wire that takes a packet every `each` and answers after `trip`; the window is always used up. Returns the packets
// it carried in `span`.
std::uint64_t stream(Window& window, Psn& psn, std::uint64_t& now, std::uint64_t span, std::uint64_t each,
                     std::uint64_t trip) {
    std::deque<std::uint64_t> answers;  // when each packet under way is acknowledged
    std::uint64_t free_at = now, carried = 0;
    for (const std::uint64_t end = now + span; now < end;) {
        std::uint32_t fresh = 0;
        for (; answers.size() < window.packets(); ++fresh) {
            free_at = std::max(free_at, now) + each;
            answers.push_back(free_at + trip);
        }
        psn = psn + fresh;
        if (fresh != 0) window.sent(psn, now);
        now = answers.front();
        answers.pop_front();
        ++carried;
        window.acknowledged(1, psn - static_cast<std::uint32_t>(answers.size()), now);
    }
    psn = psn + 1;
    return carried;
}

// One packet and its answer on a quiet wire.
void ping(Window& window, Psn& psn, std::uint64_t& now, std::uint64_t trip) {
    psn = psn + 1;
    window.sent(psn, now);
    now += trip;
    window.acknowledged(1, psn, now);
}

TEST(RoceWindow, OpensOnAFastWireAndALongWayIsNoQueue) {
    struct Wire {
        std::uint64_t span, trip;
    };
    for (const Wire& wire : {Wire{50 * ms, 100 * us}, Wire{2000 * ms, 30 * ms}}) {
        Window window;
        Psn psn;
        std::uint64_t now = 1;

        stream(window, psn, now, wire.span, 1 * us, wire.trip);

        EXPECT_EQ(window.packets(), Window::most) << wire.trip / us << " us long";
    }
}

TEST(RoceWindow, KeepsASlowWireBusyAndItsQueueShort) {
    Window window;
    Psn psn(0xfffff0);  // numbers wrap
    std::uint64_t now = 1;
    ping(window, psn, now, 100 * us);

    stream(window, psn, now, 200 * ms, 33 * us, 100 * us);
    const std::uint64_t carried = stream(window, psn, now, 330 * ms, 33 * us, 100 * us);

    EXPECT_GE(carried, 9900u);
    EXPECT_LE(window.packets() * 33 * us, 2 * Window::longest_queue_ns);
}

TEST(RoceWindow, AWindowThatWasTooWideIsNarrowedWithoutALoss) {
    Window window;
    Psn psn;
    std::uint64_t now = 1;
    stream(window, psn, now, 50 * ms, 1 * us, 100 * us);
    ASSERT_EQ(window.packets(), Window::most);

    stream(window, psn, now, 300 * ms, 33 * us, 100 * us);

    EXPECT_LE(window.packets() * 33 * us, 2 * Window::longest_queue_ns);
}

TEST(RoceWindow, WaitsAloneLeaveItNarrow) {
    Window window;
    Psn psn;
    std::uint64_t now = 1;
    ping(window, psn, now, 100 * us);

    for (int i = 0; i < 20; ++i) ping(window, psn, now, 50 * ms);

    EXPECT_EQ(window.packets(), Window::narrow);
}

// Two that send to each other, each one's answers behind its own data in a queue before a wire: a packet takes 33 us,
// an answer nothing, and one in 16 packets asks for it.
class BothWays {
public:
    struct Side {
        Window window;
        std::uint32_t sent = 0, acknowledged = 0, came = 0;
        std::deque<std::uint32_t> queue;  // packets, and answers by what they answer
        std::uint64_t carried = 0;
    };
    static constexpr std::uint32_t packet = ~0u;
    std::array<Side, 2> sides;

    // They have met on a quiet wire.
    BothWays(double one, double other) {
        for (std::size_t i = 0; i < 2; ++i) {
            Side& side = sides[i];
            side.window = Window(i == 0 ? one : other);
            side.sent = side.acknowledged = side.came = 16;
            side.window.sent(Psn(16), now_);
            side.window.acknowledged(0, Psn(16), now_ + 100 * us);
        }
        now_ += 100 * us;
    }

    // In each span of 33 us either wire carries a packet, and the answers before it.
    void run(std::uint64_t spans) {
        for (; spans > 0; --spans, now_ += 33 * us)
            for (std::size_t i = 0; i < 2; ++i) {
                fill(sides[i]);
                carry(sides[i], sides[1 - i]);
            }
    }

private:
    void fill(Side& side) {
        for (; side.sent - side.acknowledged < side.window.packets(); ++side.sent) {
            side.queue.push_back(packet);
            if (side.sent % 16 == 15) side.window.sent(Psn(side.sent + 1), now_);
        }
    }
    void carry(Side& from, Side& to) {
        while (!from.queue.empty()) {
            const std::uint32_t next = from.queue.front();
            from.queue.pop_front();
            if (next == packet) {
                ++from.carried;
                if (++to.came % 16 == 0) to.queue.push_back(to.came);
                return;
            }
            to.window.acknowledged(next - to.acknowledged, Psn(next), now_);
            to.acknowledged = next;
        }
    }
    std::uint64_t now_ = 1;
};

TEST(RoceWindow, DataBothWaysKeepsBothWiresBusyWhoeverHadTheWiderWindow) {
    for (const auto& [one, other] : {std::pair{1024., 64.}, {64., 1024.}, {64., 64.}, {1024., 1024.}}) {
        BothWays wires(one, other);
        wires.run(30'000);  // a second
        for (auto& side : wires.sides) side.carried = 0;

        wires.run(30'000);

        for (const auto& side : wires.sides) {
            EXPECT_GE(side.carried, 21'000u)
                << "from " << one << " and " << other;  // 6,000 where who has more gets more
            EXPECT_LE(side.window.packets() * 33 * us, 2 * Window::longest_queue_ns);
        }
    }
}

TEST(RoceWindow, WaitsOfOneFlightNarrowItOnce) {
    Window window(600);
    std::uint64_t now = 1;
    window.sent(Psn(1), now);
    window.acknowledged(1, Psn(1), now += 100 * us);
    for (std::uint32_t end = 17; end <= 17 + 15 * 16; end += 16) window.sent(Psn(end), now);

    now += 2 * Window::longest_queue_ns;
    for (std::uint32_t end = 17; end <= 17 + 15 * 16; end += 16) window.acknowledged(16, Psn(end), now);

    EXPECT_GE(window.packets(), 250u);
    EXPECT_LE(window.packets(), 350u);
}

TEST(RoceWindow, LossesOfOneFlightHalveItOnce) {
    Window window;

    window.lost(Psn(10), Psn(70));
    window.lost(Psn(10), Psn(70));
    window.lost(Psn(20), Psn(70));

    EXPECT_EQ(window.packets(), Window::first / 2);
}

TEST(RoceWindow, LossesOfTheNextFlightHalveItAgain) {
    Window window;
    window.lost(Psn(10), Psn(70));
    window.acknowledged(60, Psn(70), 1);
    const std::uint32_t before = window.packets();

    window.lost(Psn(75), Psn(100));

    EXPECT_EQ(window.packets(), before / 2);
}

TEST(RoceWindow, NeverClosesAltogether) {
    Window window;

    for (std::uint32_t flight = 0; flight < 20; ++flight) {
        window.lost(Psn(flight * 10), Psn(flight * 10 + 5));
        window.acknowledged(10, Psn((flight + 1) * 10), 1 + flight);
    }

    EXPECT_GE(window.packets(), Window::least);
}

TEST(RoceWindow, WhatIsSentTwiceTellsNothingAboutTimes) {
    Window window;
    Psn psn;
    std::uint64_t now = 1;
    ping(window, psn, now, 100 * us);
    const std::uint32_t before = window.packets();

    window.sent(psn + 5, now);
    window.repeated();
    window.acknowledged(5, psn + 5, now + 100 * ms);

    EXPECT_GE(window.packets(), before);
}

}  // namespace
}  // namespace loom::hca::roce
