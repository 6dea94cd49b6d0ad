// loom predict: how long a collective takes on a fabric, by the model, at flow level and at packet level.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/costs.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/sim/record.hpp"
#include "loom/traffic/counts.hpp"
#include "loom/traffic/goal.hpp"

namespace loom::cli {
namespace {

using nlohmann::ordered_json;

// Beyond these nothing is played without --force: about a minute's work each.
constexpr std::uint64_t most_packets = 10'000'000;
constexpr std::uint64_t most_messages = 4'000'000;     // at flow level
constexpr std::uint64_t most_operations = 20'000'000;  // of a schedule that is written at all: some 2 GB
constexpr std::uint32_t usual_megabits = 32'000;       // of ports whose rate no one wrote down, as in simulations

struct Options {
    Common common;
    RoutedOptions routed;
    CostOptions costs;
    std::string what;
    std::string bytes = "8";
    std::string algorithm;
    std::string segment = "0";
    std::uint32_t ways = 0;
    std::uint32_t ranks = 0;
    std::uint32_t per_host = 1;
    std::uint32_t root = 0;
    std::uint32_t element = 1;
    std::string level = "packet";
    std::string write_goal;
    bool all = false;
    bool force = false;

    [[nodiscard]] bool wants(sim::Level asked) const {
        return level == "packet" || (level == "flow" && asked == sim::Level::flow);
    }
};

std::uint64_t size_of(const char* option, const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) throw UsageError(fmt::format("{}: expected a size such as 8, 4KiB or 1MiB, got '{}'", option, text));
    return *bytes;
}

// Where the ranks are, and what joins their hosts.
struct Scene {
    std::unique_ptr<PlacedFabric> fabric;  // null: none was given
    fabric::Placement placement;           // by rank of the collective
    std::vector<std::uint32_t> hosts;      // by rank, in the order of first appearance
    model::Link link;
    sim::Options options;

    [[nodiscard]] std::size_t host_count() const {
        return hosts.empty() ? 0 : *std::max_element(hosts.begin(), hosts.end()) + std::size_t{1};
    }
};

// Switches on the longest way from the first, the middle and the last rank.
std::uint32_t switches_on_the_way(const PlacedFabric& fabric, std::uint32_t ranks) {
    const congestion::Routes routes = fabric.routes();
    std::size_t most = 0;
    std::vector<congestion::LinkIndex> path;
    for (const std::uint32_t from : {0u, ranks / 2, ranks - 1})
        for (std::uint32_t to = 0; to < ranks; ++to)
            if (routes.path(Rank{from}, Rank{to}, path) == congestion::Fate::arrives)
                most = std::max(most, path.size());
    return static_cast<std::uint32_t>(most + 1);
}

void place(Scene& scene, const Options& options) {
    const fabric::Placement& places = scene.fabric->placement;
    const std::size_t room = places.ranks() * options.per_host;
    const std::uint32_t ranks = options.ranks != 0 ? options.ranks : static_cast<std::uint32_t>(room);
    if (ranks > room)
        throw Error(
            fmt::format("{} ranks were asked for, the fabric has places for {}; --per-host N puts several on "
                        "each",
                        grouped(ranks), grouped(room)));
    std::map<NodeId, std::uint32_t> numbers;
    std::uint32_t megabits = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const PortIndex port = places.hosts[rank / options.per_host];
        if (port == no_port)
            throw UsageError(fmt::format(
                "rank {} is a place keeper, and a collective needs all its ranks: use --place order", rank));
        scene.placement.hosts.push_back(port);
        const fabric::Port& at = scene.fabric->fabric.port(port);
        const auto number = static_cast<std::uint32_t>(numbers.size());
        scene.hosts.push_back(numbers.try_emplace(at.node, number).first->second);
        const std::uint32_t rate = at.rate.megabits() == 0 ? usual_megabits : at.rate.megabits();
        megabits = megabits == 0 ? rate : std::min(megabits, rate);
    }
    scene.link.megabits = megabits;
    scene.link.switches = switches_on_the_way(
        *scene.fabric, static_cast<std::uint32_t>(ranks / options.per_host + (ranks % options.per_host != 0)));
}

