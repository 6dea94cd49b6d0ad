#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "lines.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::bench {
namespace {

// OpenSM has no closed form: its ftree is what dmodk competes with.
std::string peer_engine(const std::string& engine) {
    return engine == "dmodk" ? "ftree" : engine;
}

bool run_opensm(const Plan& plan, const Size& size) {
    switch (plan.peers) {
        case Peers::none:
            return false;
        case Peers::some:
            return size.opensm_by_default;
        case Peers::full:
            return size.opensm_at_all;
    }
    return false;
}

struct Peer {
    double seconds = 0;
    long kilobytes = 0;
};

// OpenSM's computation for each engine, on one simulated subnet.
std::map<std::string, Peer> opensm_times(const Plan& plan, const Size& size) {
    std::map<std::string, Peer> times;
    if (!run_opensm(plan, size)) return times;
    std::ostringstream net;
    fabric::write_fabric(size.make(), net, fabric::Format::ibsim);
    peer::Subnet subnet(net.str());
    for (const std::string& name : plan.engines) {
        const std::string engine = peer_engine(name);
        if (times.contains(engine)) continue;
        peer::OpensmOptions options;
        options.engine = engine;
        options.dumps = peer::Dumps::none;
        options.timeout = peer::Seconds{plan.quick ? 30.0 : 900.0};
        // The fastest of a few, as with ours; runs that take long are not repeated.
        peer::OpensmRun run = subnet.opensm(options);
        for (int again = 0; again < 2 && run.came_up && run.wall_seconds < 20; ++again) {
            const peer::OpensmRun next = subnet.opensm(options);
            if (next.came_up && next.routing_seconds < run.routing_seconds) run = next;
        }
        if (run.came_up && run.engine_used == engine)
            times[engine] = {run.routing_seconds, run.peak_kilobytes};
        else
            fmt::print(stderr, "OpenSM's {} did not come up on {}{}\n", engine, size.name,
                       run.timed_out ? " in time" : "");
    }
    return times;
}

void route(const Size& size, const std::string& engine, unsigned threads, Measured& measured) {
    const fabric::Fabric fabric = size.make();
    measured.count(fabric);
    routing::RouteOptions options;
    options.threads = threads;
    repeat(measured, 5, [&] {
        const routing::SwitchGraph graph(fabric);
        measured.bytes = routing::find_engine(engine).route(graph, options).tables.bytes();
    });
}

}  // namespace

void measure_routing(const Plan& plan, const Sink& sink) {
    for (const Size& size : plan.sizes) {
        const auto theirs = opensm_times(plan, size);
        malloc_trim(0);  // the children's peaks begin with what this process holds
        for (const std::string& engine : plan.engines)
            for (const unsigned threads : plan.threads) {
                Line line{"routing", size.name, engine, threads, {}, {}, 0, 0, {}};
                line.measured = in_child([&](Measured& measured) { route(size, engine, threads, measured); });
                if (const auto found = theirs.find(peer_engine(engine)); found != theirs.end()) {
                    line.peer = "OpenSM " + found->first;
                    line.peer_seconds = found->second.seconds;
                    line.peer_kilobytes = found->second.kilobytes;
                }
                sink(line);
            }
    }
}

}  // namespace loom::bench
