#include "coll/choice.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

namespace loom::coll {
namespace {

template <class Number>
Number parse_number(std::string_view text, std::string_view entry) {
    Number number = 0;
    if (text.empty()) return number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        throw UsageError("LOOM_COLL: " + std::string(entry) + ": '" + std::string(text) + "' is no number");
    return number;
}

std::string_view cut(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view head = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return head;
}

const std::vector<Rule>& environment_rules() {
    static const std::vector<Rule> rules = [] { return parse_rules(settings::read(Setting::coll).value_or("")); }();
    return rules;
}

Chosen by_ranking(const Ranked& ranked, const Candidate& taken) {
    Chosen chosen;
    chosen.algorithm = taken.algorithm;
    chosen.tuning = taken.tuning;
    if (&taken != &ranked.candidates.front()) {
        chosen.why = "the quickest of those that can do this call";
    } else if (ranked.decided != nullptr) {
        chosen.why = ranked.decided->reason;
        chosen.rule = ranked.decided->name;
    }
    return chosen;
}

}  // namespace

std::vector<Rule> parse_rules(std::string_view text) {
    std::vector<Rule> rules;
    while (!text.empty()) {
        const std::string_view entry = cut(text, ',');
        if (entry.empty()) continue;
        std::string_view value = entry;
        const std::string_view what = cut(value, '=');
        if (value.empty())
            throw UsageError("LOOM_COLL: " + std::string(entry) + ": expected OPERATION=ALGORITHM[:SEGMENT[:WAYS]]");
        const std::string_view name = cut(value, ':');
        const std::string_view segment = cut(value, ':');
        Rule rule;
        try {
            rule.what = parse_collective(what);
            rule.chosen.algorithm = &find_algorithm(rule.what, name);
        } catch (const UsageError& error) {
            throw UsageError("LOOM_COLL: " + std::string(entry) + ": " + error.what());
        }
        for (const Rule& earlier : rules)
            if (earlier.what == rule.what)
                throw UsageError("LOOM_COLL: " + std::string(entry) + ": " + std::string(to_string(rule.what)) +
                                 " is given twice");
        rule.chosen.why = "LOOM_COLL";
        rule.chosen.tuning = {parse_number<std::uint64_t>(segment, entry), parse_number<std::uint32_t>(value, entry)};
        rules.push_back(rule);
    }
    return rules;
}

Chosen choose(const Group& group, std::uint64_t group_signature, const Call& call, const Choice* asked,
              Ranking& ranking, const model::Charges& charges) {
    if (asked != nullptr && !asked->algorithm.empty()) {
        const Algorithm& algorithm = find_algorithm(call.what, asked->algorithm);
        if (!algorithm.fits(group, call))
            throw UsageError(std::string(asked->algorithm) + " cannot do this " + std::string(to_string(call.what)));
        return {&algorithm, asked->tuning, "asked for", {}};
    }
    for (const Rule& rule : environment_rules())
        if (rule.what == call.what && rule.chosen.algorithm->fits(group, call)) return rule.chosen;
    for (const Kept& best : ranking.best(group, group_signature, call, charges))
        if (best.algorithm->fits(group, call))
            return {best.algorithm, best.tuning, "an earlier job chose it", {}, true};
    const Ranked& ranked = ranking.of(group, group_signature, call, charges);
    for (const Candidate& candidate : ranked.candidates)
        if (candidate.algorithm->fits(group, call)) return by_ranking(ranked, candidate);
    for (const Algorithm& algorithm : algorithms(call.what))
        if (algorithm.fits(group, call)) return {&algorithm, {}, "the only one that can do it", {}};
    throw UsageError("no algorithm can do this " + std::string(to_string(call.what)));
}

Chosen with_reason(const Chosen& kept, const Group& group, std::uint64_t group_signature, const Call& call,
                   Ranking& ranking, const model::Charges& charges) {
    const Ranked& ranked = ranking.of(group, group_signature, call, charges);
    for (const Candidate& each : ranked.candidates)
        if (each.algorithm->fits(group, call))
            return each.algorithm == kept.algorithm && each.tuning == kept.tuning ? by_ranking(ranked, each) : kept;
    return kept;
}

}  // namespace loom::coll
