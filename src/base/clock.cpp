#include "loom/base/clock.hpp"

#include <dlfcn.h>

#include <chrono>
#include <thread>
#include <utility>

namespace loom {

namespace {

// Only touched in this file, by functions that nobody inlines: a fibre may go on in another thread than before.
constinit thread_local Clock* current = nullptr;

// Picoseconds of a machine that runs for 106 days do not fit: the count begins with the first question.
Time machine_time() {
    using Machine = std::chrono::steady_clock;
    static const Machine::time_point begin = Machine::now();
    return nanoseconds((Machine::now() - begin) / std::chrono::nanoseconds(1));
}

// Of programs that run in virtual time as they are: libloom-twin.so is preloaded into them and has it.
Clock* process_clock() {
    static Clock* const clock = [] {
        auto* const find = reinterpret_cast<Clock* (*)()>(dlsym(RTLD_DEFAULT, "loom_process_clock"));
        return find != nullptr ? find() : nullptr;
    }();
    return clock;
}

}  // namespace

Clock* swap_clock(Clock* clock) {
    return std::exchange(current, clock);
}

Clock* current_clock() {
    return current != nullptr ? current : process_clock();
}

Time now() {
    Clock* const clock = current_clock();
    return clock == nullptr ? machine_time() : clock->now();
}

void sleep_until(Time time) {
    if (Clock* const clock = current_clock()) return clock->sleep_until(time);
    const Time left = time - machine_time();
    if (left > Time{}) std::this_thread::sleep_for(std::chrono::nanoseconds((left.ps + 999) / 1000));
}

void sleep_for(Time duration) {
    sleep_until(now() + duration);
}

void compute(Time duration) {
    if (duration <= Time{}) return;
    if (Clock* const clock = current_clock()) clock->compute(duration);
}

}  // namespace loom
