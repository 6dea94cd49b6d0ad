// loom coll: the collectives there are, and the schedules that ranks would execute.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/coll_explain.hpp"
#include "cli/command.hpp"
#include "cli/costs.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/coll/show.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/counts.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/rounds.hpp"

namespace loom::cli {
namespace {

using nlohmann::ordered_json;

struct ListOptions {
    Common common;
    std::string what;
};

// What names one schedule: `show` and `export` share it.
struct Wanted {
    std::string what;
    std::string algorithm;
    std::string bytes = "8";
    std::string segment = "0";
    std::string grid;
    std::uint32_t ranks = 8;
    std::uint32_t ways = 0;
    std::uint32_t root = 0;
    std::uint32_t element = 1;
    std::uint32_t per_host = 1;
    CostOptions costs;
    bool ordered = false;
    bool in_place = false;
};

struct ShowOptions {
    Common common;
    Wanted wanted;
    std::optional<std::uint32_t> rank;
    bool all = false;
};

struct ExportOptions {
    Common common;
    Wanted wanted;
    std::string goal, pairs;
    std::optional<double> copy, reduce;  // nanoseconds a byte
};

std::uint64_t size_of(const char* option, const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) throw UsageError(fmt::format("{}: expected a size such as 8, 4KiB or 1MiB, got '{}'", option, text));
    return *bytes;
}

coll::Grid grid_of(const std::string& text) {
    coll::Grid grid;
    std::stringstream words(text);
    for (std::string word; std::getline(words, word, 'x');) {
        if (word.empty() || word.size() > 6 || word.find_first_not_of("0123456789") != std::string::npos || word == "0")
            throw UsageError(fmt::format("--grid: expected extents such as 4x4, got '{}'", text));
        grid.dims.push_back(static_cast<std::uint32_t>(std::stoul(word)));
    }
    grid.periodic.assign(grid.dims.size(), true);
    return grid;
}

// A collective, its algorithm and what all ranks call.
struct Found {
    coll::UniformCall call;
    const coll::Algorithm& algorithm;
    coll::Tuning tuning;
    coll::Parameters costs;
};

Found find(const Wanted& wanted) {
    coll::UniformShape shape;
    shape.what = coll::parse_collective(wanted.what);
    shape.ranks = wanted.ranks;
    shape.bytes = size_of("--bytes", wanted.bytes);
    shape.element = wanted.element;
    shape.root = Rank{wanted.root};
    shape.commutative = !wanted.ordered;
    shape.in_place = wanted.in_place;
    shape.per_host = wanted.per_host;
    shape.grid = grid_of(wanted.grid);
    coll::UniformCall call(shape);
    const coll::Tuning tuning{size_of("--segment", wanted.segment), wanted.ways};
    coll::Parameters costs = costs_of(wanted.costs, call.group().hosts);
    if (!wanted.algorithm.empty()) {
        const coll::Algorithm& named = coll::find_algorithm(shape.what, wanted.algorithm);
        return {std::move(call), named, tuning, std::move(costs)};
    }
    const coll::Planned best = coll::plan_by(call, costs);
    return {std::move(call), *best.algorithm, tuning == coll::Tuning{} ? best.tuning : tuning, std::move(costs)};
}

void add_wanted(CLI::App& app, Wanted& wanted) {
    app.add_option("COLLECTIVE", wanted.what, "barrier, broadcast, allreduce...: loom coll list names them")
        ->required();
    app.add_option("-a,--algorithm", wanted.algorithm,
                   "Of those that loom coll list names (default: what a communicator of such ranks would take)")
        ->type_name("NAME");
    app.add_option("-n,--ranks", wanted.ranks, "Ranks of the group")
        ->type_name("N")
        ->check(whole_number(1, 1u << 20))
        ->capture_default_str();
    app.add_option("-b,--bytes", wanted.bytes, "Of the message, or of each block")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_option("--segment", wanted.segment, "Cut messages into segments of this size (0: as the algorithm likes)")
        ->type_name("SIZE");
    app.add_option("--ways", wanted.ways, "Partners a round, or children, where the algorithm lets one choose")
        ->type_name("N")
        ->check(whole_number());
    app.add_option("--root", wanted.root, "Of operations that have one")
        ->type_name("RANK")
        ->check(whole_number())
        ->capture_default_str();
    app.add_option("--element", wanted.element, "Bytes of an element of a reduction, which is never cut")
        ->type_name("BYTES")
        ->check(whole_number(1))
        ->capture_default_str();
    app.add_option("--per-host", wanted.per_host, "Ranks on each host, one after another; 0: all on one")
        ->type_name("N")
        ->check(whole_number())
        ->capture_default_str();
    app.add_option("--grid", wanted.grid, "Closed grid of the neighbour operations (default: near-square)")
        ->type_name("AxB");
    wanted.costs.add_to(app);
    app.add_flag("--ordered", wanted.ordered, "The reduction does not commute: ranks keep their order");
    app.add_flag("--in-place", wanted.in_place, "The input is in the output");
}

void list(const ListOptions& options) {
    std::vector<coll::Collective> all;
    for (std::size_t i = 0; i < coll::collectives; ++i) all.push_back(static_cast<coll::Collective>(i));
    if (!options.what.empty()) all = {coll::parse_collective(options.what)};
    if (options.common.json) {
        ordered_json collectives = ordered_json::array();
        for (const coll::Collective what : all) {
            ordered_json algorithms = ordered_json::array();
            for (const coll::Algorithm& algorithm : coll::algorithms(what))
                algorithms.push_back({{"name", algorithm.name},
                                      {"summary", algorithm.summary},
                                      {"segments", algorithm.segments},
                                      {"ways", algorithm.ways}});
            collectives.push_back({{"name", coll::to_string(what)}, {"algorithms", std::move(algorithms)}});
        }
        return print_json({{"collectives", std::move(collectives)}});
    }
    Table table({{"collective"}, {"algorithm"}, {"tuning"}, {"what it does"}});
    for (const coll::Collective what : all)
        for (const coll::Algorithm& algorithm : coll::algorithms(what))
            table.row({std::string(coll::to_string(what)), std::string(algorithm.name),
                       algorithm.segments && algorithm.ways ? "segment, ways"
                       : algorithm.segments                 ? "segment"
                       : algorithm.ways                     ? "ways"
                                                            : "",
                       std::string(algorithm.summary)});
    table.print();
}

coll::Plan plan_of(const Found& found, std::uint32_t rank) {
    if (rank >= found.call.group().size)
        throw UsageError(fmt::format("--rank: there are {} ranks, 0 is the first", found.call.group().size));
    coll::Group group = found.call.group();
    group.me = Rank{rank};
    return coll::make_plan(found.algorithm, group, found.call.calls()[rank], found.tuning);
}

void show(const ShowOptions& options) {
    const Found found = find(options.wanted);
    const traffic::Schedule schedule =
        coll::whole_schedule(found.algorithm, found.call.group(), found.call.calls(), found.tuning);
    const traffic::Counts counts = traffic::count(schedule);
    const std::size_t rounds = traffic::rounds_of(schedule, "rounds", schedule.ranks())->stages();
    std::vector<std::uint32_t> ranks;
    if (options.rank) ranks.push_back(*options.rank);
    for (std::uint32_t rank = 0; options.all && rank < schedule.ranks(); ++rank) ranks.push_back(rank);
    std::vector<coll::Plan> plans;
    for (const std::uint32_t rank : ranks) plans.push_back(plan_of(found, rank));
    if (options.common.json) {
        ordered_json object{{"collective", coll::to_string(found.algorithm.what)},
                            {"algorithm", found.algorithm.name},
                            {"ranks", schedule.ranks()},
                            {"bytes", found.call.calls()[0].bytes},
                            {"segment", found.tuning.segment},
                            {"ways", found.tuning.ways},
                            {"operations", schedule.size()},
                            {"messages", counts.messages},
                            {"message_bytes", counts.bytes},
                            {"most_messages_of_a_rank", counts.most_messages},
                            {"most_bytes_of_a_rank", counts.most_sent},
                            {"rounds", rounds},
                            {"copies", counts.copies},
                            {"copied_bytes", counts.copied},
                            {"reductions", counts.reductions},
                            {"reduced_bytes", counts.reduced}};
        object["plans"] = ordered_json::array();
        for (const coll::Plan& plan : plans)
            object["plans"].push_back(
                {{"rank", plan.me.value}, {"scratch", plan.scratch}, {"text", coll::to_text(plan)}});
        return print_json(object);
    }
    fmt::print("{} {}: {}\n", coll::to_string(found.algorithm.what), found.algorithm.name, found.algorithm.summary);
    fmt::print("  {} of {} in {}, at most {} and {} sent by one rank\n",
               counted(counts.messages, "message", "messages"), human_bytes(counts.bytes),
               counted(rounds, "round", "rounds"), counted(counts.most_messages, "message", "messages"),
               human_bytes(counts.most_sent));
    fmt::print("  {} of {}, {} of {}\n", counted(counts.copies, "copy", "copies"), human_bytes(counts.copied),
               counted(counts.reductions, "reduction", "reductions"), human_bytes(counts.reduced));
    for (const coll::Plan& plan : plans) fmt::print("\n{}", coll::to_text(plan));
}

// The costs that stand in the file, and where they are from.
coll::Parameters costs_of_file(const Found& found, const ExportOptions& options) {
    coll::Parameters costs = found.costs;
    const auto put = [&](const std::optional<double>& nanoseconds, std::int64_t& byte, std::string_view name) {
        if (!nanoseconds) return;
        byte = static_cast<std::int64_t>(*nanoseconds * 1000 + 0.5);
        costs.origin = fmt::format("{} {} over {}", name, *nanoseconds, coll::origin_of(costs));
        costs.source = coll::Parameters::Source::given;
    };
    put(options.copy, costs.charges.local.copy, "--copy");
    put(options.reduce, costs.charges.local.reduce, "--reduce");
    return costs;
}

void write(const ExportOptions& options) {
    if (options.goal.empty() && options.pairs.empty())
        throw UsageError("nothing to write: give --goal FILE, --pairs FILE or both");
    check_outputs({{"--goal", options.goal}, {"--pairs", options.pairs}}, options.common);
    const Found found = find(options.wanted);
    const coll::Parameters costs = costs_of_file(found, options);
    const coll::Forecast made = coll::forecast(found.call, {&found.algorithm, found.tuning, {}}, costs);
    const traffic::Schedule& schedule = made.schedule;
    if (!options.goal.empty()) {
        std::ostringstream text;
        traffic::write_goal(schedule, text);
        write_file(options.goal, text.str());
    }
    const auto rounds = traffic::rounds_of(schedule, "rounds", schedule.ranks());
    if (!options.pairs.empty()) write_file(options.pairs, traffic::pairs_text(*rounds));
    if (options.common.json)
        return print_json({{"collective", coll::to_string(found.algorithm.what)},
                           {"algorithm", found.algorithm.name},
                           {"ranks", schedule.ranks()},
                           {"operations", schedule.size()},
                           {"rounds", rounds->stages()},
                           {"segment", found.tuning.segment},
                           {"ways", found.tuning.ways},
                           {"costs", costs_json(made.local, coll::origin_of(costs))},
                           {"goal", options.goal},
                           {"pairs", options.pairs}});
    if (options.goal == "-" || options.pairs == "-") return;
    fmt::print("{} {} on {}: {} in {}\n", coll::to_string(found.algorithm.what),
               coll::describe(found.algorithm.name, found.tuning), counted(schedule.ranks(), "rank", "ranks"),
               counted(schedule.size(), "operation", "operations"), counted(rounds->stages(), "round", "rounds"));
    fmt::print("{}\n", model::costs_line(made.local, coll::origin_of(costs)));
}

void add_list(CLI::App& coll) {
    const auto options = std::make_shared<ListOptions>();
    CLI::App* app = coll.add_subcommand("list", "Collectives and their algorithms");
    app->add_option("COLLECTIVE", options->what, "Only this one");
    add_common(*app, options->common);
    app->footer(
        "MPI's names are understood too: bcast, alltoallw, neighbor_alltoall.\n"
        "\n"
        "  loom coll list allreduce");
    app->callback([options] { list(*options); });
}

void add_show(CLI::App& coll) {
    const auto options = std::make_shared<ShowOptions>();
    CLI::App* app = coll.add_subcommand("show", "What an algorithm sends, and what each rank does");
    add_wanted(*app, options->wanted);
    app->add_option("-r,--rank", options->rank, "Print this rank's operations, with where their bytes lie")
        ->type_name("RANK")
        ->check(whole_number());
    app->add_flag("--all", options->all, "Print every rank's");
    add_common(*app, options->common);
    app->footer(
        "What is shown is the schedule that ranks execute, not a sketch of it. A round is a message that cannot begin\n"
        "before another has arrived.\n"
        "\n"
        "  loom coll show allreduce --ranks 8 --bytes 1KiB --algorithm ring\n"
        "  loom coll show reduce --ranks 5 --algorithm binomial --rank 0");
    app->callback([options] { show(*options); });
}

void add_export(CLI::App& coll) {
    const auto options = std::make_shared<ExportOptions>();
    CLI::App* app = coll.add_subcommand("export", "Write a schedule for loom sim, loom congestion and other tools");
    add_wanted(*app, options->wanted);
    app->add_option("--goal", options->goal, "GOAL text, for loom sim --goal and LogGOPSim; - is standard output")
        ->type_name("FILE");
    app->add_option("--pairs", options->pairs,
                    "Its pairs of ranks, round by round, for loom congestion --pattern pairs:FILE")
        ->type_name("FILE");
    app->add_option("--copy", options->copy,
                    "Nanoseconds a byte that copies take (GOAL has computations only; default: as --parameters has it)")
        ->type_name("NS")
        ->check(real_number(0, 1e6));
    app->add_option("--reduce", options->reduce, "Nanoseconds a byte that reductions take")
        ->type_name("NS")
        ->check(real_number(0, 1e6));
    add_common(*app, options->common);
    app->footer(
        "  loom coll export allreduce --ranks 16 --bytes 64KiB --algorithm ring --goal ring.goal\n"
        "  loom sim --level message --goal ring.goal\n"
        "  loom congestion FABRIC TABLES --pattern goal:ring.goal");
    app->callback([options] { write(*options); });
}

}  // namespace

void add_coll(CLI::App& program, int& exit_code) {
    CLI::App* app = program.add_subcommand("coll", "Collectives: their algorithms, and the schedules ranks execute");
    app->require_subcommand(1);
    add_list(*app);
    add_show(*app);
    add_export(*app);
    add_coll_explain(*app, exit_code);
    app->footer(
        "  loom coll list\n"
        "  loom coll show allreduce --ranks 8 --bytes 1KiB --algorithm ring");
}

}  // namespace loom::cli
