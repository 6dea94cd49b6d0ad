// The step of loom demo that runs an allreduce beside a computation, on ranks of this host and on a simulated fabric.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/demo/demo.hpp"
#include "cli/ranks.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/explain.hpp"
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

std::string run_rank() {
    setenv("LOOM_CACHE", "off", 1);  // measured now, and nothing is written outside the demo's folder
    const auto world = coll::World::open();
    const coll::Communicator comm = world->communicator();
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
    for (int round = 0; round < rounds; ++round) {
        comm.ibarrier().wait();
        alone.push_back(time_of([&] { comm.iallreduce(in, out, std::plus<>{}).wait(); }));
    }
    const double one = time_of([&] { compute(32, nullptr); }) / 32;
    pieces = std::max(1, static_cast<int>(2 * median(alone) / one));
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
                            {"allreduce_us", median(alone)},
                            {"compute_us", median(computing)},
                            {"together_us", median(together)}};
    world->close();
    return said.dump();
}

// Four hosts on a 2-ary 2-tree.
Time play(const traffic::Schedule& schedule, const model::LocalCosts& local) {
    fabric::Fabric fabric = fabric::pgft(fabric::kary_tree(2, 2));
    fabric.assign_lids();
    const routing::SwitchGraph graph(fabric);
    const routing::Tables tables = routing::find_engine("dmodk").route(graph, {}).tables;
    sim::Options options;
    options.local = local;
    const auto simulation =
        sim::make_simulation(sim::Level::packet, {&graph, &tables, fabric::place_in_order(fabric)}, schedule, options);
    (void)simulation->advance(never);
    const std::vector<Time> ends = simulation->rank_ends();
    return *std::max_element(ends.begin(), ends.end());
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
    const std::vector<std::uint32_t> hosts(ranks);
    coll::Group group;
    group.size = ranks;
    group.hosts = hosts;
    coll::Call call;
    call.what = coll::Collective::allreduce;
    call.bytes = count * sizeof(double);
    call.element = sizeof(double);
    const std::string name = explained["chosen"]["algorithm"];
    const coll::Tuning tuning{explained["chosen"]["segment"], explained["chosen"]["ways"]};
    const traffic::Schedule schedule =
        whole_schedule(coll::find_algorithm(call.what, name), group, std::span(&call, 1), tuning);
    const model::Charges charges = model::parse_charges(explained["parameters"]["text"].get<std::string>(), {});
    const model::Prediction prediction = model::walk(schedule, charges, hosts);
    const Time played = play(schedule, charges.local);
    double predicted = prediction.finish().microseconds();
    for (const ordered_json& each : explained["candidates"])
        if (each["algorithm"] == name && each["segment"] == tuning.segment && each["ways"] == tuning.ways)
            predicted = each["predicted_us"];

    const double alone = said["allreduce_us"], compute = said["compute_us"], together = said["together_us"];
    const double freed = std::clamp(1 - (together - compute) / alone, 0.0, 1.0);
    std::string text = "   " + said["text"].get<std::string>();
    for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
        text.insert(at + 1, "   ");
    demo.say("{}", text);
    Table table({{"the same schedule"}, {"time", Align::right}});
    table.row({"measured on this machine", fmt::format("{:.1f} us", alone)});
    table.row({"predicted by the model", fmt::format("{:.1f} us", predicted)});
    table.row({"played on a simulated fabric of 4 hosts", fmt::format("{:.1f} us", played.microseconds())});
    demo.show(table);
    demo.say(
        "   Beside {:.1f} us of computation both together took {:.1f} us: {:.0f} % of the allreduce was free\n"
        "   (progress: {}).\n",
        compute, together, 100 * freed, said["progress"].get<std::string>());

    const Svg picture = report::draw_schedule(
        schedule, prediction, {.title = fmt::format("allreduce of 64 KiB on 4 ranks, {}, as predicted", name)});
    write_file(demo.folder / "allreduce.svg", picture.document());
    said["predicted_us"] = predicted;
    said["simulated_us"] = played.microseconds();
    said["freed"] = freed;
    demo.sections.push_back(
        {"An allreduce beside a computation",
         fmt::format("<p>4 ranks, 64 KiB, {}: measured {:.1f} us on this machine, predicted {:.1f} us, {:.1f} us on a "
                     "simulated fabric of 4 hosts. Beside {:.1f} us of computation both took {:.1f} us: {:.0f} % of it "
                     "was free.</p>\n<figure>{}</figure>\n<pre>{}</pre>\n",
                     coll::describe(name, tuning), alone, predicted, played.microseconds(), compute, together,
                     100 * freed, picture.fragment(), Svg::escaped(said["text"].get<std::string>()))});
    said.erase("text");
    demo.result["collective"] = std::move(said);
}

}  // namespace loom::cli
