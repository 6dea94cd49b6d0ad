#include <fmt/format.h>
#include <malloc.h>

#include <sstream>

#include "lines.hpp"
#include "loom/base/table.hpp"
#include "loom/congestion/bisection.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "loom/traffic/catalogue.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::bench {
namespace {

struct Routed {
    fabric::Fabric fabric;
    routing::SwitchGraph graph;
    routing::Tables tables;

    explicit Routed(const Size& size)
        : fabric(size.make()), graph(fabric), tables(routing::find_engine("ftree").route(graph, {}).tables) {}
    Routed(const Routed&) = delete;
    Routed& operator=(const Routed&) = delete;
};

// Reachability, hop histogram and credit loops of all pairs of hosts.
void check(const Size& size, unsigned threads, Measured& measured) {
    const Routed routed(size);
    measured.count(routed.fabric);
    routing::CheckOptions options;
    options.threads = threads;
    repeat(measured, 3, [&] {
        const routing::CheckReport report = routing::check(routed.graph, routed.tables, options);
        measured.ok = report.ok();
        measured.amount = static_cast<double>(report.host_pairs);
    });
}

peer::IbdmchkRun run_ibdmchk(const Size& size) {
    std::ostringstream net;
    fabric::write_fabric(size.make(), net, fabric::Format::ibsim);
    peer::Subnet subnet(net.str());
    peer::OpensmOptions options;
    options.dumps = peer::Dumps::files;
    options.timeout = peer::Seconds{900};
    if (!subnet.opensm(options).came_up) return {};
    return subnet.ibdmchk(peer::Seconds{1800});
}

void check_lines(const Plan& plan, const Sink& sink) {
    for (const Size& size : plan.sizes) {
        const bool beside =
            plan.peers == Peers::full ? size.opensm_at_all : plan.peers == Peers::some && size.opensm_by_default;
        const peer::IbdmchkRun theirs = beside ? run_ibdmchk(size) : peer::IbdmchkRun{};
        malloc_trim(0);  // the children's peaks begin with what this process holds
        for (const unsigned threads : plan.threads) {
            Line line{"check", size.name, "check all pairs", threads, {}, {}, 0, 0, {}};
            line.measured = in_child([&](Measured& measured) { check(size, threads, measured); });
            line.rate = grouped(static_cast<std::size_t>(line.measured.amount)) + " pairs";
            if (theirs.finished) {
                line.peer = "ibdmchk";
                line.peer_seconds = theirs.outcome.seconds;
                line.peer_kilobytes = theirs.outcome.peak_kilobytes;
            }
            sink(line);
        }
    }
}

// Random bisect patterns a second, paths found beforehand included.
void bisect(const Size& size, unsigned threads, std::size_t patterns, Measured& measured) {
    const Routed routed(size);
    measured.count(routed.fabric);
    congestion::BisectionOptions options;
    options.threads = threads;
    options.samples = patterns;
    congestion::RouteChoice choice;
    choice.threads = threads;
    repeat(measured, 3, [&] {
        const congestion::Routes routes(routed.graph, routed.tables, fabric::place_in_order(routed.fabric), choice);
        measured.amount = congestion::effective_bisection(routes, options).bandwidth.count();
    });
}

void shift(const Size& size, unsigned threads, Measured& measured) {
    const Routed routed(size);
    measured.count(routed.fabric);
    congestion::ContentionOptions options;
    options.threads = threads;
    congestion::RouteChoice choice;
    choice.threads = threads;
    repeat(measured, 5, [&] {
        const congestion::Routes routes(routed.graph, routed.tables, fabric::place_in_order(routed.fabric), choice);
        const auto pattern = traffic::make_pattern("shift", routes.ranks());
        const auto result = congestion::contention(routes, *pattern, options);
        measured.amount = static_cast<double>(result.flows);
        measured.ok = result.worst == 1;
    });
}

}  // namespace

void measure_analysis(const Plan& plan, const Sink& sink) {
    check_lines(plan, sink);
    const Size bisect_size = plan.quick ? plan.sizes.front() : all_sizes()[1];
    const Size shift_size = plan.quick ? plan.sizes.front() : twelve_ary_three();
    const std::size_t patterns = plan.quick ? 100 : 10000;
    for (const unsigned threads : plan.threads) {
        Line line{"bisect", bisect_size.name, "random bisect", threads, {}, {}, 0, 0, {}};
        line.measured = in_child([&](Measured& measured) { bisect(bisect_size, threads, patterns, measured); });
        line.rate = grouped(static_cast<std::size_t>(line.measured.amount / line.measured.seconds)) + " patterns/s";
        sink(line);
    }
    for (const unsigned threads : plan.threads) {
        Line line{"shift", shift_size.name, "all shift stages", threads, {}, {}, 0, 0, {}};
        line.measured = in_child([&](Measured& measured) { shift(shift_size, threads, measured); });
        line.rate = grouped(static_cast<std::size_t>(line.measured.amount)) + " routes";
        sink(line);
    }
}

}  // namespace loom::bench
