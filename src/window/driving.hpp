// Waiting until something is so.
#pragma once

#include <algorithm>
#include <chrono>

#include "loom/base/clock.hpp"
#include "loom/transport/waiting.hpp"
#include "window/world_state.hpp"

namespace loom::window {

// The rests of one wait, and its patience.
class Waiter {
public:
    Waiter(World::State& world, std::optional<Time> patience)
        : transport_(world.transport),
          how_(world.transport.waiting()),
          pauses_(how_, world.transport),
          patience_(patience.value_or(world.options.patience)) {
        if (patience_ != never) until_ = now() + patience_;
    }

    // Between two looks in vain. True: time to ask whether the wait still makes sense.
    bool rest() {
        ++rests_;
        if (how_ == transport::Waiting::block) {
            rest_in_virtual_time();
            return true;
        }
        if (how_ == transport::Waiting::yield || rests_ > busy_looks) pauses_.next();
        return rests_ % (how_ == transport::Waiting::yield ? 16 : 256) == 0;
    }
    [[nodiscard]] bool is_over() const { return until_ != never && now() >= until_; }
    [[nodiscard]] bool is_long() const { return how_ == transport::Waiting::block || rests_ > 1024; }
    [[nodiscard]] Time patience() const { return patience_; }

private:
    // A pause takes as long as a cache line needs from core to core.
    static constexpr std::uint64_t busy_looks = 512;

    void rest_in_virtual_time() {
        if (until_ == never) return transport_.rest();
        const std::int64_t left = (until_ - now()).ps / microseconds(1).ps;
        transport_.sleep(std::chrono::microseconds(std::max<std::int64_t>(left, 1)));
    }

    transport::Transport& transport_;
    transport::Waiting how_;
    transport::Pauses pauses_;
    Time patience_;
    Time until_ = never;
    std::uint64_t rests_ = 0;
};

// Until done(). lost() names a rank whose loss makes waiting vain; describe() says what for.
template <class Done, class Lost, class Describe>
void World::State::drive(const Done& done, const Lost& lost, const Describe& describe, std::optional<Time> patience) {
    if (done()) return;
    Waiter waiter(*this, patience);
    struct Told {
        Board& board;
        ~Told() { board.clear(); }
    } told{board};
    while (true) {
        if (look()) {
            if (done()) return;
            continue;
        }
        if (!waiter.rest()) {
            for (std::uint32_t n = 0; n < 16 && transport_every != 1 && !lanes.has_news(); ++n) {
            }
            continue;
        }
        progress();
        if (done()) return;
        if (const std::optional<Rank> gone = lost()) {
            progress();  // what it sent before
            if (done()) return;
            throw transport::loss_of(*gone, transport);
        }
        if (waiter.is_long()) board.write(describe());
        if (waiter.is_over()) throw Stalled(stall_text(describe(), waiter.patience()));
    }
}

}  // namespace loom::window
