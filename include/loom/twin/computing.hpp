// What computation of a rank takes in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::twin {

// What the computations of each rank take, one after the other.
struct Charges {
    std::vector<std::vector<Time>> ranks;  // by rank; empty, or not there: what the rank declares
    std::vector<Time> others;              // of ranks without spans of their own; empty: what they declare
};

// A line for each rank or range of ranks, `*` for all that have none; spans that repeat may be counted:
//     0: 5us 7us 12us
//     1-3: 4us*10 9us   # a comment
//     *: 6us
// Throws ParseError.
[[nodiscard]] Charges parse_charges(std::string_view text, const std::string& file);
[[nodiscard]] Charges read_charges(const std::string& file);

struct Straggler {
    Rank rank;
    double factor = 1;
    friend bool operator==(const Straggler&, const Straggler&) = default;
};

// Copies and reductions of collectives are no computation: sim::LocalCosts says what they take.
struct Computing {
    enum class How : std::uint8_t {
        none,      // no time at all
        declared,  // what loom::compute() says
        // Processor time of the rank between two calls of its transport or clock, and what it declares. What the
        // library itself needs before a call counts along. Differs from run to run. Costs about a microsecond a call.
        measured,
        charged,  // each loom::compute() the next of the rank's charges; from the first again after the last
    };
    How how = How::declared;
    double factor = 1;  // of all computation of all ranks: how many times slower the target's cores are than ours
    Charges charges;    // of charged
    // Each computation takes up to this part more or less (0.05: between 95 % and 105 %), drawn from the seed of
    // Options::simulation, the rank and the number of the computation.
    double noise = 0;
    std::vector<Straggler> stragglers;  // ranks that take longer, or less
    // And as many more, drawn by the seed.
    std::uint32_t random_stragglers = 0;
    double random_factor = 1;
};

// One of "none", "declared [FACTOR]", "measured [FACTOR]", "charged FILE", "noise 5%", "straggler RANK FACTOR",
// "stragglers COUNT FACTOR". Throws UsageError for anything else, ParseError and IoError for the file.
void set(Computing& computing, std::string_view words);
// "declared, times 2, noise 5 %, rank 3 times 1.5": what an answer says about itself.
[[nodiscard]] std::string to_string(const Computing& computing);

}  // namespace loom::twin
