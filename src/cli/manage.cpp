// loom manage: congestion management while a fabric runs.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/fabric_file.hpp"
#include "cli/manage.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/manager/live.hpp"

namespace loom::cli {

using manager::Apply;
using nlohmann::ordered_json;

namespace {

manager::LiveOptions live_options(const ManageOptions& options) {
    manager::LiveOptions live;
    live.apply = options.apply ? Apply::apply : Apply::dry_run;
    live.reset_counters = options.reset_counters;
    live.adapter = options.adapter;
    live.adapter_port = options.adapter_port;
    live.jobs = options.jobs;
    const auto limit = parse_time(options.limit);
    if (!limit || *limit == Time{})
        throw UsageError("--limit: expected a time like 10s, got " + excerpt(options.limit));
    live.limit = *limit;
    if (!options.key_file.empty()) {
        const std::string text = read_file(options.key_file);
        const std::string_view word = trim(std::string_view(text).substr(0, text.find('\n')));
        live.cc_key = parse_number(word);
        if (!live.cc_key) throw ParseError(options.key_file, 1, "expected a key of 64 bits, decimal or after 0x");
    }
    return live;
}

// "none,paper,two-step": what --compare takes.
std::string comparable_policies() {
    std::string text = "none";
    for (const std::string_view name : manager::policy_names()) text += "," + std::string(name);
    return text;
}

}  // namespace

void manage_live(const ManageOptions& options) {
    manager::Settings settings;
    take_settings(options, settings);
    manager::LiveOptions how = live_options(options);
    ManageLog log(options.common, options.apply ? "ran" : "would run");
    remark_out_of_reach(log, settings, &manager::Settings::wait, "wait", settings.tick);
    how.remark = [&](const std::string& text) { log.remark(text); };
    how.command = [&](const std::string& line) { log.command(line); };

    fabric::Reading reading;
    if (options.fabric.empty()) {
        reading = fabric::parse_fabric(manager::discover(how), "ibnetdiscover", fabric::Format::ibnetdiscover);
        for (const std::string& text : reading.remarks) log.remark(text);
    } else {
        reading = load_fabric(options.fabric, "", options.common);
    }
    const fabric::Fabric& fabric = reading.fabric;
    manager::LiveFabric live(fabric, how);
    manager::WallClock clock;
    if (!options.common.json) {
        const std::size_t switches = fabric.nodes_of(fabric::NodeKind::switch_).size();
        fmt::print("Managing {}, policy {}; {}\n", counted(switches, "switch", "switches"), to_string(settings.policy),
                   options.apply ? "settings will be changed, and restored at the end"
                                 : "a dry run: nothing will be changed (--apply does)");
        std::fflush(stdout);
    }
    const manager::Work work = run_manager(fabric, live, live, clock, settings, [&](const manager::Decision& decision) {
        log.decision(decision, fabric, settings);
    });
    log.flush();
    if (!options.common.json) {
        fmt::print("{}; {} in {}\n", to_text(work), counted(live.processes(), "process", "processes"),
                   to_string(clock.now()));
        return;
    }
    ordered_json object{{"fabric", fabric.title}, {"applied", options.apply},      {"settings", to_json(settings)},
                        {"work", to_json(work)},  {"processes", live.processes()}, {"seconds", clock.now().seconds()}};
    log.into(object);
    print_json(object);
}

void add_manage(CLI::App& program, int& exit_code) {
    auto options = std::make_shared<ManageOptions>();
    CLI::App* app = program.add_subcommand("manage", "Watch a running fabric and manage its congestion");
    app->add_option(
        "FABRIC", options->fabric,
        "With --live: a file from ibnetdiscover; without one the subnet is discovered now. With --scenario: in "
        "place of the scenario's own");
    app->add_option("-s,--scenario", options->scenario, "Manage a simulated fabric: a scenario at packet level")
        ->type_name("FILE");
    app->add_flag("--live", options->live, "Manage the subnet this machine is on, through infiniband-diags");
    for (const manager::SettingInfo& info : manager::setting_keys()) {
        const std::string key(info.key);
        app->add_option_function<std::string>(
               "--" + key, [options, key](const std::string& value) { options->settings.emplace_back(key, value); },
               std::string(info.summary))
            ->type_name(std::string(info.value))
            ->default_str(get(manager::Settings{}, key))
            ->group("Manager");
    }
    app->add_flag("--apply", options->apply, "Change marking rates; without it a dry run shows what would be done")
        ->group("With --live");
    app->add_flag("--reset-counters", options->reset_counters,
                  "Reset 32-bit counters beyond half their range (with --apply): they stand still at its end")
        ->group("With --live");
    app->add_option("--adapter", options->adapter, "Adapter to ask through, the tools' -C")
        ->type_name("NAME")
        ->group("With --live");
    app->add_option("--adapter-port", options->adapter_port, "Port of it, the tools' -P")
        ->type_name("N")
        ->group("With --live")
        ->check(whole_number(1, 254));
    app->add_option("--cc-key-file", options->key_file, "File with the congestion management key, where one is set")
        ->type_name("FILE")
        ->group("With --live");
    app->add_option("--limit", options->limit,
                    "Time limit of one command; ibnetdiscover, which asks the whole subnet, has twelve times as long")
        ->type_name("TIME")
        ->group("With --live")
        ->capture_default_str();
    app->add_option("--jobs", options->jobs, "Commands at once")
        ->type_name("N")
        ->group("With --live")
        ->check(whole_number(1, 256))
        ->capture_default_str();
    app->add_option("--set", options->lines,
                    "Any line of a scenario, on top of the file: 'until 2ms', 'congestion threshold 15'")
        ->type_name("LINE")
        ->group("With --scenario")
        ->allow_extra_args(false);
    app->add_option("--compare", options->compare,
                    "Play once for each of these and set them side by side: " + comparable_policies())
        ->type_name("POLICIES")
        ->group("With --scenario");
    add_series_options(*app, options->series, "With --scenario");
    add_common(*app, options->common);
    app->footer(
        "Sweeps over the switch ports. A port is congested that was in the congested state for more than T_C, or\n"
        "leads to a host and waited more than T_W. Where that makes a port of a neighbouring switch wait more\n"
        "than T_W, more packets are marked at the congested port, until its victims slacken (T_D) or for T_I sweeps\n"
        "(Mizero 2016, with three lines corrected; see docs/manager.md). Every decision is a line with its numbers.\n"
        "The interrupt key ends it; what was lowered is restored. In a scenario, lines like 'manager sweep 2ms' set\n"
        "the same, and options come on top. The defaults are the paper's, for a sweep of 1.5 s; a scenario of some\n"
        "milliseconds needs a quicker sweep, and thresholds smaller in proportion (examples/scenarios/managed.scn).\n\n"
        "  loom manage --live --sweeps 40                     a dry run of a minute\n"
        "  loom manage --scenario managed.scn --plot flows.svg\n"
        "  loom manage --scenario managed.scn --compare none,paper,history");
    app->callback([app, options, &exit_code] {
        const bool simulated = !options->scenario.empty();
        if (options->live == simulated)
            throw UsageError(
                "say what to manage: --live for the subnet of this machine or --scenario FILE (see loom manage "
                "--help)");
        if (simulated && options->apply) throw UsageError("--apply is for --live; a scenario is always managed");
        if (app->count("--compare") != 0 && options->compare.empty())
            throw UsageError("--compare: expected none or a policy, got \"\"");
        const bool series = options->series.any_file() || !options->series.watch.empty();
        if (!simulated && (series || !options->compare.empty()))
            throw UsageError("--compare, --watch and what is written or drawn are for --scenario");
        if (series && !options->compare.empty())
            throw UsageError("files and pictures are of one run; expected them without --compare");
        if (simulated)
            exit_code = manage_scenario(*options);
        else
            manage_live(*options);
    });
}

}  // namespace loom::cli
