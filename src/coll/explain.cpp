#include "loom/coll/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "coll/call_class.hpp"
#include "coll/explaining.hpp"
#include "loom/base/table.hpp"
#include "loom/model/parameters.hpp"

namespace loom::coll {

namespace {

// A call with the blocks that known_bytes() stands for, so that fits() can look at them.
struct Filled {
    Filled(const Group& group, const Call& asked) : call(asked) {
        std::size_t most = group.size;
        for (const Neighbours& each : group.neighbours)
            most = std::max({most, each.sources.size(), each.destinations.size()});
        bytes.assign(most, asked.bytes);
        at.resize(most);
        for (std::size_t i = 0; i < most; ++i) at[i] = i * asked.bytes;
        if (call.sent.bytes.empty()) call.sent = {bytes, at};
        if (call.received.bytes.empty()) call.received = {bytes, at};
    }
    Call call;
    std::vector<std::uint64_t> bytes, at;
};

std::uint32_t hosts_in(const Group& group) {
    return static_cast<std::uint32_t>(std::set(group.hosts.begin(), group.hosts.end()).size());
}

std::string costs_line(const model::MessageCosts& m) {
    return fmt::format("L {}, o {} + {} (first {}), g {}, a byte {} + {} + {} ps", to_string(m.latency),
                       to_string(m.send), to_string(m.take), to_string(m.send_first), to_string(m.gap), m.send_byte,
                       m.gap_byte, m.take_byte);
}

}  // namespace

std::string describe(std::string_view algorithm, const Tuning& tuning) {
    std::string text(algorithm);
    if (tuning.segment != 0) text += fmt::format(", segments of {}", human_bytes(tuning.segment));
    if (tuning.ways != 0) text += ", " + counted(tuning.ways, "way", "ways");
    return text;
}

Explanation explain_call(const Group& group, const Call& call, const Choice* choice, Ranking& ranking,
                         const Parameters& parameters) {
    const Filled filled(group, call);
    const std::uint64_t of_group = signature(group);
    Chosen chosen = choose(group, of_group, filled.call, choice, ranking, parameters.charges);
    if (chosen.kept) chosen = with_reason(chosen, group, of_group, filled.call, ranking, parameters.charges);
    Explanation e;
    e.what = call.what;
    e.bytes = call.bytes;
    e.judged = known_bytes(filled.call);
    e.ranks = group.size;
    e.hosts = hosts_in(group);
    e.algorithm = chosen.algorithm->name;
    e.tuning = chosen.tuning;
    e.why = chosen.why;
    e.rule = chosen.rule;
    for (const Candidate& each : ranking.of(group, of_group, filled.call, parameters.charges).candidates)
        e.alternatives.push_back({each.algorithm->name, each.algorithm->summary, each.tuning, each.predicted});
    e.parameters = parameters;
    return e;
}

Explanation explain(const Group& group, const Call& call, const Parameters& parameters) {
    Ranking ranking;
    return explain_call(group, call, nullptr, ranking, parameters);
}

std::string Explanation::text() const {
    std::string out =
        fmt::format("{} of {} on {}", to_string(what), human_bytes(bytes), counted(ranks, "rank", "ranks"));
    if (hosts > 1) out += fmt::format(" of {} hosts", hosts);
    out += fmt::format(": {} ({}{}{})\n", describe(algorithm, tuning), rule, rule.empty() ? "" : ": ", why);
    if (judged != bytes && what != Collective::barrier)
        out += fmt::format("predicted as for {}\n", human_bytes(judged));
    std::map<std::string_view, int> shown;
    for (const Alternative& each : alternatives) {
        if (++shown[each.algorithm] > 2) continue;
        const bool taken = each.algorithm == algorithm && each.tuning == tuning;
        out += fmt::format("{} {:<40} {:>9}\n", taken ? '>' : ' ', describe(each.algorithm, each.tuning),
                           each.predicted == never ? "?" : to_string(each.predicted));
    }
    const model::Charges& c = parameters.charges;
    out += model::costs_line(c, origin_of(parameters)) + '\n';
    out += fmt::format("by parameters that are {}: {}\n", to_string(parameters.source), parameters.origin);
    const auto way = [&](std::string_view where, const model::WayCosts& costs) {
        out += fmt::format("  {} up to {}: {}\n", where, human_bytes(costs.limit), costs_line(costs.small));
        out += fmt::format("  {} beyond: {}\n", where, costs_line(costs.large));
    };
    way(c.far ? "inside a host" : "messages", c.way);
    if (c.far) way("between hosts", *c.far);
    out += fmt::format("  f {}, copy {} ps/B, reduce {} ps/B", c.free, c.local.copy, c.local.reduce);
    out += c.host_cores == 0 ? "\n"
                             : fmt::format(", {} for all ranks of a host\n", counted(c.host_cores, "core", "cores"));
    return out;
}

std::string Explanation::json() const {
    using nlohmann::ordered_json;
    const auto tuned = [](std::string_view name, const Tuning& t) {
        return ordered_json{{"algorithm", name}, {"segment", t.segment}, {"ways", t.ways}};
    };
    ordered_json object{{"collective", to_string(what)},
                        {"bytes", bytes},
                        {"judged_bytes", judged},
                        {"ranks", ranks},
                        {"hosts", hosts},
                        {"chosen", tuned(algorithm, tuning)},
                        {"why", why},
                        {"rule", rule.empty() ? ordered_json() : ordered_json(rule)}};
    ordered_json& list = object["candidates"] = ordered_json::array();
    for (const Alternative& each : alternatives) {
        ordered_json one = tuned(each.algorithm, each.tuning);
        one["predicted_us"] = each.predicted == never ? ordered_json() : ordered_json(each.predicted.microseconds());
        list.push_back(std::move(one));
    }
    object["parameters"] = {{"source", to_string(parameters.source)},
                            {"origin", parameters.origin},
                            {"costs", model::costs_line(parameters.charges, origin_of(parameters))},
                            {"text", model::to_text(parameters.charges)}};
    return object.dump();
}

}  // namespace loom::coll
