// loom fabric show: a fabric in figures.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/fabric.hpp"
#include "cli/output.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/summary.hpp"

namespace loom::cli {

using namespace fabric;
using nlohmann::ordered_json;

namespace {

std::string range_text(Range range) {
    return range.least == range.most ? grouped(range.most) : fmt::format("{}..{}", range.least, range.most);
}

std::string level_name(std::size_t level, std::size_t levels) {
    if (level == 0) return "0 leaves";
    return level + 1 == levels ? fmt::format("{} roots", level) : std::to_string(level);
}

ordered_json to_json(const Reading& reading, const Summary& s) {
    ordered_json levels = ordered_json::array(), subnets = ordered_json::array(), slow = ordered_json::array();
    for (const LevelSummary& level : s.levels)
        levels.push_back({{"switches", level.switches},
                          {"hosts", level.hosts},
                          {"down", level.down},
                          {"up", level.up},
                          {"open_ports", level.open_ports},
                          {"hosts_each", {level.hosts_each.least, level.hosts_each.most}},
                          {"up_each", {level.up_each.least, level.up_each.most}},
                          {"oversubscription", level.up == 0 ? ordered_json() : ordered_json(level.oversubscription)}});
    for (const Subnet& subnet : s.subnets)
        subnets.push_back({{"switches", subnet.switches}, {"hosts", subnet.hosts}, {"links", subnet.links}});
    for (const SlowCable& link : s.slow)
        slow.push_back(
            {{"cable", link.cable}, {"rate", to_string(link.rate)}, {"supported", to_string(link.supported)}});
    ordered_json radix = ordered_json::object();
    for (const auto& [ports, switches] : s.radix) radix[std::to_string(ports)] = switches;
    return {{"title", reading.fabric.title},
            {"format", name(reading.format)},
            {"switches", s.switches},
            {"hosts", s.hosts},
            {"routers", s.routers},
            {"aggregation_nodes", s.aggregation_nodes},
            {"switch_links", s.switch_links},
            {"host_links", s.host_links},
            {"lids", s.lids},
            {"lmc", s.lmc},
            {"radix", radix},
            {"rates", s.rates},
            {"levels", levels},
            {"subnets", subnets},
            {"servers_on_several_subnets", s.servers_on_several_subnets},
            {"slow_links", slow},
            {"remarks", s.remarks},
            {"file_remarks", reading.remarks}};
}

void print_summary(const Reading& reading, const Summary& s) {
    fmt::print("{} ({})\n", reading.fabric.title, name(reading.format));
    fmt::print("  {}, {}", counted(s.hosts, "host", "hosts"), counted(s.switches, "switch", "switches"));
    if (s.routers != 0) fmt::print(", {}", counted(s.routers, "router", "routers"));
    if (s.aggregation_nodes != 0)
        fmt::print(", {}", counted(s.aggregation_nodes, "aggregation node", "aggregation nodes"));
    fmt::print("; {} between switches, {} to hosts\n", counted(s.switch_links, "link", "links"), grouped(s.host_links));
    std::string text;
    for (const auto& [ports, switches] : s.radix)
        text += fmt::format("{}{} x {} ports", text.empty() ? "" : ", ", grouped(switches), ports);
    if (!text.empty()) fmt::print("  switches: {}\n", text);
    text.clear();
    for (const auto& [rate, links] : s.rates)
        text +=
            (text.empty() ? "" : ", ") + (rate == to_string(LinkRate{}) ? grouped(links) + " of unknown rate"
                                                                        : fmt::format("{} x {}", grouped(links), rate));
    if (!text.empty()) fmt::print("  links: {}\n", text);
    if (s.lids != 0)
        fmt::print("  LIDs: {}{}\n", grouped(s.lids), s.lmc == 0 ? "" : fmt::format(", LMC {}", s.lmc));
    else
        fmt::print("  LIDs: none yet\n");

    if (!s.levels.empty()) {
        fmt::print("\n");
        Table table({{"level"},
                     {"switches", Align::right},
                     {s.levels[0].hosts == s.hosts ? "hosts" : "host ports", Align::right},
                     {"per switch", Align::right},
                     {"cables down", Align::right},
                     {"cables up", Align::right},
                     {"per switch", Align::right},
                     {"open ports", Align::right},
                     {"oversubscription", Align::right}});
        for (std::size_t i = 0; i < s.levels.size(); ++i) {
            const LevelSummary& level = s.levels[i];
            table.row({level_name(i, s.levels.size()), grouped(level.switches), grouped(level.hosts),
                       range_text(level.hosts_each), grouped(level.down), grouped(level.up), range_text(level.up_each),
                       grouped(level.open_ports),
                       level.up == 0 ? std::string("-") : fmt::format("{:.3g}:1", level.oversubscription)});
        }
        table.print();
    }

    if (s.remarks.empty()) {
        fmt::print("\nNothing deviates from a regular tree.\n");
        return;
    }
    fmt::print("\nRemarks\n");
    for (const std::string& remark : s.remarks) fmt::print("  - {}\n", remark);
}

}  // namespace

void add_fabric_show(CLI::App& fabric) {
    struct Options {
        Common common;
        std::string input, from;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* app = fabric.add_subcommand("show", "What a fabric consists of, its levels, and what is odd about it");
    app->add_option("FABRIC", options->input, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("--from", options->from, "Format of FABRIC (default: found from its content)")->type_name("FORMAT");
    add_common(*app, options->common);
    app->footer(
        "Oversubscription is the capacity from below over the capacity upwards: 1:1 is full bisection.\n\n"
        "Formats:\n" +
        format_list() + "\n\n  ibnetdiscover | loom fabric show -");
    app->callback([options] {
        const Reading reading = load_fabric(options->input, options->from, options->common);
        const Summary summary = summarise(reading.fabric, find_levels(reading.fabric));
        if (options->common.json)
            print_json(to_json(reading, summary));
        else
            print_summary(reading, summary);
    });
}

}  // namespace loom::cli
