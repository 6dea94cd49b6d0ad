// What messages and local work cost, seen through the engine that runs collectives: schedules of a few messages or
// copies are run as operations, and what they took says what each part costs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/coll/rounds.hpp"
#include "loom/coll/world.hpp"
#include "loom/model/walk.hpp"

namespace loom::coll {

// One such schedule.
struct Probe {
    enum class Kind : std::uint8_t {
        empty,      // nothing to do: what a call costs
        hops,       // `count` messages to and fro, each when the one before has come; all others wait
        exchanges,  // `count` times everybody and his partner send to each other; the partner is `to` - `from` away
        combines,   // the same, but what comes is received into scratch memory and reduced from there
        burst,      // `count` messages from one to the other, all at once
        copies,     // `count` copies one after another, on one rank of each core
        reduces,
    };
    Kind kind = Kind::empty;
    Rank from, to{1};
    std::uint64_t bytes = 0;
    std::uint32_t count = 1;
    friend bool operator==(const Probe&, const Probe&) = default;
};
[[nodiscard]] std::string_view to_string(Probe::Kind kind);
// Throws UsageError.
[[nodiscard]] Probe::Kind parse_probe(std::string_view name);

// What it took: the median of its rounds.
struct Probed {
    Probe probe;
    Time time;       // to the end of `from`; of exchanges and combines to the last rank's
    Time other;      // to the end of `to`
    Time low, high;  // quartiles of `time`
};

// All that calibrated() wants to know of so many ranks on so many cores. None of their sizes is a power of two, as
// those are for which people ask.
[[nodiscard]] std::vector<Probe> probes(std::uint32_t ranks, std::uint32_t cores);

// One rank's part, of `ranks` on `cores`.
[[nodiscard]] Plan plan_of(const Probe& probe, std::uint32_t ranks, std::uint32_t cores, Rank me);

// Collective: runs them in turn, several times; the answer is rank 0's alone. `rounds` of each, and a bound for all
// rounds of one.
[[nodiscard]] std::vector<Probed> run_probes(World& world, std::span<const Probe> probes, std::uint32_t rounds,
                                             Time most);

// What is inside a host, between ranks of which each has a core (cores >= ranks) or several share one. `limit` is the
// largest message that is over before it is received. Throws UsageError when what it needs was not probed.
[[nodiscard]] model::Charges calibrated(std::span<const Probed> probed, std::uint32_t ranks, std::uint32_t cores,
                                        std::uint64_t limit);

}  // namespace loom::coll