sim::LidChoice lids_of(const RoutedOptions& options) {
    if (options.lid == "spread") return sim::LidChoice::spread;
    if (options.lid != "0") throw UsageError("--lid: simulations know 0 and spread");
    return sim::LidChoice::first;
}

Scene make_scene(const Options& options) {
    Scene scene;
    scene.options.packet.lids = scene.options.flow.lids = lids_of(options.routed);
    scene.options.threads = options.routed.threads;
    scene.options.seed = options.routed.seed;
    if (!options.routed.fabric.empty()) {
        if (!options.costs.rate.empty())
            throw UsageError("--rate is for predictions without a fabric: the fabric's ports have rates of their own");
        scene.fabric = load_placed(options.routed, options.common);
        place(scene, options);
        return scene;
    }
    if (!options.routed.tables.empty() || !options.routed.engine.empty())
        throw UsageError("--tables and --engine need the --fabric that they are for");
    if (!options.routed.place.empty() || !options.routed.hosts.empty())
        throw UsageError("--place and --hosts need the --fabric whose hosts they name");
    if (options.ranks == 0) throw UsageError("expected --ranks N, or --fabric FILE with a rank on each of its hosts");
    for (std::uint32_t rank = 0; rank < options.ranks; ++rank) scene.hosts.push_back(rank / options.per_host);
    scene.link = link_of(options.costs);
    return scene;
}

coll::UniformCall call_of(const Options& options, const Scene& scene) {
    coll::UniformShape shape;
    shape.what = coll::parse_collective(options.what);
    shape.ranks = static_cast<std::uint32_t>(scene.hosts.size());
    shape.bytes = size_of("--bytes", options.bytes);
    shape.element = options.element;
    shape.root = Rank{options.root};
    shape.hosts = scene.hosts;
    return coll::UniformCall(shape);
}

std::vector<coll::Planned> planned(const Options& options, const coll::UniformCall& call,
                                   const coll::Parameters& parameters) {
    const coll::Tuning tuning{size_of("--segment", options.segment), options.ways};
    if (options.algorithm.empty() && tuning != coll::Tuning{})
        throw UsageError("--segment and --ways belong to an --algorithm");
    if (options.all && !options.algorithm.empty())
        throw UsageError("--all lists all; expected no --algorithm beside it");
    if (options.all) return coll::plan_all(call, parameters);
    if (!options.algorithm.empty()) return {coll::plan_named(call, options.algorithm, tuning)};
    return {coll::plan_by(call, parameters)};
}

// What one algorithm takes. A level that was not asked for or not played has no time.
struct Answer {
    coll::Planned planned;
    std::uint64_t operations = 0, messages = 0, packets = 0;
    bool sketched = false;  // the model's time is the ranking's estimate
    std::optional<Time> model, flow, packet;
    std::vector<std::string> remarks, trouble;
};

// Plays to the end; `expected` is for the progress bar alone.
std::optional<Time> play(sim::Level level, const Scene& scene, const traffic::Schedule& schedule, Time expected,
                         const Common& common, Answer& answer) {
    const sim::Network network{scene.fabric->graph.get(), &scene.fabric->tables, scene.placement};
    const auto simulation = sim::make_simulation(level, network, schedule, scene.options);
    Progress progress(std::string(to_string(level)) + " level", common.quiet ? Show::nothing : Show::automatic);
    const Time step = std::max(Time{expected.ps / 200}, microseconds(1));
    sim::State state = sim::State::running;
    for (Time until = step; state == sim::State::running; until += step) {
        state = simulation->advance(until);
        progress.update(std::min(0.99, until.seconds() / std::max(expected.seconds(), 1e-12) / 2));
    }
    progress.finish();
    Time last{};
    for (const Time end : simulation->rank_ends()) last = std::max(last, end);
    if (state == sim::State::finished) return last;
    answer.trouble = simulation->trouble();
    answer.remarks.push_back(fmt::format("{} level: {}", to_string(level), to_string(state)));
    return {};
}

