// loom sim: plays traffic on a fabric, in time.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.hpp"
#include "cli/fabric_file.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/scenario_file.hpp"
#include "cli/series.hpp"
#include "cli/sim_output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/text.hpp"
#include "loom/report/managed.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/scenario.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"
#include "loom/sim/unused.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::cli {
namespace {

using sim::Scenario;

// An option that says what a scenario's line says.
struct LineOption {
    const char* option;   // "--mtu"
    const char* keyword;  // "mtu"
    const char* type;
    const char* help;
    const char* group;
};

constexpr const char* traffic_group = "Traffic";
constexpr const char* fabric_group = "Fabric";
constexpr const char* time_group = "Time";
constexpr const char* packet_group = "Packets and congestion control";
constexpr const char* message_group = "Messages";

constexpr LineOption line_options[] = {
    {"-p,--pattern", "pattern", "NAME[:ARGUMENT]", "Everyone sends as a pattern says; listed below", traffic_group},
    {"--schedule", "schedule", "NAME[:ARGUMENT]", "A schedule by name; listed below", traffic_group},
    {"--goal", "goal", "FILE", "A schedule in GOAL text", traffic_group},
    {"--bytes", "bytes", "SIZE", "Of each message of a pattern or schedule, and of a flow FROM:TO (default 64KiB)",
     traffic_group},
    {"--stages", "stages", "own|barrier|together", "When a rank begins the next stage of a pattern (default own)",
     traffic_group},
    {"--ranks", "ranks", "N", "Ranks of a pattern or schedule (default: one for each host)", traffic_group},
    {"--engine", "engine", "NAME", "Route the fabric now instead of reading TABLES (default minhop)", fabric_group},
    {"--place", "place", "HOW|FILE", "Where ranks sit: order (default), keepers, random, or a file with a host a line",
     fabric_group},
    {"--hosts", "hosts", "LIST", "Ranks sit on these hosts, as Slurm writes them: node[001-018,020]", fabric_group},
    {"--lid", "lids", "0|spread",
     "Which of a host's LIDs is used (LMC): the first, or spread over all by sender and receiver", fabric_group},
    {"--level", "level", "packet|flow|message", "How closely to look (default packet)", time_group},
    {"--until", "until", "TIME", "End there, finished or not; packet level at the end of its step, up to 1 us later",
     time_group},
    {"--sample", "sample", "TIME", "Between samples (default: 200 to 400 of them)", time_group},
    {"--mtu", "mtu", "BYTES", "Payload of a packet: 256, 512, 1024, 2048 (default) or 4096", packet_group},
    {"--buffer", "buffer", "SIZE", "Of each input port and lane (default 32KiB)", packet_group},
    {"--paths", "paths", "tables|adaptive", "Up-ports as the tables say, or the least busy of equal ones",
     packet_group},
    {"--threshold", "congestion threshold", "N", "When switches mark packets: 0 never (default), 1 late to 15 early",
     packet_group},
    {"--marking-rate", "congestion marking_rate", "N", "Packets between two marked ones; 0 marks every one (default)",
     packet_group},
    {"--ccti-timer", "congestion ccti_timer", "N",
     "x 1.024 us until a throttled flow's index falls by one (default 150)", packet_group},
    {"--cct", "congestion cct", "'halving N'|'linear N STEP'|DELAYS",
     "Congestion control table: delays in packet times (default: halving 6, each index half the rate)", packet_group},
    {"--loggops", "loggops", "'L 2us o 1us ...'", "Parameters of the message level: L, o, g, G, O, S", message_group},
    {"--seed", "seed", "N", "Seed of everything random (default 1)", time_group},
    {"--threads", "threads", "N", "Threads, 0 for all cores; results do not depend on it (default 1)", time_group},
};

struct Options {
    Common common;
    std::string fabric, tables, scenario;
    std::vector<std::string> lines = std::vector<std::string>(std::size(line_options));
    std::vector<std::string> flows, set;
    SeriesFiles series;
    std::string write_goal;
    std::size_t hot = 5, slow = 10;
};

std::string quoted(const std::string& word) {
    return '"' + word + '"';
}

// "X:Y" is a flow of --bytes from X to Y, whose names may have blanks; everything else is what stands behind `flow` in
// a scenario.
std::string flow_line(const std::string& text, std::uint64_t bytes) {
    const auto colon = text.find(':');
    const bool words = (' ' + text + ' ').find(" from ") != std::string::npos || text.find('"') != std::string::npos;
    if (words || colon == std::string::npos) return "flow " + text;
    const std::string from = text.substr(0, colon), to = text.substr(colon + 1);
    return fmt::format("flow {} from {} to {} bytes {}", quoted(from + '-' + to), quoted(from), quoted(to), bytes);
}

// The line of a scenario that an option stands for.
std::string line_of(const Scenario& scenario, std::string_view keyword, const std::string& value) {
    if (keyword == "congestion cct" || keyword == "loggops") return fmt::format("{} {}", keyword, value);
    if (keyword == "lids" && value != "spread") {
        if (value != "0") throw UsageError(fmt::format("--lid: expected 0 or spread, got {}", excerpt(value)));
        return "lids first";
    }
    constexpr std::string_view pairs = "pairs:";
    if (keyword == "pattern" && value.starts_with(pairs))
        return fmt::format("pattern {}", quoted(std::string(pairs) + from_here(scenario, value.substr(pairs.size()))));
    const bool file = keyword == "goal" || (keyword == "place" && std::filesystem::exists(value));
    return fmt::format("{} {}", keyword, quoted(file ? from_here(scenario, value) : value));
}

void take_options(Scenario& scenario, const Options& options) {
    use_fabric(scenario, options.fabric, options.tables);
    bool sized = true;  // every flow of the command line says its size
    for (std::size_t i = 0; i < options.lines.size(); ++i) {
        if (options.lines[i].empty()) continue;
        const std::string_view keyword = line_options[i].keyword, names = line_options[i].option;
        if (keyword == "engine") {
            if (!options.tables.empty()) throw UsageError("expected either a TABLES file or --engine NAME");
            scenario.tables_file.clear();
        }
        sim::take_line(scenario, line_of(scenario, keyword, options.lines[i]),
                       {std::string(names.substr(names.find("--"))), 0});
    }
    for (const std::string& flow : options.flows) {
        const std::string line = flow_line(flow, scenario.bytes);
        sized = sized && line == "flow " + flow;
        sim::take_line(scenario, line, {"--flow", 0});
    }
    if (!sized) std::erase_if(scenario.said, [](const sim::SaidLine& line) { return line.keyword == "bytes"; });
    watch_ports(scenario, options.series);
    for (const std::string& line : options.set) sim::take_line(scenario, line, {"--set", 0});
}

// What a file says too much is remarked on; who says it here wants something that will not be.
void refuse_unused_options(const Scenario& scenario, const Options& options) {
    if (scenario.level == sim::Level::message && !options.tables.empty())
        throw UsageError("TABLES: level message has neither links nor tables nor ports");
    for (const sim::UnusedLine& line : sim::unused_lines(scenario))
        if (line.source.line == 0 && line.source.file == "--set")
            throw UsageError(fmt::format("--set: {} is not used: {}", line.keyword, line.why));
        else if (line.source.line == 0)
            throw UsageError(fmt::format("{}: {}", line.source.file, line.why));
}

Scenario scenario_of(const Options& options) {
    Scenario scenario = load_scenario(options.scenario);
    take_options(scenario, options);
    sim::check_complete(scenario, {options.scenario.empty() ? "loom sim" : options.scenario, 0});
    refuse_unused_options(scenario, options);
    return scenario;
}

// Where something is wrong with the file that should be a fabric, that is what to say: other complaints follow from it.
std::unique_ptr<sim::Setup> set_up(const Options& options) try {
    return sim::set_up(scenario_of(options));
} catch (const Error&) {
    Common quietly = options.common;
    quietly.quiet = true;
    if (!options.fabric.empty() && options.fabric != "-") (void)load_fabric(options.fabric, "", quietly);
    throw;
}

// The schedule that is played, as GOAL text.
void write_goal_file(const std::string& path, const traffic::Schedule& schedule) {
    if (path.empty()) return;
    std::ostringstream text;
    traffic::write_goal(schedule, text);
    write_file(path, text.str());
}

int run(const Options& options) {
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}, {"--scenario", options.scenario}});
    check_series(options.series, options.common);
    check_outputs({{"--write-goal", options.write_goal}}, options.common);

    const auto setup = set_up(options);
    check(report::scenario_settings(*setup));  // lines for loom manage, which nothing here would look at
    print_remarks(setup->remarks, options.common);
    write_goal_file(options.write_goal, setup->schedule);
    sim::RecordOptions how = record_options(*setup, options.series);
    Progress progress("simulating", options.common.quiet ? Show::nothing : Show::automatic);
    if (setup->until)
        how.progress = [draw = progress.callback(), end = setup->until->seconds()](Time now) {
            if (draw) draw(now.seconds() / end);
        };
    const auto simulation = setup->start();
    const sim::Recording recording = sim::play(*simulation, {.record = how, .until = setup->until});
    progress.finish();

    write_series(*setup, recording, options.series);
    const SimResult result{*setup, recording, sim::slowest_flows(recording, options.slow),
                           sim::hottest_ports(*setup, *simulation, options.hot),
                           sim::find_sufferers(*setup, *simulation, recording)};
    const bool to_stdout = options.series.on_stdout() || options.write_goal == "-";
    if (options.common.json)
        print_json(sim_json(result));
    else if (!to_stdout)
        print_sim(result);
    print_remarks({sim_speed(recording)}, options.common);
    if (!setup->manager.empty())
        print_remarks({"nothing was managed; loom manage --scenario does what the scenario's manager lines ask for"},
                      options.common);
    const bool failed = recording.state == sim::State::deadlocked || recording.state == sim::State::stuck;
    return failed ? 1 : 0;
}

}  // namespace

