// What loom manage shares between a living subnet and a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/series.hpp"
#include "loom/manager/dcms.hpp"

namespace loom::cli {

struct ManageOptions {
    Common common;
    std::string fabric;
    std::vector<std::pair<std::string, std::string>> settings;  // keys and values as given

    bool live = false;
    bool apply = false;
    bool reset_counters = false;
    std::string adapter;
    unsigned adapter_port = 0;
    std::string key_file;
    std::string limit = "10s";
    unsigned jobs = 8;

    std::string scenario;
    std::vector<std::string> lines;  // on top of the scenario's
    std::string compare;             // policies, "none" among them
    SeriesFiles series;
};

// Sets what was given and checks the whole. Throws UsageError that names the option.
void take_settings(const ManageOptions& options, manager::Settings& settings);

[[nodiscard]] nlohmann::ordered_json to_json(const manager::Settings& settings);
[[nodiscard]] nlohmann::ordered_json to_json(const manager::Work& work);
[[nodiscard]] std::string to_text(const manager::Work& work);

// What was said and decided: printed as it comes, or kept for the JSON object.
class ManageLog {
public:
    // `ran` is the word before commands: "ran", "would run".
    ManageLog(const Common& common, std::string ran) : common_(common), ran_(std::move(ran)) {}

    void remark(const std::string& text);
    // Told before the decision that it belongs to, and printed after it.
    void command(const std::string& line);
    void decision(const manager::Decision& decision, const fabric::Fabric& fabric, const manager::Settings& settings);
    // Commands that belong to no decision.
    void flush();
    // Adds decisions, commands and remarks.
    void into(nlohmann::ordered_json& object);

private:
    Common common_;
    std::string ran_;
    nlohmann::ordered_json decisions_ = nlohmann::ordered_json::array();
    std::vector<std::string> commands_, pending_, remarks_;
};

// Adds a remark when a sweep has not more ticks than the threshold, whose key is given ("wait"): no port can exceed it.
void remark_out_of_reach(ManageLog& log, const manager::Settings& settings, std::uint64_t manager::Settings::*threshold,
                         std::string_view key, Time tick);

void manage_live(const ManageOptions& options);
// The exit code: 1 when the traffic deadlocked or is stuck.
[[nodiscard]] int manage_scenario(const ManageOptions& options);

}  // namespace loom::cli
