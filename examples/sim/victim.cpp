// Four flows meet at one host; a fifth goes elsewhere and only shares a cable with two of them. Packet by packet.
#include <cstdio>

#include "loom/fabric/generate.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/setup.hpp"

int main() try {
    using namespace loom;
    sim::Scenario scenario;
    scenario.fabric = fabric::pgft(fabric::kary_tree(3, 2));
    scenario.engine = "ftree";
    for (const char* line : {"flow one from host0 to host3 bytes 1MB", "flow two from host1 to host3 bytes 1MB",
                             "flow three from host7 to host3 bytes 1MB", "flow four from host8 to host3 bytes 1MB",
                             "flow victim from host2 to host6 bytes 1MB"})
        sim::take_line(scenario, line, {"victim.cpp", 0});
    const auto setup = sim::set_up(std::move(scenario));

    const auto simulation = setup->start();
    const sim::Recording seen = sim::play(*simulation, {.until = setup->until});
    for (std::size_t i = 0; i < seen.flows.size(); ++i)
        std::printf("%-6s  %5.1f Gbit/s, done after %s\n", setup->flow_name(i, seen.flows[i]).c_str(),
                    sim::gigabits(seen.flows[i], seen.end), to_string(seen.flows[i].ended).c_str());
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
