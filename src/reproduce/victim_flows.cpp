// Our own table, no paper's: victims of an incast on 1,728 hosts, without and with congestion management.
//
// Configuration: victims.hpp. The paper's manager and settings (dcms-experiment-2), and the manager's default policy.
#include <array>
#include <functional>

#include "loom/base/plot.hpp"
#include "loom/reproduce/reproduction.hpp"
#include "reproduce/testbed.hpp"
#include "reproduce/victims.hpp"

namespace loom::reproduce {

namespace {

// What must hold, in shares of what flows get alone.
constexpr double suffer = 0.4;        // victims of unmanaged congestion get less
constexpr double protect = 0.6;       // managed ones get more
constexpr double undisturbed = 0.97;  // and bystanders more than this

}  // namespace

Result victim_flows(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "victim-flows";
    result.title = "24 of 1,728 hosts send to one; 24 flows share the way out of a leaf with them, 8 share nothing";
    result.columns = {{"victims, Gbit/s", shown, 2},
                      {"slowest", shown, 2},
                      {"end, s", shown, 1},
                      {"bystanders, Gbit/s", shown, 2},
                      {"contributors, Gbit/s", shown, 2},
                      {"end, s ", shown, 1}};
    const Case meeting = incast(parts, Contributors::present);
    using Play = std::function<Outcome()>;
    const std::array<std::pair<const char*, Play>, 6> lines{{
        {"without contributors", [&] { return play(parts, incast(parts, Contributors::absent), {}); }},
        {"no congestion control", [&] { return play(parts, meeting, {}); }},
        {"default parameters", [&] { return play(parts, meeting, default_marking_rate); }},
        {"marking rate 0 for ever", [&] { return play(parts, meeting, 0); }},
        {"DCMS, as in the paper", [&] { return managed_mean(parts, meeting, small_settings({}), options); }},
        {"DCMS, default policy",
         [&] { return managed_mean(parts, meeting, small_settings(manager::Settings{}.policy), options); }},
    }};
    std::vector<Outcome> outcomes;
    std::vector<Bar> bars;
    for (const auto& [name, run] : lines) {
        const Outcome& outcome = outcomes.emplace_back(run());
        const Fared& victims = outcome.of(Role::victim);
        const Fared& contributors = outcome.of(Role::contributor);
        Row row{name, {}};
        for (const double value : {victims.gigabits, victims.slowest, victims.finish,
                                   outcome.of(Role::bystander).gigabits, contributors.gigabits, contributors.finish})
            row.values.push_back({{}, value});
        result.rows.push_back(std::move(row));
        bars.push_back({name, victims.gigabits, {}});
        if (options.progress)
            options.progress(static_cast<double>(outcomes.size()) / static_cast<double>(lines.size()));
    }

    const Outcome &alone = outcomes[0], &none = outcomes[1], &defaults = outcomes[2], &low = outcomes[3];
    const Outcome &paper = outcomes[4], &chosen = outcomes[5];
    const auto rate = [](const Outcome& outcome, Role role) { return outcome.of(role).gigabits; };
    const double unhindered = rate(alone, Role::victim);
    const auto end = [](const Outcome& outcome) { return outcome.of(Role::contributor).finish; };
    const auto bystanders = [&](const Outcome& outcome) {
        return rate(outcome, Role::bystander) > undisturbed * unhindered;
    };
    result.claims = {
        {"without congestion control victims get less than 40 % of what they get alone",
         rate(none, Role::victim) < suffer * unhindered},
        {"default parameters do not help: less than 40 %, too", rate(defaults, Role::victim) < suffer * unhindered},
        {"with DCMS victims get more than 60 %, under the paper's policy and under the default",
         rate(paper, Role::victim) > protect * unhindered && rate(chosen, Role::victim) > protect * unhindered},
        {"and more than at marking rate 0 for ever",
         rate(paper, Role::victim) > rate(low, Role::victim) && rate(chosen, Role::victim) > rate(low, Role::victim)},
        {"contributors end no later than at marking rate 0 for ever",
         end(paper) <= end(low) && end(chosen) <= end(low)},
        {"bystanders get all but 3 % in all cases but marking rate 0 for ever",
         bystanders(none) && bystanders(defaults) && bystanders(paper) && bystanders(chosen)},
    };
    result.remarks = {
        "12-ary 3-tree, 4xQDR, fat-tree routing; contributors send 8 MiB each from 2 s on, all others 96 MiB from the "
        "start; packets, congestion control table, sweep and thresholds as in dcms-experiment-2, T_I 8 sweeps",
        "scaled down by 250 as dcms-experiment-2 is; times are in the large",
        "DCMS: the mean of four runs whose first sweeps are a quarter of a sweep apart",
        "contributors: all their bytes over all their time; the others: the mean of their rates",
        "marking rate 0 at all ports throttles victims as well: they meet contributors' packets on their way out of "
        "the "
        "leaf, and bystanders meet others' acknowledgements; DCMS lowers the rate only where contributors meet",
        "what claims ask for was set with these numbers in view: a guard, not a prediction",
    };
    result.picture =
        bar_plot({.title = "Victims of an incast on 1,728 hosts", .x_label = {}, .y_label = "Gbit/s"}, bars);
    return result;
}

}  // namespace loom::reproduce
