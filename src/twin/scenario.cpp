#include "loom/twin/scenario.hpp"

namespace loom::twin {

Options options_of(const sim::Setup& setup) {
    Options options;
    options.level = setup.level;
    options.simulation = setup.options;
    options.until = setup.until;
    options.faults = setup.faults;
    if (setup.repair) options.repair = *setup.repair;
    options.ranks = static_cast<std::uint32_t>(setup.ranks);
    if (setup.graph == nullptr) return options;
    options.ranks = static_cast<std::uint32_t>(setup.placement.ranks());
    options.network = setup.network();
    if (setup.level == sim::Level::message)
        for (const PortIndex host : setup.placement.hosts) options.hosts.push_back(host.value);
    for (const sim::PlacedFlow& flow : setup.background)
        options.background.push_back({flow.plan.name, flow.from, flow.to, flow.plan.bytes, flow.plan.message,
                                      flow.plan.endless, flow.plan.window, flow.plan.start, flow.plan.sl});
    options.record = {.sample = setup.sample, .ports = setup.watch};
    return options;
}

}  // namespace loom::twin
