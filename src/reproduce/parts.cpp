#include "loom/reproduce/parts.hpp"

#include "loom/coll/algorithm.hpp"
#include "reproduce/dcuda.hpp"
#include "reproduce/penalty.hpp"

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
    parts.barrier = [](std::uint32_t ranks, std::uint32_t ways) {
        const std::vector<std::uint32_t> hosts(ranks);
        coll::Group group;
        group.size = ranks;
        group.hosts = hosts;
        const coll::Call call;
        return whole_schedule(find_algorithm(coll::Collective::barrier, "dissemination"), group, std::span(&call, 1),
                              {0, ways});
    };
    parts.walk = [](const traffic::Schedule& schedule, const model::Charges& charges) {
        return model::walk(schedule, charges);
    };
    parts.penalty_rounds = penalty_rounds;
#ifdef WITH_DCUDA
    parts.device_ping = measure_device_ping;
    parts.device_queue = measure_device_queue;
#endif
    return parts;
}

}  // namespace loom::reproduce
