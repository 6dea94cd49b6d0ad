#include "cli/measure_coll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/charges_output.hpp"
#include "cli/collective_times.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/base/time.hpp"
#include "loom/coll/explain.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/ask.hpp"
#include "loom/transport/launch.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    std::vector<std::uint32_t> ranks{2, 4};
    std::vector<std::string> only;
    std::vector<std::string> bytes{"8", "256", "4KiB", "64KiB", "1MiB", "4MiB"};
    std::uint32_t rounds = 45;
    std::string kept, parameters;
};

constexpr double beyond = 1.25;

TimingPlan plan_of(const Options& options) {
    TimingPlan plan;
    for (const std::string_view name : collective_names)
        if (options.only.empty() || std::find(options.only.begin(), options.only.end(), name) != options.only.end())
            plan.operations.emplace_back(name);
    for (const std::string& name : options.only)
        if (std::find(collective_names.begin(), collective_names.end(), name) == collective_names.end())
            throw UsageError("--only " + name + ": expected MPI's name of a collective, such as bcast or alltoallv");
    for (const std::string& each : options.bytes) {
        const auto bytes = parse_bytes(each);
        if (!bytes || *bytes % sizeof(double) != 0 || *bytes == 0)
            throw UsageError("--bytes " + each + ": expected bytes of whole doubles, such as 8 or 64KiB");
        plan.bytes.push_back(*bytes);
    }
    plan.rounds = plan.probe_rounds = options.rounds;
    return plan;
}

TimedGroup measure(std::uint32_t ranks, const TimingPlan& plan) {
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::minutes(10);
    job.output = transport::RankOutput::on_error;
    job.remark = [](const std::string& text) { fmt::print(stderr, "loom: {}\n", text); };
    return group_from(ordered_json::parse(transport::ask_ranks(job, [&](Rank) { return time_collectives(plan); })));
}

// What the model has no word for, where a cell is far off: by the regime it is in.
std::string_view lack_of(const TimedCell& cell, const TimedGroup& group) {
    const double log = std::abs(std::log(cell.ratio()));
    if (log <= std::log(beyond)) return "";
    const double spread = cell.high.seconds() / std::max(cell.low.seconds(), 1e-12);
    if (spread > beyond) return "spread: its own quartiles are as far apart";
    if (cell.bytes * group.ranks > 2u << 20) return "caches: one figure for all buffers of an operation";
    if (cell.bytes > group.limit && group.ranks > group.cores) return "turns: who of a core comes first";
    if (cell.bytes > group.limit) return "protocols: how two ends divide a copy";
    if (cell.bytes > 512) return "small messages: one line from 8 bytes to the limit";
    return "calls: what an operation takes beside its messages";
}

struct Verdict {
    double mean = 1;   // geometric, of predicted to measured
    double error = 0;  // mean of |log ratio|
    std::size_t beyond = 0;
    const TimedCell* worst = nullptr;
};

Verdict judge(const std::vector<TimedCell>& cells) {
    Verdict verdict;
    double sum = 0;
    for (const TimedCell& cell : cells) {
        const double log = std::log(cell.ratio());
        sum += log;
        verdict.error += std::abs(log) / static_cast<double>(cells.size());
        verdict.beyond += std::abs(log) > std::log(beyond) ? 1 : 0;
        if (verdict.worst == nullptr || std::abs(log) > std::abs(std::log(verdict.worst->ratio())))
            verdict.worst = &cell;
    }
    verdict.mean = std::exp(sum / static_cast<double>(std::max<std::size_t>(cells.size(), 1)));
    return verdict;
}

ordered_json to_json_with_verdict(const TimedGroup& group) {
    const Verdict verdict = judge(group.cells);
    ordered_json object = to_json(group);
    for (std::size_t i = 0; i < group.cells.size(); ++i)
        if (const std::string_view lack = lack_of(group.cells[i], group); !lack.empty())
            object["cells"][i]["lack"] = lack;
    object["geometric_mean"] = verdict.mean;
    object["mean_log_error"] = verdict.error;
    object["beyond_25_percent"] = verdict.beyond;
    if (verdict.worst != nullptr) object["worst"] = {verdict.worst->operation, verdict.worst->bytes};
    return object;
}

