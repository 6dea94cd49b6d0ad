// loom manage: congestion management while a fabric runs.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/fabric_file.hpp"
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
using manager::Decision;
using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    bool live = false;
    bool apply = false;
    bool reset_counters = false;
    std::string fabric;
    std::string adapter;
    unsigned adapter_port = 0;
    std::string key_file;
    std::string limit = "10s";
    unsigned jobs = 8;
    std::vector<std::pair<std::string, std::string>> settings;  // as given
};

std::string port_name(const fabric::Fabric& fabric, PortIndex port) {
    return fabric::describe(fabric, fabric.port(port).node, fabric.port(port).number);
}

ordered_json to_json(const Decision& d, const fabric::Fabric& fabric) {
    ordered_json object{{"time_s", d.time.seconds()},
                        {"sweep", d.sweep},
                        {"what", to_string(d.what)},
                        {"why", to_string(d.why)},
                        {"port", port_name(fabric, d.port)},
                        {"congested_ticks", d.congested},
                        {"waited_ticks", d.waited},
                        {"old_rate", d.old_rate},
                        {"new_rate", d.new_rate},
                        {"intervals", d.intervals},
                        {"victims", d.victims}};
    if (d.victim != no_port) {
        object["victim"] = port_name(fabric, d.victim);
        object["victim_waited_ticks"] = d.victim_waited;
        object["data_before_words"] = d.data_before;
        object["data_now_words"] = d.data_now;
    }
    if (!d.error.empty()) object["error"] = d.error;
    return object;
}

ordered_json to_json(const manager::Work& work) {
    return {{"sweeps", work.sweeps},         {"ports_read", work.reads}, {"ports_missed", work.missed},
            {"rates_read", work.rate_reads}, {"rates_set", work.writes}, {"lowered", work.lowered},
            {"restored", work.restored},     {"left_alone", work.left}};
}

std::string to_text(const manager::Work& work) {
    return fmt::format("{}: {} read ({} missed), {} read, {} set; {} lowered, {} restored, {} left alone",
                       counted(work.sweeps, "sweep", "sweeps"), counted(work.reads, "port", "ports"), work.missed,
                       counted(work.rate_reads, "rate", "rates"), work.writes,
                       counted(work.lowered, "congested port", "congested ports"), work.restored, work.left);
}

manager::LiveOptions live_options(const Options& options) {
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

// What was said and decided, printed as it comes or kept for the JSON object.
class Log {
public:
    Log(const Common& common, Apply apply) : common_(common), apply_(apply) {}

    void remark(const std::string& text) {
        remarks_.push_back(text);
        print_remarks({text}, common_);
    }
    // Told before the decision that it belongs to, and printed after it.
    void command(const std::string& line) {
        commands_.push_back(line);
        pending_.push_back(line);
    }
    void decision(const Decision& decision, const fabric::Fabric& fabric, const manager::Settings& settings) {
        if (common_.json) {
            decisions_.push_back(to_json(decision, fabric));
            return;
        }
        fmt::print("{}\n", describe(decision, fabric, settings));
        flush();
    }
    void flush() {
        if (common_.json) return;
        for (const std::string& line : pending_)
            fmt::print("{:14}{}: {}\n", "", apply_ == Apply::apply ? "ran" : "would run", line);
        pending_.clear();
        std::fflush(stdout);
    }

    void into(ordered_json& object) {
        object["decisions"] = std::move(decisions_);
        object["commands"] = commands_;
        object["remarks"] = remarks_;
    }

private:
    Common common_;
    Apply apply_;
    ordered_json decisions_ = ordered_json::array();
    std::vector<std::string> commands_, pending_, remarks_;
};

ordered_json settings_json(const manager::Settings& settings) {
    ordered_json object;
    for (const manager::SettingInfo& info : manager::setting_keys())
        object[std::string(info.key)] = get(settings, info.key);
    return object;
}

// As they were given on the command line.
void apply(const std::vector<std::pair<std::string, std::string>>& given, manager::Settings& settings) {
    for (const auto& [key, value] : given) try {
            set(settings, key, value);
        } catch (const UsageError& error) {
            throw UsageError(fmt::format("--{} (see loom manage --help)", error.what()));
        }
    check(settings);
}

void run_live(const Options& options) {
    manager::Settings settings;
    settings.normal.reset();  // leave a real fabric as it was
    apply(options.settings, settings);
    manager::LiveOptions how = live_options(options);
    Log log(options.common, how.apply);
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
    const manager::Work work = run_manager(fabric, live, live, clock, settings,
                                           [&](const Decision& decision) { log.decision(decision, fabric, settings); });
    log.flush();
    if (!options.common.json) {
        fmt::print("{}; {} in {}\n", to_text(work), counted(live.processes(), "process", "processes"),
                   to_string(clock.now()));
        return;
    }
    ordered_json object{
        {"fabric", fabric.title}, {"applied", options.apply},      {"settings", settings_json(settings)},
        {"work", to_json(work)},  {"processes", live.processes()}, {"seconds", clock.now().seconds()}};
    log.into(object);
    print_json(object);
}

}  // namespace

void add_manage(CLI::App& program, int&) {
    auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("manage", "Watch a running fabric and manage its congestion");
    app->add_option("FABRIC", options->fabric, "Fabric file with LIDs, from ibnetdiscover; discovered when not given");
    app->add_flag("--live", options->live, "Manage the subnet this machine is on, through infiniband-diags");
    app->add_flag("--apply", options->apply, "Change marking rates; without it a dry run shows what would be done");
    for (const manager::SettingInfo& info : manager::setting_keys()) {
        const std::string key(info.key);
        const std::string usual = key == "default" ? "found" : get(manager::Settings{}, key);
        app->add_option_function<std::string>(
               "--" + key, [options, key](const std::string& value) { options->settings.emplace_back(key, value); },
               std::string(info.summary))
            ->type_name(std::string(info.value))
            ->default_str(usual);
    }
    app->add_flag("--reset-counters", options->reset_counters,
                  "Reset 32-bit counters beyond half their range (with --apply): they stand still at its end");
    app->add_option("--adapter", options->adapter, "Adapter to ask through, the tools' -C")->type_name("NAME");
    app->add_option("--adapter-port", options->adapter_port, "Port of it, the tools' -P")
        ->type_name("N")
        ->check(whole_number(1, 254));
    app->add_option("--cc-key-file", options->key_file, "File with the congestion management key, where one is set")
        ->type_name("FILE");
    app->add_option("--limit", options->limit, "Time limit of one command")->type_name("TIME")->capture_default_str();
    app->add_option("--jobs", options->jobs, "Commands at once")->check(whole_number(1, 256))->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Sweeps over the switch ports. A port is congested that was in the congested state for more than T_C, or\n"
        "leads to a host and waited more than T_W. Where that makes a port of a neighbouring switch wait more\n"
        "than T_W, more packets are marked at the congested port, until its victims slacken (T_D) or for T_I sweeps\n"
        "(Mizero 2016, with three lines corrected; see docs/manager.md). Every decision is a line with its numbers.\n"
        "The interrupt key ends it; what was lowered is restored. Settings of the switches need root or a device\n"
        "that may be opened; reading needs it, too.");
    app->callback([options] {
        if (!options->live)
            throw UsageError("say what to manage: --live for the subnet of this machine (see loom manage --help)");
        run_live(*options);
    });
}

}  // namespace loom::cli
