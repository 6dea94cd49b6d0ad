// Runs a job under many seeds that change what the standard leaves open, and finds one that it does not survive.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loom/twin/run.hpp"

namespace loom::twin {

// One run of a job, and what it said.
struct Played {
    Result result;       // where nothing was thrown
    std::string answer;  // what must be the same for every order
    std::string thrown;  // by a rank: what() of the first exception in virtual time
};

enum class Failure : std::uint8_t {
    none,
    threw,
    stuck,    // ranks wait for what never comes
    endless,  // still running long after an undisturbed run has ended
    differs,  // another answer than the undisturbed run
};
[[nodiscard]] std::string_view to_string(Failure failure);

struct Exploration {
    std::uint64_t seeds = 0;   // played, beside the undisturbed run
    std::uint64_t orders = 0;  // that were different, of what came at ranks
    Failure failure = Failure::none;
    std::uint64_t seed = 0;        // that failed; 0: already the undisturbed run
    std::vector<std::string> why;  // a line each
    Options replay;                // of a run that fails in the same way
};

// Plays seed 0, which disturbs nothing, and seeds 1 to `seeds` until one fails. Deterministic: the first seed that
// fails is the same every time. A seed decides
// - which messages are late: those of some ranks, of some pairs of ranks, or single ones, by up to
//   Options::longest_delay, never so that one overtakes another of its pair;
// - in which order progress() says what has finished at one rank, all at once or one by one, and next_notification()
//   answers those of different senders;
// - which ranks compute more slowly, up to four times.
// Options::longest_delay is set to twice the undisturbed run's time, rounded up, so that any message can come after any
// other; Options::give_up, unless it is set, to far beyond what delays explain. Throws UsageError for
// Computing::measured, which no seed repeats, and what `play` throws.
[[nodiscard]] Exploration explore(const Options& options, std::uint64_t seeds,
                                  const std::function<Played(const Options&)>& play);

// What each rank answers, as text.
using Answering = std::function<std::string(transport::Transport&)>;

// With ranks as fibres: the answer is that of all ranks, a line each. What `body` shares between ranks it must set up
// anew in every run.
[[nodiscard]] Exploration explore(const Options& options, std::uint64_t seeds, const Answering& body);
[[nodiscard]] Played play(const Options& options, const Answering& body);

// "seed 17 is stuck", what is known about it, and with which seed and longest delay it comes again; or how much was
// played in vain. Lines without ends.
[[nodiscard]] std::vector<std::string> to_lines(const Exploration& exploration);

}  // namespace loom::twin
