// loom manage --scenario: the manager on a simulated fabric, alone or policies side by side.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/manage.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/scenario_file.hpp"
#include "cli/sim_output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"
#include "loom/report/managed.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"

namespace loom::cli {

using manager::Settings;
using nlohmann::ordered_json;

namespace {

std::unique_ptr<sim::Setup> set_up(const ManageOptions& options) {
    sim::Scenario scenario = load_scenario(options.scenario);
    use_fabric(scenario, options.fabric, "");
    for (const std::string& line : options.lines) sim::take_line(scenario, line, {"--set", 0});
    watch_ports(scenario, options.series);
    sim::check_complete(scenario, {options.scenario, 0});
    if (scenario.level != sim::Level::packet)
        throw UsageError("only the packet level has congestion control; the scenario is at level " +
                         std::string(sim::to_string(scenario.level)));
    return sim::set_up(std::move(scenario));
}

std::vector<std::optional<Settings>> policies_of(const std::string& text, const Settings& settings) {
    std::vector<std::optional<Settings>> result;
    for (std::string_view rest = text;;) {
        const std::string_view word = rest.substr(0, rest.find(','));
        if (word == "none") {
            result.emplace_back();
        } else {
            const auto policy = manager::parse_policy(word);
            if (!policy) throw UsageError("--compare: expected none or a policy, got " + excerpt(word));
            result.emplace_back(settings)->policy = *policy;
            check(*result.back());
        }
        if (word.size() == rest.size()) return result;
        rest.remove_prefix(word.size() + 1);
    }
}

// Flows that are shown one by one: all of them where they are few.
constexpr std::size_t few_flows = 8;

double all_flows(const sim::Recording& recording) {
    double sum = 0;
    for (const sim::Flow& flow : recording.flows) sum += static_cast<double>(flow.delivered) * 8;
    return recording.end == Time{} ? 0 : sum / recording.end.nanoseconds();
}

void print_comparison(const sim::Setup& setup, const std::vector<report::ManagedRun>& all) {
    std::vector<Column> columns{{"policy"}};
    const std::vector<sim::Flow>& flows = all.front().recording.flows;
    const bool each = flows.size() <= few_flows;
    for (std::size_t i = 0; each && i < flows.size(); ++i)
        columns.push_back({setup.flow_name(i, flows[i]), Align::right});
    for (const char* title : {"all", "end", "sweeps", "ports read", "rates set", "lowered"})
        columns.push_back({title, Align::right});
    Table table(columns);
    for (const report::ManagedRun& played : all) {
        std::vector<Cell> row{played.policy};
        for (std::size_t i = 0; each && i < flows.size(); ++i)
            row.emplace_back(fmt::format("{:.3f}", sim::gigabits(played.recording.flows[i], played.recording.end)));
        row.emplace_back(fmt::format("{:.3f}", all_flows(played.recording)));
        row.emplace_back(to_string(played.recording.end));
        for (const std::uint64_t number :
             {played.work.sweeps, played.work.reads, played.work.writes, played.work.lowered})
            row.emplace_back(grouped(number));
        table.row(std::move(row));
    }
    fmt::print("Flows in Gbit/s, each from its beginning to its end; all: what was delivered over the whole time\n\n");
    table.print();
}

ordered_json comparison_json(const sim::Setup& setup, const std::vector<report::ManagedRun>& all) {
    ordered_json rows = ordered_json::array();
    for (const report::ManagedRun& played : all) {
        ordered_json flows;
        for (std::size_t i = 0; i < std::min<std::size_t>(played.recording.flows.size(), 10'000); ++i)
            flows[setup.flow_name(i, played.recording.flows[i])] =
                sim::gigabits(played.recording.flows[i], played.recording.end);
        rows.push_back({{"policy", played.policy},
                        {"gbit_per_s", std::move(flows)},
                        {"all_gbit_per_s", all_flows(played.recording)},
                        {"end_s", played.recording.end.seconds()},
                        {"work", to_json(played.work)}});
    }
    return rows;
}

int compare(const sim::Setup& setup, const Settings& settings, const sim::RecordOptions& how,
            const ManageOptions& options, ManageLog& log) {
    std::vector<report::ManagedRun> all;
    for (const std::optional<Settings>& one : policies_of(options.compare, settings))
        all.push_back(report::play_managed(setup, one, how));
    if (options.common.json) {
        ordered_json object{
            {"title", setup.title}, {"settings", to_json(settings)}, {"policies", comparison_json(setup, all)}};
        log.into(object);
        object.erase("decisions");
        object.erase("commands");
        print_json(object);
    } else {
        print_comparison(setup, all);
    }
    return std::ranges::any_of(all, &report::ManagedRun::failed) ? 1 : 0;
}

}  // namespace

int manage_scenario(const ManageOptions& options) {
    check_inputs({{"FABRIC", options.fabric}, {"--scenario", options.scenario}});
    check_series(options.series, options.common);
    const auto setup = set_up(options);
    Settings settings = report::scenario_settings(*setup);
    take_settings(options, settings);
    ManageLog log(options.common, "");
    for (const std::string& text : setup->remarks) log.remark(text);
    const bool off = setup->options.packet.congestion.switches.threshold == 0;
    if (off) log.remark("congestion control is off (congestion threshold 0): there is nothing to manage");
    const Time tick = setup->options.packet.counter_tick;
    remark_out_of_reach(log, settings, &Settings::congestion, "congestion", tick);
    remark_out_of_reach(log, settings, &Settings::wait, "wait", tick);

    const sim::RecordOptions how = record_options(*setup, options.series);
    if (!options.compare.empty()) return compare(*setup, settings, how, options, log);
    const report::ManagedRun played = report::play_managed(
        *setup, settings, how,
        [&](const manager::Decision& decision) { log.decision(decision, setup->fabric, settings); });
    if (played.work.sweeps < 2 && !off)
        log.remark(
            fmt::format("the traffic ended before a sweep of {} was over; see --sweep", to_string(settings.sweep)));
    write_series(*setup, played.recording, options.series);
    const SimResult result{*setup, played.recording, sim::slowest_flows(played.recording, 10),
                           sim::hottest_ports(*setup, *played.simulation, 5),
                           sim::find_sufferers(*setup, *played.simulation, played.recording)};
    if (options.common.json) {
        ordered_json object{{"settings", to_json(settings)}, {"work", to_json(played.work)}};
        log.into(object);
        object.erase("commands");
        object["simulation"] = sim_json(result);
        print_json(object);
    } else if (!options.series.on_stdout()) {
        fmt::print("{}\n\n", to_text(played.work));
        print_sim(result);
    }
    return played.failed() ? 1 : 0;
}

}  // namespace loom::cli
