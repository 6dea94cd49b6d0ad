#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "loom/manager/live.hpp"

namespace loom::manager {

namespace {

using Steady = std::chrono::steady_clock;

volatile std::sig_atomic_t asked_to_stop = 0;

// The first signal of either kind asks; the next of either ends the program, as if nobody listened.
extern "C" void ask_to_stop(int) {
    asked_to_stop = 1;
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGINT, &usual, nullptr);
    sigaction(SIGTERM, &usual, nullptr);
}

// How soon a request to stop is noticed.
constexpr Time slice = milliseconds(100);

}  // namespace

struct WallClock::State {
    Steady::time_point begin = Steady::now();
    struct sigaction old_interrupt {};
    struct sigaction old_terminate {};
};

WallClock::WallClock() : state_(std::make_unique<State>()) {
    asked_to_stop = 0;
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    sigaction(SIGINT, &action, &state_->old_interrupt);
    sigaction(SIGTERM, &action, &state_->old_terminate);
}

WallClock::~WallClock() {
    sigaction(SIGINT, &state_->old_interrupt, nullptr);
    sigaction(SIGTERM, &state_->old_terminate, nullptr);
}

Time WallClock::now() {
    return nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - state_->begin).count());
}

bool WallClock::sleep_until(Time time) {
    while (asked_to_stop == 0) {
        const Time left = time - now();
        if (left <= Time{}) return true;
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, slice).ps / 1000 + 1));
    }
    return false;
}

}  // namespace loom::manager
