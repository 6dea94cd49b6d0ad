// The time that a thread or fibre sees: the machine's, or a virtual one.
#pragma once

#include "loom/base/time.hpp"

namespace loom {

// The time of a rank whose network is simulated. Another than fabric::Clock on purpose: that one is the manager's,
// plays the fabric while it sleeps and can come to an end; a rank's never ends and knows what keeps its core busy.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Time now() = 0;
    // Returns at `time`, at once when that is over. The rank's core is free meanwhile.
    virtual void sleep_until(Time time) = 0;
    // Keeps the rank's core busy for that long, and returns then.
    virtual void compute(Time duration) = 0;

    // Free for whoever runs under this clock: what would be thread_local if a rank had a thread of its own.
    void* local = nullptr;
};

// The clock of this thread from now on; null: the machine's, as at first. Answers the one before. Whoever lets several
// ranks take turns on a thread calls it at every switch: some nanoseconds.
Clock* swap_clock(Clock* clock);
[[nodiscard]] Clock* current_clock();

// By the clock of this thread. The machine's counts from a moment in this process, never backwards.
[[nodiscard]] Time now();
void sleep_until(Time time);
void sleep_for(Time duration);
// Declared computation: nothing under the machine's clock, where a program computes itself; under a virtual one it
// takes that long. Nothing for a duration of 0 or less.
void compute(Time duration);

}  // namespace loom
