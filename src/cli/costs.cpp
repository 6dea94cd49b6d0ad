#include "cli/costs.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "loom/base/error.hpp"
#include "loom/fabric/link.hpp"
#include "loom/model/parameters.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

void CostOptions::add_to(CLI::App& app) {
    app.add_option("--parameters", parameters,
                   "What differs from the assumed costs: L=1us,copy=80ps,o=300ns; or a file: kept by a job "
                   "(LOOM_CACHE), the --json of loom measure loggp, or a list")
        ->type_name("LIST|FILE");
    app.add_option("--rate", rate,
                   "Of links between hosts: SDR, DDR, QDR, FDR10, FDR, EDR (default), HDR, NDR, XDR; "
                   "four lanes unless written as 1xEDR")
        ->type_name("RATE");
}

std::uint32_t megabits_of_rate(const std::string& text) {
    auto rate = fabric::parse_rate(text);
    if (!rate) rate = fabric::parse_rate("4x" + text);
    if (!rate || rate->megabits() == 0)
        throw UsageError("--rate " + text +
                         ": expected SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR, or with lanes such as 4xEDR");
    return rate->megabits();
}

model::Link link_of(const CostOptions& options) {
    model::Link link;
    if (!options.rate.empty()) link.megabits = megabits_of_rate(options.rate);
    return link;
}

coll::Parameters costs_of(const CostOptions& options, std::span<const std::uint32_t> hosts,
                          const std::optional<model::Link>& link) {
    coll::Imagined group;
    group.hosts = hosts;
    group.link = link ? *link : link_of(options);
    group.parameters = options.parameters;
    return coll::imagined_parameters(group);
}

std::vector<std::uint32_t> own_hosts(std::size_t ranks) {
    std::vector<std::uint32_t> hosts(ranks);
    std::iota(hosts.begin(), hosts.end(), 0u);
    return hosts;
}

ordered_json costs_json(const model::LocalCosts& local, std::string_view origin) {
    return {{"copy_ps_per_byte", local.copy},
            {"reduce_ps_per_byte", local.reduce},
            {"step_ps", local.step.ps},
            {"origin", origin}};
}

ordered_json costs_json(const coll::Parameters& parameters) {
    const model::Charges& charges = parameters.charges;
    const model::MessageCosts& m = charges.far ? charges.far->small : charges.way.small;
    return {{"copy_ps_per_byte", charges.local.copy},
            {"reduce_ps_per_byte", charges.local.reduce},
            {"step_ps", charges.local.step.ps},
            {"o_send_ps", m.send.ps},
            {"o_receive_ps", m.take.ps},
            {"L_ps", m.latency.ps},
            {"g_ps", m.gap.ps},
            {"G_ps_per_byte", m.gap_byte},
            {"origin", coll::origin_of(parameters)},
            {"text", model::to_text(charges)}};
}

}  // namespace loom::cli