std::string us(Time time) {
    return time < microseconds(100) ? fmt::format("{:.2f}", time.microseconds())
                                    : fmt::format("{:.0f}", time.microseconds());
}

void print(const TimedGroup& group) {
    fmt::print("{} ranks on {} cores, {}\n", group.ranks, group.cores, group.transport);
    Table table({{"us"},
                 {"bytes", Align::right},
                 {"algorithm"},
                 {"measured", Align::right},
                 {"quartiles", Align::right},
                 {"predicted", Align::right},
                 {"ratio", Align::right},
                 {"beyond 25 %"}});
    for (const TimedCell& cell : group.cells) {
        table.row({cell.operation, human_bytes(cell.bytes), coll::describe(cell.algorithm, cell.tuning),
                   us(cell.measured), us(cell.low) + " to " + us(cell.high), us(cell.predicted),
                   fmt::format("{:.2f}", cell.ratio()), std::string(lack_of(cell, group))});
    }
    table.print();
    const Verdict verdict = judge(group.cells);
    if (verdict.worst == nullptr) return;
    fmt::print(
        "predicted to measured: geometric mean {:.3f}, mean error {:.1f} %, {} of {} beyond 25 %, worst {:.2f} ({} of "
        "{})\n\n",
        verdict.mean, 100 * std::expm1(verdict.error), verdict.beyond, counted(group.cells.size(), "cell", "cells"),
        verdict.worst->ratio(), verdict.worst->operation, human_bytes(verdict.worst->bytes));
}

int run(const Options& options) {
    std::vector<TimedGroup> groups;
    if (options.kept.empty()) {
        const TimingPlan plan = plan_of(options);
        for (const std::uint32_t ranks : options.ranks) groups.push_back(measure(ranks, plan));
    } else {
        const ordered_json kept = ordered_json::parse(read_file(options.kept), nullptr, false);
        if (!kept.is_object() || !kept.contains("groups"))
            throw ParseError(options.kept, 0, "expected what loom measure coll --json prints");
        for (const ordered_json& each : kept["groups"]) groups.push_back(group_from(each));
    }
    ordered_json all{{"groups", ordered_json::array()}};
    for (TimedGroup& group : groups) {
        predict(group, options.parameters);
        if (options.common.json)
            all["groups"].push_back(to_json_with_verdict(group));
        else
            print(group);
    }
    if (options.common.json) print_json(all);
    return 0;
}

}  // namespace

void add_measure_coll(CLI::App& measure, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        measure.add_subcommand("coll", "Collectives on ranks of this machine, beside what the model predicts");
    app->add_option("-n,--ranks", options->ranks, "Ranks to start, one number or several")
        ->check(whole_number(2, transport::Launch::most_ranks))
        ->type_name("N")
        ->capture_default_str();
    app->add_option("--only", options->only, "These operations, by MPI's names (default: all 22)")->type_name("NAME");
    app->add_option("--bytes", options->bytes, "Of the message, or of each block")
        ->type_name("SIZE")
        ->capture_default_str();
    app->add_option("--rounds", options->rounds, "Of each cell at most, in three passes over all of them")
        ->check(whole_number(3, 10'000))
        ->type_name("N")
        ->capture_default_str();
    app->add_option("--kept", options->kept, "Measure nothing: predict what --json printed into this file once more")
        ->type_name("FILE");
    app->add_option("--parameters", options->parameters, "A list over the measured costs, such as turn=1us")
        ->type_name("LIST");
    add_common(*app, options->common);
    app->footer(
        "Schedules of a few messages and copies are run as operations first: what they take gives the costs by which\n"
        "the model then predicts each collective, with the algorithm and segments that ran. No cost is taken from an\n"
        "operation that it predicts. Times are medians over rounds in which all ranks begin at one instant, until the\n"
        "last rank's end. It takes about half a minute, and the machine should do nothing else.\n"
        "\n"
        "  loom measure coll\n"
        "  loom measure coll -n 2 --only allreduce alltoall --bytes 8 64KiB\n"
        "  loom measure coll --json >here.json; loom measure coll --kept here.json --parameters turn=2us");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