void play_levels(Answer& answer, const Options& options, const Scene& scene, const traffic::Schedule& schedule,
                 const std::function<void(std::string_view)>& tell) {
    if (options.wants(sim::Level::flow)) {
        if (answer.messages <= most_messages || options.force) {
            answer.flow = play(sim::Level::flow, scene, schedule, *answer.model, options.common, answer);
            tell("flow");
        } else {
            answer.remarks.push_back(
                fmt::format("the flow level is left out: {} messages; --force plays them", grouped(answer.messages)));
        }
    }
    if (!options.wants(sim::Level::packet)) return;
    answer.packets = sim::count_packets(schedule, scene.placement, scene.options.packet.mtu);
    if (answer.packets > most_packets && !options.force) {
        answer.remarks.push_back(
            fmt::format("the packet level is left out: {} packets; --force plays them", grouped(answer.packets)));
        return;
    }
    answer.packet =
        play(sim::Level::packet, scene, schedule, answer.flow.value_or(*answer.model), options.common, answer);
    tell("packet");
}

std::string name_of(const coll::Planned& planned) {
    return coll::describe(planned.algorithm->name, planned.tuning);
}

Answer ask(const coll::Planned& planned, const Options& options, const Scene& scene, const coll::UniformCall& call,
           const coll::Parameters& parameters, const std::function<void(const Answer&, std::string_view)>& tell) {
    Answer answer;
    answer.planned = planned;
    answer.operations = coll::operations_of(call, planned);
    if (answer.operations > most_operations && !options.force) {
        answer.sketched = true;
        if (planned.estimate != never) answer.model = planned.estimate;
        answer.remarks.push_back(fmt::format(
            "{}: a schedule of about {} operations is not written: the model's time is from smaller groups, and the "
            "other levels are left out; --force writes it",
            name_of(planned), grouped(answer.operations)));
        tell(answer, "model");
        return answer;
    }
    const coll::Forecast forecast = coll::forecast(call, planned, parameters);
    answer.operations = forecast.schedule.size();
    answer.messages = traffic::count(forecast.schedule).messages;
    answer.model = forecast.time();
    if (!options.write_goal.empty()) {
        std::ostringstream text;
        traffic::write_goal(forecast.schedule, text);
        write_file(options.write_goal, text.str());
    }
    tell(answer, "model");
    if (scene.fabric)
        play_levels(answer, options, scene, forecast.schedule, [&](std::string_view level) { tell(answer, level); });
    return answer;
}

ordered_json time_json(const std::optional<Time>& time) {
    return time ? ordered_json(time->seconds()) : ordered_json();
}

ordered_json to_json(const Answer& answer) {
    return {{"algorithm", answer.planned.algorithm->name},
            {"segment", answer.planned.tuning.segment},
            {"ways", answer.planned.tuning.ways},
            {"why", answer.planned.why},
            {"operations", answer.operations},
            {"messages", answer.messages},
            {"packets", answer.packets},
            {"model_from_smaller_groups", answer.sketched},
            {"model_s", time_json(answer.model)},
            {"flow_s", time_json(answer.flow)},
            {"packet_s", time_json(answer.packet)}};
}