void add_sim(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("sim", "Play traffic on a fabric, in time");
    app->add_option("FABRIC", options->fabric, "Fabric to read, any known format; the message level needs none");
    app->add_option("TABLES", options->tables, "Forwarding tables of it, any known format");
    app->add_option("-s,--scenario", options->scenario,
                    "Fabric, traffic and settings from a file; other options come on top")
        ->type_name("FILE");
    app->add_option("--flow", options->flows,
                    "FROM:TO, or as in a scenario: 'X-Y from X to Y bytes 3GB start 1ms'; hosts by name, "
                    "its first word, GUID or LID")
        ->type_name("FLOW")
        ->group(traffic_group)
        ->allow_extra_args(false);
    for (std::size_t i = 0; i < std::size(line_options); ++i) {
        const LineOption& line = line_options[i];
        app->add_option(line.option, options->lines[i], line.help)
            ->type_name(line.type)
            ->group(line.group)
            ->check(not_empty("a value"));
    }
    app->add_option("--set", options->set, "Any line of a scenario: 'switch-delay 200ns', 'congestion ccti_limit 64'")
        ->type_name("LINE")
        ->group(packet_group)
        ->allow_extra_args(false);
    add_series_options(*app, options->series, "Output");
    app->add_option("--write-goal", options->write_goal, "Write the schedule that is played, as GOAL text")
        ->type_name("FILE")
        ->group("Output");
    app->add_option("--slow", options->slow, "Slowest flows to name")
        ->type_name("N")
        ->group("Output")
        ->check(whole_number())
        ->capture_default_str();
    app->add_option("--hot", options->hot, "Hottest ports to name")
        ->type_name("N")
        ->group("Output")
        ->check(whole_number())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Levels: packet plays every packet, credit and mark; flow shares links fairly among messages, for what "
        "packets\n"
        "would take too long; message is LogGOPS without a fabric. Times are like 250ns, 1.5ms, 2s; sizes like 4096,\n"
        "64KiB, 3GB. Exit code 1 when the traffic deadlocks or is stuck, with the circle or the operations that "
        "wait.\n"
        "Flows that get less at packet level than fair shares would give them are named, with where they wait and "
        "why.\n"
        "docs/formats.md tells what a scenario can say; loom manage plays one with a congestion manager.\n\n"
        "Patterns:\n" +
        traffic::pattern_help() + "\nSchedules:\n" + traffic::schedule_help() +
        "\n  loom sim tree.json --engine ftree --level flow --pattern shift --bytes 64KiB\n"
        "  loom sim tree.json tree.lft --flow host00:host07 --flow 'late from host01 to host07 bytes 1MB start 50us'\n"
        "  loom sim --scenario testbed.scn --plot flows.svg --csv-ports ports.csv\n"
        "  loom sim --level message --schedule dissemination --ranks 1024 --bytes 8");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
