// The step of loom demo that runs an allreduce beside a computation, on ranks of this host and on a simulated fabric.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/demo/demo.hpp"
#include "cli/ranks.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/calibration.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/coll/typed.hpp"
#include "loom/coll/world.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/model/parameters.hpp"
#include "loom/report/schedule.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

constexpr std::uint32_t ranks = 4;
constexpr std::size_t count = 8192;  // doubles: 64 KiB
constexpr int rounds = 41;

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

template <class Body>
double time_of(Body body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// A piece of some microseconds of the program's own work.
double work(double x) {
    for (int i = 0; i < 2'000; ++i) x = x * 0.999'999 + 1e-6;
    return x;
}

// What messages and copies of up to the sizes that are used cost these ranks, as text; rank 0's alone.
std::string probe(coll::World& world) {
    const std::uint32_t cores = world.transport().cores();
    const std::uint64_t limit = world.communicator().explain(coll::Collective::barrier, 0).parameters.charges.way.limit;
    std::vector<coll::Probe> wanted = coll::probes(world.size(), cores);
    std::erase_if(wanted, [](const coll::Probe& each) { return each.bytes > 4 * count * sizeof(double); });
    const std::vector<coll::Probed> probed = coll::run_probes(world, wanted, 24, milliseconds(8));
    return probed.empty() ? std::string() : model::to_text(coll::calibrated(probed, world.size(), cores, limit));
}

std::string run_rank() {
    setenv("LOOM_CACHE", "off", 1);  // measured now, and nothing is written outside the demo's folder
    const auto world = coll::World::open();
    const coll::Communicator comm = world->communicator();
    const std::string costs = probe(*world);
    const std::vector<double> in(count, comm.rank().value + 1.0);
    std::vector<double> out(count);
    const coll::Explanation e = comm.explain(coll::Collective::allreduce, count * sizeof(double));
    std::vector<double> alone, together, computing;
    volatile double result = 1;
    const auto compute = [&](int pieces, coll::Request* beside) {
        for (int i = 0; i < pieces; ++i) {
            result = work(result);
            if (beside && !beside->finished()) (void)beside->test();
        }
    };
    int pieces = 1;
    coll::Rounds timer(*world);
    const coll::RoundTimes times =
        timer.run([&] { return comm.iallreduce(in, out, std::plus<>{}); }, 8, rounds, milliseconds(50));
    for (const Time time : times.last()) alone.push_back(time.microseconds());
    // Others have no times: all shall compute alike.
    double typical = alone.empty() ? 0 : median(alone);
    comm.ibroadcast(std::span(&typical, 1), Rank{0}).wait();
    const double one = time_of([&] { compute(32, nullptr); }) / 32;
    pieces = std::max(1, static_cast<int>(2 * typical / one));
    for (int round = 0; round < rounds; ++round) {
        comm.ibarrier().wait();
        computing.push_back(time_of([&] { compute(pieces, nullptr); }));
        comm.ibarrier().wait();
        together.push_back(time_of([&] {
            coll::Request request = comm.iallreduce(in, out, std::plus<>{});
            compute(pieces, &request);
            request.wait();
        }));
    }
    const bool right = std::all_of(out.begin(), out.end(), [](double x) { return x == ranks * (ranks + 1) / 2; });
    const ordered_json said{{"right", right},
                            {"explain", ordered_json::parse(e.json())},
                            {"text", e.text()},
                            {"progress", world->progress_state().why},
                            {"allreduce_us", typical},
                            {"costs", costs},
                            {"compute_us", median(computing)},
                            {"together_us", median(together)}};
    world->close();
    return said.dump();
}

struct Played {
    coll::Forecast forecast;
    Time time;  // at packet level
};

// The same algorithm on four hosts of a 2-ary 2-tree: other wires, another machine. The model and the packet level have
// one schedule and one kind of link, and neither counts what a core takes for a message, which the packet level cannot.
Played play(const coll::UniformShape& shape, const coll::Planned& planned, coll::Parameters parameters) {
    fabric::Pgft tree = fabric::kary_tree(2, 2);
    tree.rate = *fabric::parse_rate("4xEDR");
    fabric::Fabric fabric = fabric::pgft(tree);
    fabric.assign_lids();
    const routing::SwitchGraph graph(fabric);
    const routing::Tables tables = routing::find_engine("dmodk").route(graph, {}).tables;
    coll::UniformShape apart = shape;
    apart.per_host = 1;
    const coll::UniformCall call(apart);
    parameters.charges = model::with_link(parameters.charges, {.megabits = tree.rate.megabits()});
    model::Charges& wires = parameters.charges;
    wires.host_cores = 0;
    wires.call = Time{};
    wires.waits_for = model::Large::nothing;
    for (model::MessageCosts* costs : {&wires.far->small, &wires.far->large}) {
        costs->send = costs->send_first = costs->take = Time{};
        costs->take_byte = 0;
    }
    Played played{coll::forecast(call, planned, parameters), {}};
    sim::Options options;
    options.local = played.forecast.local;
    const auto simulation = sim::make_simulation(sim::Level::packet, {&graph, &tables, fabric::place_in_order(fabric)},
                                                 played.forecast.schedule, options);
    (void)simulation->advance(never);
    for (const Time end : simulation->rank_ends()) played.time = std::max(played.time, end);
    return played;
}

}  // namespace

void demo_collective(Demo& demo) {
    demo.heading("An allreduce beside a computation, on 4 ranks",
                 {"loom coll explain allreduce --bytes 64KiB -n 4", "loom measure loggp -n 4"});
    ordered_json said;
    try {
        said = ordered_json::parse(ask_ranks(ranks, [](Rank) { return run_rank(); }));
    } catch (const Error& error) {  // ranks that wait for one another on a busy machine; the other steps stand
        demo.say("   Not shown: {}.\n", error.what());
        demo.result["collective"] = {{"error", error.what()}};
        return;
    }
    const ordered_json& explained = said["explain"];
    coll::UniformShape shape;
    shape.what = coll::Collective::allreduce;
    shape.ranks = ranks;
    shape.bytes = count * sizeof(double);
    shape.element = sizeof(double);
    const std::string name = explained["chosen"]["algorithm"];
    const coll::Tuning tuning{explained["chosen"]["segment"], explained["chosen"]["ways"]};
    const coll::UniformCall call(shape);
    const coll::Planned planned = coll::plan_named(call, name, tuning);
    coll::Parameters parameters;
    parameters.charges = model::parse_charges(said["costs"].get<std::string>(), {});
    const coll::Forecast here = coll::forecast(call, planned, parameters);
    const Played there = play(shape, planned, parameters);
    const double predicted = here.time().microseconds(), wires = there.forecast.time().microseconds(),
                 played = there.time.microseconds();

    const double alone = said["allreduce_us"], compute = said["compute_us"], together = said["together_us"];
    const double freed = std::clamp(1 - (together - compute) / alone, 0.0, 1.0);
    std::string text = "   " + said["text"].get<std::string>();
    for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
        text.insert(at + 1, "   ");
    demo.say("{}", text);
    Table table({{"the same schedule"}, {"where"}, {"time", Align::right}});
    table.row({"measured", "4 ranks on this machine", fmt::format("{:.1f} us", alone)});
    table.row({"predicted by the model", "these", fmt::format("{:.1f} us", predicted)});
    table.row({"predicted by the model", "4 hosts, 100 Gbit/s", fmt::format("{:.1f} us", wires)});
    table.row({"played, every packet", "these", fmt::format("{:.1f} us", played)});
    demo.show(table);
    demo.say(
        "   Ranks of this machine share its cores and memory; those of the 4 hosts have a core each, wires "
        "between\n   them, and messages that cost cores nothing.\n");
    demo.say(
        "   Beside {:.1f} us of computation both together took {:.1f} us: {:.0f} % of the allreduce was free\n"
        "   (progress: {}).\n",
        compute, together, 100 * freed, said["progress"].get<std::string>());

    const Svg picture =
        report::draw_schedule(here.schedule, here.prediction,
                              {.title = fmt::format("allreduce of 64 KiB on 4 ranks, {}, as predicted", name)});
    write_file(demo.folder / "allreduce.svg", picture.document());
    said["predicted_us"] = predicted;
    said["predicted_on_hosts_us"] = wires;
    said["simulated_us"] = played;
    said["freed"] = freed;
    demo.sections.push_back(
        {"An allreduce beside a computation",
         fmt::format("<p>4 ranks, 64 KiB, {}: measured {:.1f} us on this machine, predicted {:.1f} us; on 4 hosts "
                     "with 100 Gbit/s predicted {:.1f} us and played {:.1f} us. Beside {:.1f} us of computation both "
                     "took {:.1f} us: {:.0f} % of it "
                     "was free.</p>\n<figure>{}</figure>\n<pre>{}</pre>\n",
                     coll::describe(name, tuning), alone, predicted, wires, played, compute, together, 100 * freed,
                     picture.fragment(), Svg::escaped(said["text"].get<std::string>()))});
    said.erase("text");
    demo.result["collective"] = std::move(said);
}

}  // namespace loom::cli
