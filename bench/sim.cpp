#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include "lines.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::bench {
namespace {

std::vector<Size> sim_sizes(const Plan& plan) {
    if (plan.quick) return plan.sizes;
    std::vector<Size> sizes{
        {"64, 3-level 8-port", {.children = {4, 4, 4}, .parents = {1, 4, 4}, .radix = 8}},
        {"1024, 3-level 16-port", {.children = {8, 8, 16}, .parents = {1, 8, 8}, .radix = 16}},
        {"3456, 3-level 24-port", {.children = {12, 12, 24}, .parents = {1, 12, 12}, .radix = 24}},
        {"11664, 3-level 36-port", {.children = {18, 18, 36}, .parents = {1, 18, 18}, .radix = 36}},
    };
    std::erase_if(sizes, [&](const Size& size) { return !plan.takes(size); });
    return sizes;
}

// Times `play` on a fresh simulation each time; what comes before is not counted.
void repeat_run(Measured& measured, unsigned most, const std::function<std::unique_ptr<sim::Simulation>()>& make,
                const std::function<void(sim::Simulation&)>& play) {
    std::vector<double> seconds;
    double spent = 0;
    while (seconds.empty() || (seconds.size() < most && spent < 2)) {
        const auto simulation = make();
        const std::clock_t processor = std::clock();
        const auto begin = std::chrono::steady_clock::now();
        play(*simulation);
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        const double cpu = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
        measured.cpu = seconds.size() == 1 ? cpu : std::min(measured.cpu, cpu);
        spent += seconds.back();
    }
    std::sort(seconds.begin(), seconds.end());
    measured.seconds = seconds.front();
    measured.median = seconds[seconds.size() / 2];
    measured.repetitions = static_cast<unsigned>(seconds.size());
}

struct Case {
    const char* what;
    const char* unit;
    sim::Level level;
    const char* pattern;
    std::uint64_t bytes;  // a message; 0: so many that all hosts together send 2 million packets
    traffic::Parting parting;
    bool control = false;  // congestion control at work
    std::size_t most_hosts = SIZE_MAX;
};
constexpr std::uint64_t two_million_packets = std::uint64_t{4} << 30;

// The pattern's messages on the tree, until the last has arrived, or (for an allocation) until all have their first
// rate.
void play(const Size& size, const Case& c, bool allocation, unsigned threads, Measured& measured) {
    fabric::Fabric fabric;
    std::unique_ptr<routing::SwitchGraph> graph;
    routing::Tables tables;
    sim::Network network;
    const std::size_t hosts = std::stoul(size.name);
    if (c.level != sim::Level::message) {
        fabric = size.make();
        graph = std::make_unique<routing::SwitchGraph>(fabric);
        tables = routing::route_dmodk(*graph, {}).tables;
        network = {graph.get(), &tables, fabric::place_in_order(fabric)};
        measured.count(fabric);
    }
    measured.hosts = hosts;
    const auto pattern = traffic::make_pattern(c.pattern, hosts);
    const std::uint64_t bytes = c.bytes != 0 ? c.bytes : two_million_packets / hosts / 4096 * 4096;
    const traffic::Schedule schedule = traffic::from_pattern(*pattern, bytes, c.parting);
    measured.bytes = schedule.bytes();
    sim::Options options;
    options.threads = threads;
    if (allocation) options.flow.host_delay = Time{};
    if (c.control) {
        options.packet.congestion.switches = {.threshold = 15, .marking_rate = 128};
        options.packet.congestion.table = sim::halving_table();
    }
    repeat_run(
        measured, 5, [&] { return make_simulation(c.level, network, schedule, options); },
        [&](sim::Simulation& simulation) {
            const sim::State state = simulation.advance(allocation ? Time{} : never);
            const auto work = simulation.work();
            measured.amount = static_cast<double>(c.level == sim::Level::packet ? work.packets
                                                  : allocation                  ? hosts
                                                                                : work.events);
            measured.ok = allocation || state == sim::State::finished;
        });
}

}  // namespace

void measure_sim(const Plan& plan, const Sink& sink) {
    using sim::Level;
    using traffic::Parting;
    const Case cases[] = {
        {"flow: one allocation", "streams/s", Level::flow, "permutation:1", 1 << 20, Parting::own},
        {"flow: permutations", "events/s", Level::flow, "permutation:4", 1 << 20, Parting::own},
        {"packet: permutation", "packets/s", Level::packet, "permutation:1", 0, Parting::own},
        {"packet: permutation, marked", "packets/s", Level::packet, "permutation:1", 0, Parting::own, true},
        {"packet: all-to-all", "packets/s", Level::packet, "shift", 16 << 10, Parting::own, false, 1024},
        {"message: dissemination", "events/s", Level::message, "dissemination", 8, Parting::own},
    };
    for (const Size& size : sim_sizes(plan))
        for (const Case& c : cases)
            for (const unsigned threads : plan.threads) {
                if (threads != plan.threads.front() && c.level != Level::packet) continue;
                if (std::stoul(size.name) > c.most_hosts) continue;
                Line line{"sim", size.name, c.what, threads, {}, {}, 0, 0, {}};
                const bool allocation = &c == &cases[0];
                line.measured = in_child([&](Measured& m) { play(size, c, allocation, threads, m); });
                if (line.measured.seconds > 0)
                    line.rate = fmt::format(
                        "{} {}", grouped(static_cast<std::size_t>(line.measured.amount / line.measured.seconds)),
                        c.unit);
                sink(line);
            }
}

}  // namespace loom::bench