ordered_json to_json(const Options& options, const Scene& scene, const coll::UniformCall& call,
                     const coll::Parameters& parameters, const std::vector<Answer>& answers) {
    ordered_json object{{"collective", coll::to_string(call.calls()[0].what)},
                        {"bytes", call.calls()[0].bytes},
                        {"ranks", call.group().size},
                        {"hosts", scene.host_count()},
                        {"fabric", scene.fabric ? ordered_json(options.routed.fabric) : ordered_json()},
                        {"engine", scene.fabric ? ordered_json(scene.fabric->tables.engine) : ordered_json()},
                        {"rate_mbit_per_s", scene.link.megabits},
                        {"switches", scene.link.switches}};
    object["answer"] = to_json(answers.front());
    object["candidates"] = ordered_json::array();
    if (options.all)
        for (const Answer& each : answers) object["candidates"].push_back(to_json(each));
    object["costs"] = costs_json(parameters);
    std::vector<std::string> remarks, trouble;
    if (scene.fabric) remarks = scene.fabric->remarks;
    for (const Answer& each : answers) {
        remarks.insert(remarks.end(), each.remarks.begin(), each.remarks.end());
        trouble.insert(trouble.end(), each.trouble.begin(), each.trouble.end());
    }
    object["trouble"] = trouble;
    object["remarks"] = remarks;
    return object;
}

void print_head(const Options& options, const Scene& scene, const coll::UniformCall& call,
                const coll::Parameters& parameters) {
    fmt::print("{} of {} on {} of {}", coll::to_string(call.calls()[0].what), human_bytes(call.calls()[0].bytes),
               counted(call.group().size, "rank", "ranks"), counted(scene.host_count(), "host", "hosts"));
    if (scene.fabric)
        fmt::print(", {}{}", options.routed.fabric,
                   scene.fabric->tables.engine.empty() ? "" : " routed by " + scene.fabric->tables.engine);
    fmt::print("\n{}\n", model::costs_line(parameters.charges, coll::origin_of(parameters)));
    if (scene.host_count() > 1)
        fmt::print("links of {:g} Gbit/s, {} on the longest way{}\n", scene.link.megabits / 1000.0,
                   counted(scene.link.switches, "switch", "switches"), scene.fabric ? "" : ", assumed");
}

void print_line(const Answer& answer, std::string_view level) {
    const std::optional<Time>& time = level == "model" ? answer.model : level == "flow" ? answer.flow : answer.packet;
    if (level == "model") {
        fmt::print("\n{} ({})\n  {}{}", name_of(answer.planned), answer.planned.why, answer.sketched ? "about " : "",
                   counted(answer.operations, "operation", "operations"));
        if (!answer.sketched) fmt::print(", {}", counted(answer.messages, "message", "messages"));
        fmt::print("\n\n");
    }
    const std::string packets =
        level == "packet" && time ? "  " + counted(answer.packets, "packet", "packets") : std::string();
    fmt::print("  {:<7}{:>12}{}\n", level, time ? to_string(*time) : "-", packets);
    std::fflush(stdout);
}

// By the finest level that all have.
void sort_answers(std::vector<Answer>& answers) {
    for (std::optional<Time> Answer::*level : {&Answer::packet, &Answer::flow, &Answer::model}) {
        if (!std::all_of(answers.begin(), answers.end(), [&](const Answer& each) { return (each.*level).has_value(); }))
            continue;
        std::stable_sort(answers.begin(), answers.end(),
                         [&](const Answer& a, const Answer& b) { return *(a.*level) < *(b.*level); });
        return;
    }
}

void print_all(const std::vector<Answer>& answers) {
    fmt::print("\n");
    Table table({{"algorithm"}, {"model", Align::right}, {"flow", Align::right}, {"packet", Align::right}});
    const auto text = [](const std::optional<Time>& time) { return time ? to_string(*time) : std::string("-"); };
    for (const Answer& each : answers)
        table.row({name_of(each.planned), text(each.model), text(each.flow), text(each.packet)});
    table.print();
}

