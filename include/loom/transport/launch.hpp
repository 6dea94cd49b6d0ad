// Starting the ranks of a job on this host, looking after them, and being their bootstrap meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::transport {

// Where what the ranks print goes.
enum class RankOutput : std::uint8_t {
    inherit,   // our own standard output and standard error, untouched
    tagged,    // the same, whole lines, each behind "[RANK] "
    on_error,  // both to our standard error
    handed,    // whole lines to Launch::print
};

// Ranks to cores: in blocks, rank i on the (i * cores / ranks)th of ours, so that neighbours share a core and its
// caches.
enum class Binding : std::uint8_t {
    crowded,  // only if there are more ranks than cores: none is spare for a rank's other threads then, and ranks that
              // stay where they are change places quicker (4 of them on 2 cores: 3.8 us a barrier, not 5.1)
    always,
    never,
};

struct Launch {
    std::uint32_t ranks = 1;           // 1 .. most_ranks
    std::vector<std::string> program;  // found by PATH, with its arguments
    // Run instead of a program, in a forked process whose exit code it returns; an exception is exit code 1. The
    // caller must have no other threads.
    std::function<int(Rank)> body;

    std::vector<std::pair<std::string, std::string>> environment;  // added to ours for the ranks

    Binding bind = Binding::crowded;
    RankOutput output = RankOutput::inherit;
    std::function<void(Rank, bool error, const std::string& lines)> print;  // of RankOutput::handed
    std::optional<std::chrono::milliseconds> timeout;                       // for the whole job
    // What the others get, once a rank has failed or we were told to stop, before they are terminated; a second later
    // they are killed.
    std::chrono::milliseconds grace{5000};
    std::function<void(const std::string&)> remark;  // what there is to say meanwhile, one line each

    static constexpr std::uint32_t most_ranks = 1024;
};

struct RankEnd {
    int exit_code = 0;  // 128 + signal when it was killed
    int signal = 0;
    double seconds = 0;       // since the job began
    bool joined = false;      // it asked for its bootstrap
    bool unfinished = false;  // it joined and ended without a word: lost to the others
    [[nodiscard]] bool failed() const { return exit_code != 0; }
};

struct LaunchOutcome {
    std::vector<RankEnd> ranks;
    std::optional<Rank> first_failed;  // in time, but a rank killed by SIGKILL comes before those that only ended
    bool timed_out = false;
    bool output_lost = false;  // some could not be written where it should go; RankOutput::tagged only
    double seconds = 0;

    // 0; that of `first_failed`; 124 when the time was up; 2 when all is well but for lost output.
    [[nodiscard]] int exit_code() const;
};

// Returns when every rank, and whatever was left of its process group, has ended. Rank 0 reads our standard input, the
// others nothing. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on; the first four end the job after
// `grace`, a second one at once. When this process dies the ranks die with it. The ranks' environment has
// LOOM_RUN (the descriptor of their socket), LOOM_RANK and LOOM_SIZE. Throws UsageError when the program cannot be run.
[[nodiscard]] LaunchOutcome launch(const Launch& job);

// "was killed by signal 9 (Killed)", "ended with exit code 3", "ended before it was finished".
[[nodiscard]] std::string describe(const RankEnd& end);

}  // namespace loom::transport
