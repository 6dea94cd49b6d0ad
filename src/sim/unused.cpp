#include "loom/sim/unused.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace loom::sim {
namespace {

template <std::size_t count>
bool is_one_of(std::string_view keyword, const std::array<std::string_view, count>& words) {
    return std::ranges::find(words, keyword) != words.end();
}

constexpr std::array<std::string_view, 9> of_packets{"buffer",         "lanes",       "sl-to-vl",
                                                     "table-lanes",    "arbitration", "flow-control",
                                                     "paths adaptive", "buffer-use",  "host-turns"};
constexpr std::array<std::string_view, 11> of_fabrics{"mtu",  "cable-delay",  "switch-delay", "host-delay",
                                                      "lids", "counter-tick", "engine",       "tables",
                                                      "lmc",  "watch",        "paths tables"};
constexpr std::array<std::string_view, 4> of_faults{"fail", "kill", "repair", "retry"};
constexpr std::array<std::string_view, 6> of_traffic{"pattern", "schedule", "goal", "bytes", "work", "stages"};
constexpr std::array<std::string_view, 2> of_messages{"loggops", "handshake"};

std::string why_unused_by_programs(const Scenario& scenario, std::string_view keyword) {
    if (is_one_of(keyword, of_traffic)) return "programs say themselves what they send";
    const bool has_fabric = !scenario.fabric_file.empty() || scenario.fabric.node_count() != 0;
    if ((keyword == "place" || keyword == "hosts") && !has_fabric)
        return "without a fabric there are no hosts to place ranks on";
    if (is_one_of(keyword, of_faults) && keyword != "kill" && scenario.level == Level::message)
        return "level message has neither links nor tables nor ports";
    return {};
}

// Why nobody looks at the line; empty where somebody does.
std::string why_unused(const Scenario& scenario, std::string_view keyword, Traffic traffic) {
    const bool has_fabric = !scenario.fabric_file.empty() || scenario.fabric.node_count() != 0;
    const std::string level = "level " + std::string(to_string(scenario.level));
    const bool packets = is_one_of(keyword, of_packets) || keyword.starts_with("congestion ");
    if (packets && scenario.level != Level::packet)
        return level + " has no packets, buffers, lanes or congestion control";
    if (is_one_of(keyword, of_fabrics) && scenario.level == Level::message)
        return level + " has neither links nor tables nor ports";
    if (is_one_of(keyword, of_messages) && scenario.level != Level::message)
        return "only level message has LogGOPS and its handshake";
    if (traffic == Traffic::programs) return why_unused_by_programs(scenario, keyword);
    if (is_one_of(keyword, of_faults)) return "only programs that run meet faults";
    if (keyword == "stages" && scenario.pattern.empty()) return "only a pattern has stages";
    if (keyword == "work" && scenario.schedule.empty()) return "only a schedule has computations";
    if (keyword == "bytes" && !scenario.goal_file.empty()) return "a GOAL file says itself how large messages are";
    if (keyword == "bytes" && !scenario.flows.empty()) return "flows say themselves how large they are";
    if (keyword == "ranks" && !scenario.flows.empty()) return "a flow has two ranks of its own";
    if (keyword == "place" || keyword == "hosts") {
        if (!scenario.flows.empty()) return "flows name their hosts";
        if (!has_fabric) return "without a fabric there are no hosts to place ranks on";
    }
    return {};
}

}  // namespace

std::vector<UnusedLine> unused_lines(const Scenario& scenario, Traffic traffic) {
    std::vector<UnusedLine> lines;
    for (const SaidLine& line : scenario.said)
        if (std::string why = why_unused(scenario, line.keyword, traffic); !why.empty())
            lines.push_back({line.keyword, std::move(why), line.source});
    return lines;
}

std::vector<std::string> describe(const std::vector<UnusedLine>& lines) {
    std::vector<std::string> sentences;
    std::vector<std::string_view> told;
    for (const UnusedLine& first : lines) {
        if (std::ranges::find(told, first.why) != told.end()) continue;
        told.push_back(first.why);
        std::vector<std::string_view> keywords;
        for (const UnusedLine& line : lines)
            if (line.why == first.why && std::ranges::find(keywords, line.keyword) == keywords.end())
                keywords.push_back(line.keyword);
        sentences.push_back(fmt::format("{}; not used: {}", first.why, fmt::join(keywords, ", ")));
    }
    return sentences;
}

}  // namespace loom::sim
