#include "cli/damage_options.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::cli {

using namespace fabric;

namespace {

Amount amount(const char* option, const std::string& text) {
    if (text.empty()) return {};
    if (text.back() == '%') {
        const std::string number = text.substr(0, text.size() - 1);
        std::size_t used = 0;
        double percent = -1;
        if (!number.empty() && (is_digit(number[0]) || number[0] == '.')) try {
                percent = std::stod(number, &used);
            } catch (const std::exception&) {
                used = 0;
            }
        if (used == number.size() && percent >= 0 && percent <= 100) return {.share = percent / 100};
    } else if (const auto count = parse_decimal(text)) {
        return {.count = *count};
    }
    throw UsageError(fmt::format("{} expects a number or a share such as 5%, got {}", option, excerpt(text)));
}

std::pair<std::string, PortNum> cable(const std::string& text) {
    const auto colon = text.rfind(':');
    const auto port =
        colon == std::string::npos ? std::nullopt : parse_decimal(std::string_view(text).substr(colon + 1));
    if (!port || *port == 0 || *port > 254)
        throw UsageError(fmt::format("--cut expects NODE:PORT, got {}", excerpt(text)));
    return {text.substr(0, colon), PortNum{static_cast<std::uint8_t>(*port)}};
}

}  // namespace

void DamageOptions::add_to(CLI::App& app) {
    const char* group = "Damage";
    app.add_option("--remove-links", links, "Take out cables at random: a number, or a share such as 5%")
        ->type_name("N|x%")
        ->group(group);
    app.add_option("--remove-switches", switches, "Take out switches at random")->type_name("N|x%")->group(group);
    app.add_option("--remove-hosts", hosts, "Take out hosts at random")->type_name("N|x%")->group(group);
    app.add_option("--slow-links", slow_links, "Let cables run at 1x at random")->type_name("N|x%")->group(group);
    app.add_option("--remove", nodes, "Take out the node of this name or GUID (repeatable)")
        ->type_name("NODE")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option("--cut", cables, "Take out the cable in this port of a node, by name or GUID (repeatable)")
        ->type_name("NODE:PORT")
        ->allow_extra_args(false)
        ->group(group);
    app.add_flag("--take-last-cables", take_last_cables, "Chance may also cut a host off (it never does otherwise)")
        ->group(group);
    app.add_option("--seed", seed, "Seed of everything random; same seed, same fabric")
        ->check(any_seed())
        ->capture_default_str()
        ->group(group);
    const char* odd = "As in real fabrics";
    app.add_flag("--aggregation-nodes", aggregation_nodes, "Put an aggregation (SHARP) node on every switch")
        ->group(odd);
    app.add_option("--management-hosts", management_hosts, "Put so many hosts on free ports of the top switches")
        ->type_name("N")
        ->check(whole_number())
        ->group(odd);
    app.add_option("--shuffle", shuffle,
                   "Tell the fabric in another order: nodes, or ports (nodes and the ports of switches)")
        ->check(one_of({"nodes", "ports"}))
        ->group(odd);
}

bool DamageOptions::any() const {
    for (const std::string* text : {&links, &switches, &hosts, &slow_links, &shuffle})
        if (!text->empty()) return true;
    return !nodes.empty() || !cables.empty() || aggregation_nodes || management_hosts != 0;
}

Damaged DamageOptions::apply(const Fabric& fabric, bool lids) const {
    Damage what{.seed = seed,
                .switches = amount("--remove-switches", switches),
                .hosts = amount("--remove-hosts", hosts),
                .links = amount("--remove-links", links),
                .slow_links = amount("--slow-links", slow_links),
                .last_cable = take_last_cables ? LastCable::take : LastCable::keep,
                .nodes = nodes};
    for (const std::string& text : cables) what.cables.push_back(cable(text));

    Damaged result = damage(fabric, what);
    if (management_hosts != 0) add_management_hosts(result.fabric, management_hosts);
    if (aggregation_nodes) result.fabric = with_aggregation_nodes(result.fabric);
    if (lids) result.fabric.assign_lids();
    if (!shuffle.empty())
        result.fabric = shuffled(result.fabric, seed, shuffle == "nodes" ? Shuffle::nodes : Shuffle::nodes_and_ports);
    return result;
}

nlohmann::ordered_json removed_json(const Damaged& damaged) {
    return {{"switches", damaged.switches}, {"hosts", damaged.hosts}, {"links", damaged.links}, {"slow", damaged.slow}};
}

std::string removed_text(const Damaged& damaged) {
    std::string text;
    const auto say = [&](std::size_t count, const char* one, const char* many, const char* what) {
        if (count != 0) text += (text.empty() ? "" : ", ") + counted(count, one, many) + ' ' + what;
    };
    say(damaged.switches.size(), "switch", "switches", "removed");
    say(damaged.hosts.size(), "host", "hosts", "removed");
    say(damaged.links.size(), "link", "links", "removed");
    say(damaged.slow.size(), "link", "links", "slowed down");
    return text;
}

}  // namespace loom::cli
