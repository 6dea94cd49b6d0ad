#include "loom/reproduce/parts.hpp"

namespace loom::reproduce {

Parts standard_parts() {
    Parts parts;
    parts.tree = [](const fabric::TreePreset& preset) { return preset.make(); };
    parts.clos = [](const fabric::Clos& clos) { return fabric::clos(clos); };
    parts.pgft = [](const fabric::Pgft& pgft) { return fabric::pgft(pgft); };
    parts.route = [](std::string_view engine, const routing::SwitchGraph& graph, const routing::RouteOptions& options) {
        return routing::find_engine(engine).route(graph, options);
    };
    parts.contention = congestion::contention;
    parts.forwarding_index = congestion::forwarding_index;
    parts.bisection = congestion::effective_bisection;
    parts.remap = congestion::optimise_mapping;
    parts.measure_mapping = congestion::measure_mapping;
    parts.simulation = sim::make_simulation;
    parts.manage = manager::run_manager;
    return parts;
}

}  // namespace loom::reproduce
