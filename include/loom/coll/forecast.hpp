// What a collective would do on a group that need not exist: its algorithm, and one schedule that the model walks, that
// simulations play and that `loom coll export` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/model/walk.hpp"

namespace loom::coll {

struct Planned {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    std::string why;        // "predicted to be the quickest", "asked for"
    Time estimate = never;  // the ranking's, which may come from smaller groups; never where it has none
};

// The algorithm that a communicator of such ranks would take by these parameters; LOOM_COLL counts. Cost: as explain().
[[nodiscard]] Planned plan_by(const UniformCall& call, const Parameters& parameters);
// The named one, which must fit. Throws UsageError.
[[nodiscard]] Planned plan_named(const UniformCall& call, std::string_view algorithm, const Tuning& tuning);
// The best tuning of every algorithm that fits, the quickest first by the ranking's own estimate.
[[nodiscard]] std::vector<Planned> plan_all(const UniformCall& call, const Parameters& parameters);

// Operations of all ranks, about: what a forecast costs is some 100 bytes and 1 us for each.
[[nodiscard]] std::uint64_t operations_of(const UniformCall& call, const Planned& planned);

struct Forecast {
    Planned planned;
    traffic::Schedule schedule;    // copies and reductions as computations of whole nanoseconds
    model::LocalCosts local;       // with which they were made: for what a core works on
    model::Prediction prediction;  // of the schedule

    [[nodiscard]] Time time() const { return prediction.finish(); }
};
[[nodiscard]] Forecast forecast(const UniformCall& call, const Planned& planned, const Parameters& parameters);

}  // namespace loom::coll
