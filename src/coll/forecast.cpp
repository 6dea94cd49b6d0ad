#include "loom/coll/forecast.hpp"

#include <set>
#include <utility>

#include "coll/predictor.hpp"
#include "coll/whole.hpp"
#include "loom/base/error.hpp"
#include "loom/coll/show.hpp"

namespace loom::coll {

Planned plan_by(const UniformCall& call, const Parameters& parameters) {
    const Explanation said = explain(call.group(), call.calls()[0], parameters);
    Planned planned{&find_algorithm(said.what, said.algorithm), said.tuning,
                    said.rule.empty() ? said.why : std::string(said.rule) + ": " + said.why};
    for (const Alternative& each : said.alternatives)
        if (each.algorithm == said.algorithm && each.tuning == said.tuning) planned.estimate = each.predicted;
    return planned;
}

Planned plan_named(const UniformCall& call, std::string_view algorithm, const Tuning& tuning) {
    const Algorithm& found = find_algorithm(call.calls()[0].what, algorithm);
    if (!found.fits(call.group(), call.calls()[0]))
        throw UsageError(std::string(algorithm) + " cannot do this " + std::string(to_string(found.what)) + " on " +
                         std::to_string(call.group().size) + " ranks");
    return {&found, tuning, "asked for"};
}

std::vector<Planned> plan_all(const UniformCall& call, const Parameters& parameters) {
    const Explanation said = explain(call.group(), call.calls()[0], parameters);
    std::vector<Planned> all;
    std::set<std::string_view> seen;
    for (const Alternative& each : said.alternatives)
        if (seen.insert(each.algorithm).second)
            all.push_back({&find_algorithm(said.what, each.algorithm), each.tuning, "a candidate", each.predicted});
    return all;
}

std::uint64_t operations_of(const UniformCall& call, const Planned& planned) {
    const model::Charges none;
    Predictor predictor(call.group(), call.calls()[0], none);
    const std::uint64_t counted = predictor.operations_in_whole(*planned.algorithm, planned.tuning);
    const std::uint64_t known = planned.tuning.segment * most_segments;
    return known == 0 || predictor.bytes() <= known ? counted : counted * (predictor.bytes() / known);
}

Forecast forecast(const UniformCall& call, const Planned& planned, const Parameters& parameters) {
    const Whole all = whole(*planned.algorithm, call.group(), call.calls(), planned.tuning);
    const model::Charges charges =
        model::for_working_set(parameters.charges, working_set(all, call.group(), parameters.charges));
    Forecast result;
    result.planned = planned;
    result.local = charges.local;
    result.schedule = as_computation(all.schedule, charges.local);
    result.prediction = model::walk(result.schedule, charges, call.group().hosts, all.in_scratch);
    return result;
}

}  // namespace loom::coll