int run(const Options& options) {
    check_outputs({{"--write-goal", options.write_goal}}, options.common);
    if (options.all && !options.write_goal.empty())
        throw UsageError("--write-goal writes one schedule; expected no --all beside it");
    (void)coll::parse_collective(options.what);  // before a large fabric is routed
    Scene scene = make_scene(options);
    const coll::UniformCall call = call_of(options, scene);
    const coll::Parameters parameters = costs_of(options.costs, scene.hosts, scene.link);
    scene.options.local = parameters.charges.local;
    const bool text = !options.common.json && options.write_goal != "-";
    const std::vector<coll::Planned> all = planned(options, call, parameters);
    if (text) print_head(options, scene, call, parameters);
    std::vector<Answer> answers;
    for (const coll::Planned& each : all)
        answers.push_back(
            ask(each, options, scene, call, parameters, [&](const Answer& answer, std::string_view level) {
                if (text && !options.all) print_line(answer, level);
            }));
    if (options.all) sort_answers(answers);
    if (options.common.json)
        print_json(to_json(options, scene, call, parameters, answers));
    else if (text && options.all)
        print_all(answers);
    if (!scene.fabric && options.level != "model")
        print_remarks({"the model's time alone: flow and packet level need a --fabric"}, options.common);
    bool failed = false;
    for (const Answer& each : answers) {
        print_remarks(each.remarks, options.common);
        failed |= !each.trouble.empty();
        for (const std::string& line : each.trouble)
            if (text) fmt::print("  {}\n", line);
    }
    return failed ? 1 : 0;
}

void add_what(CLI::App& app, Options& options) {
    app.add_option("COLLECTIVE", options.what, "barrier, broadcast, allreduce...: loom coll list names them")
        ->required();
    app.add_option("-n,--ranks", options.ranks, "Ranks of the group (default: all that the fabric has places for)")
        ->type_name("N")
        ->check(whole_number(1, 1u << 20));
    app.add_option("-b,--bytes", options.bytes, "Of the message, or of each block")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_option("--per-host", options.per_host, "Ranks on each host, one after another")
        ->type_name("N")
        ->check(whole_number(1, 1024))
        ->capture_default_str();
    app.add_option("-a,--algorithm", options.algorithm, "This one (default: what a communicator would take)")
        ->type_name("NAME");
    app.add_option("--segment", options.segment, "Cut its messages into segments of this size")->type_name("SIZE");
    app.add_option("--ways", options.ways, "Its partners a round, or children")->type_name("N")->check(whole_number());
    app.add_option("--root", options.root, "Of operations that have one")
        ->type_name("RANK")
        ->check(whole_number())
        ->capture_default_str();
    app.add_option("--element", options.element, "Bytes of an element of a reduction, which is never cut")
        ->type_name("BYTES")
        ->check(whole_number(1))
        ->capture_default_str();
}

}  // namespace

void add_predict(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand(
        "predict", "How long a collective takes: by the model, at flow level and at packet level of a fabric");
    add_what(*app, *options);
    options->routed.add_named_to(*app);
    options->costs.add_to(*app);
    app->add_option("--level", options->level, "How far to go: model, flow (and model), packet (all three)")
        ->type_name("LEVEL")
        ->check(one_of({"model", "flow", "packet"}))
        ->capture_default_str();
    app->add_flag("--all", options->all, "Every algorithm that can do it, with its best tuning, the quickest first");
    app->add_flag("--force", options->force, "Play what is left out because it may take minutes");
    app->add_option("--write-goal", options->write_goal, "Write the schedule that was predicted, as GOAL text")
        ->type_name("FILE");
    add_common(*app, options->common);
    app->footer(
        "Starts no rank. The schedule is the one that ranks execute and that loom coll export writes; the model walks\n"
        "it, and the two levels of loom sim play it where loom sim places the ranks. Costs are those that all "
        "commands\n"
        "assume (docs/model.md); the link rates are the fabric's own.\n"
        "\n"
        "  loom predict allreduce --ranks 512 --bytes 1MiB --fabric tree.json --engine ftree\n"
        "  loom predict alltoall --ranks 64 --bytes 4KiB --rate HDR --all\n"
        "  loom predict broadcast -n 128 -b 64KiB --per-host 8 --fabric tree.json --tables tree.lft --level flow");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
