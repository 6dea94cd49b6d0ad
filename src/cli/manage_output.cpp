#include <fmt/format.h>

#include <cstdio>

#include "cli/manage.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"

namespace loom::cli {

using manager::Decision;
using nlohmann::ordered_json;

namespace {

std::string port_name(const fabric::Fabric& fabric, PortIndex port) {
    return fabric::describe(fabric, fabric.port(port).node, fabric.port(port).number);
}

ordered_json decision_json(const Decision& d, const fabric::Fabric& fabric) {
    // 0 is a rate, so one that was not looked at is none.
    const bool rates =
        d.what != manager::What::leave && d.what != manager::What::unreadable && d.what != manager::What::reset;
    ordered_json object{{"time_s", d.time.seconds()},
                        {"sweep", d.sweep},
                        {"what", to_string(d.what)},
                        {"why", to_string(d.why)},
                        {"port", port_name(fabric, d.port)},
                        {"congested_ticks", d.congested},
                        {"waited_ticks", d.waited},
                        {"old_rate", rates ? ordered_json(d.old_rate) : ordered_json()},
                        {"new_rate", rates ? ordered_json(d.new_rate) : ordered_json()},
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

}  // namespace

void take_settings(const ManageOptions& options, manager::Settings& settings) {
    for (const auto& [key, value] : options.settings) try {
            set(settings, key, value);
        } catch (const UsageError& error) {
            throw UsageError(fmt::format("--{} (see loom manage --help)", error.what()));
        }
    check(settings);
}

void remark_out_of_reach(ManageLog& log, const manager::Settings& settings, std::uint64_t manager::Settings::*threshold,
                         std::string_view key, Time tick) {
    const auto found = manager::out_of_reach(settings, threshold, tick);
    if (!found) return;
    log.remark(fmt::format(
        "--{} {}: no port can count more, a sweep of {} has {} ticks of {}; as much of a sweep as in "
        "the paper would be {}",
        key, found->threshold, to_string(settings.sweep), grouped(found->ticks), to_string(tick), found->as_usual));
}

ordered_json to_json(const manager::Settings& settings) {
    ordered_json object;
    for (const manager::SettingInfo& info : manager::setting_keys())
        object[std::string(info.key)] = get(settings, info.key);
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

void ManageLog::remark(const std::string& text) {
    remarks_.push_back(text);
    print_remarks({text}, common_);
}

void ManageLog::command(const std::string& line) {
    commands_.push_back(line);
    pending_.push_back(line);
}

void ManageLog::decision(const Decision& decision, const fabric::Fabric& fabric, const manager::Settings& settings) {
    if (common_.json) {
        decisions_.push_back(decision_json(decision, fabric));
        return;
    }
    fmt::print("{}\n", describe(decision, fabric, settings));
    flush();
}

void ManageLog::flush() {
    if (common_.json) return;
    for (const std::string& line : pending_) fmt::print("{:14}{}: {}\n", "", ran_, line);
    pending_.clear();
    std::fflush(stdout);
}

void ManageLog::into(ordered_json& object) {
    object["decisions"] = std::move(decisions_);
    object["commands"] = commands_;
    object["remarks"] = remarks_;
}

}  // namespace loom::cli
