// Runs programs as they are on a simulated fabric: each rank a process, one at a time, in virtual time.
#pragma once

#include <functional>

#include "loom/transport/launch.hpp"
#include "loom/twin/run.hpp"

namespace loom::twin {

struct Processes {
    transport::Launch launch;  // program, output and limits; `ranks` is Options'
    // Processor time of a rank between two calls of Loomband counts as computation, times this: how many times slower
    // than ours the target's cores are. 0: it does not count; declared computation (loom::compute) always does. What
    // is measured differs from run to run.
    double processor = 0;
};

struct ProcessResult {
    Result result;
    transport::LaunchOutcome outcome;
};

// Starts the program once for each rank. It opens its world (coll::World::open) as under `loom run`, over the transport
// "twin"; its clock (clock_gettime, gettimeofday, time) and its sleeps (nanosleep, usleep, poll and select without
// descriptors) are virtual, from 2000-01-01 on. Whoever reads the clock or looks in vain spends Options::look. Ranks
// have their own memory, so globals are their own. Threads of a program that call Loomband are refused. One process
// runs at a time once all have opened their world. A rank that ends without closing its world is lost to the others.
// Throws UsageError when the program cannot be run, Error without libloom-twin.so beside libloom-verbs.so.
ProcessResult run(const Options& options, const Processes& processes,
                  const std::function<void(sim::Simulation&)>& look_at = {});

}  // namespace loom::twin
