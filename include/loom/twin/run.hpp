// Runs ranks on a simulated fabric, in virtual time: their messages take as long as the simulation says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/sim/fault.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/transport/transport.hpp"
#include "loom/twin/background.hpp"
#include "loom/twin/computing.hpp"
#include "loom/twin/timeline.hpp"

namespace loom::twin {

// How far a run is.
struct Progress {
    Time reached{};
    std::uint32_t ended = 0;     // ranks
    std::uint64_t messages = 0;  // sent
    std::uint64_t bytes = 0;
};

struct Options {
    std::uint32_t ranks = 0;  // 0: as many as the network's placement has
    sim::Level level = sim::Level::message;
    sim::Network network;              // of packet and flow; must outlive the run
    std::vector<std::uint32_t> hosts;  // of message, by rank: who shares a host; empty: nobody
    sim::Options simulation;           // sizes, delays, LogGOPS, costs of copies and reductions, seed, threads
    // What a look that finds nothing costs a rank, from the second at one moment on: a loop that only looks does not
    // stop time. Waiting is no looking.
    Time look = nanoseconds(50);
    // A rank that ends with an exception is known to be lost to the others at the next multiple of this.
    Time loss_news = microseconds(100);
    // Of messages that came before their receive, kept for each pair of ranks. A send beyond it is over when the other
    // rank has taken the message and said so. As LOOM_EARLY of real ranks; no_bound is what simulations of schedules
    // do.
    std::uint64_t early_bytes = 256 << 10;
    static constexpr std::uint64_t no_bound = UINT64_MAX / 2;
    std::size_t stack_bytes = 64 * 1024;  // of each rank, and a guard page
    Computing computing;
    Time give_up = never;  // a job that is still running then is stopped, at the next loss_news
    // Not 0: a seed that decides what the standard leaves open (explore.hpp). Delays are no longer than this.
    std::uint64_t disturb = 0;
    Time longest_delay = milliseconds(1);
    // Of a timeline, divided among the ranks: some 60 bytes each. 0: none is kept.
    std::size_t timeline_events = 0;
    // Called about this often by the machine's clock, between two steps of the simulation. What it throws ends the run.
    std::function<void(const Progress&)> progress = {};
    std::chrono::milliseconds progress_interval{500};

    // A job that has not ended by then is stopped; its state is State::running.
    std::optional<Time> until;
    std::vector<BackgroundFlow> background;  // packet and flow level
    // Cables and switches fail at the packet and the flow level, ranks at all. `repair` after it nobody routes over
    // what failed any more.
    std::vector<sim::Fault> faults;
    Time repair = milliseconds(10);
    // As sim::PlayOptions: called where there is congestion control, and its clock plays the job.
    sim::Control control;
    Time control_from;
    std::optional<sim::RecordOptions> record;  // nothing: Result has no recording
};

// Where a rank's time went: each moment counts once, and the four make up its end together. A rank without an end
// counts until nothing happened any more.
struct RankTimes {
    Time end = never;            // of its body; never if that did not return
    Time computing{};            // its core was busy: declared computation, copies, reductions
    Time waiting{};              // for messages or notifications, and its core was not
    Time sending{};              // for nothing but its own sends
    Time other{};                // it slept, or looked without waiting
    std::uint64_t messages = 0;  // sent
    std::uint64_t bytes = 0;
    bool killed = false;  // by a fault
    friend bool operator==(const RankTimes&, const RankTimes&) = default;
};

struct Result {
    sim::State state = sim::State::running;
    Time finish = never;  // the last rank's end, of those that no fault killed; never if one did not
    std::vector<RankTimes> ranks;
    // Of a job that came to no end: who waits for whom and in which operation, a line each, the circle first if there
    // is one. A message of an operation has the tag that the operation gave it, others that of the program.
    std::vector<std::string> trouble;
    sim::Simulation::Work work;
    std::string computing;            // what counted as computation, in words
    std::uint64_t order = 0;          // of a disturbed run: differs where ranks saw in another order what came
    Timeline timeline;                // empty unless Options ask for it
    std::vector<std::string> events;  // what failed and what was repaired, a line each, in the order of time
    std::optional<sim::Recording> recording;
};

// The network with the two ranks of each background flow behind the job's: what look_at has to do with.
[[nodiscard]] sim::Network whole_network(const Options& options);

// Runs `body` once for each rank, each as a fibre of this process with its own transport, named "twin". A body must
// not block other than by its transport, and ranks share the memory of the process: its globals are one rank's like
// another's. Deterministic: the same program, options and seed give the same answer, bit by bit, for any number of
// threads, unless computation is measured. The first exception in virtual time is thrown again once all have ended;
// others hear of that rank as lost. A job that comes to no end is no exception: its bodies are unwound, and `trouble`
// says why. `look_at` is called with the simulation at the end, while it still stands. Cost: beside the simulation's
// some 100 ns a switch of ranks and about 1 KiB a rank, of its stack what it touches.
Result run(const Options& options, const std::function<void(transport::Transport&)>& body,
           const std::function<void(sim::Simulation&)>& look_at = {});

}  // namespace loom::twin
