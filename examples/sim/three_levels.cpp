// One schedule at all three levels: packets, fair shares of links, and LogGOPS without a fabric.
#include <cstdio>

#include "loom/fabric/generate.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/setup.hpp"

int main() try {
    using namespace loom;
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow, sim::Level::message}) {
        sim::Scenario scenario;
        scenario.level = level;
        if (level != sim::Level::message) scenario.fabric = fabric::pgft(fabric::kary_tree(4, 2));
        scenario.schedule = "dissemination";
        scenario.ranks = 16;
        scenario.bytes = 64 * 1024;
        const auto setup = sim::set_up(std::move(scenario));
        const auto simulation = setup->start();
        const sim::Recording seen = sim::play(*simulation, {});
        std::printf("%-7s  %s: done after %s, %zu messages\n", sim::to_string(level).data(), setup->traffic.c_str(),
                    to_string(seen.finish()).c_str(), seen.flows.size());
    }
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
