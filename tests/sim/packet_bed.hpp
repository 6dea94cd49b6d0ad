// A few hosts and switches as lines of a scenario, at packet level, with everything inside within reach.
#pragma once

#include <memory>
#include <string>

#include "loom/base/error.hpp"
#include "loom/sim/setup.hpp"
#include "sim/packet/engine.hpp"

namespace loom::sim {

// Hosts A to E on one switch S, on ports 1 to 5, all at 4xQDR: 250 ps a byte.
inline const std::string star =
    "switch S 8\nhost A\nhost B\nhost C\nhost D\nhost E\n"
    "link A S:1 4xQDR\nlink B S:2 4xQDR\nlink C S:3 4xQDR\nlink D S:4 4xQDR\nlink E S:5 4xQDR\n";

// Flow number i goes from rank 2i to rank 2i + 1.
struct Bed {
    std::unique_ptr<Setup> setup;

    explicit Bed(const std::string& lines) : setup(set_up(parse_scenario("level packet\n" + lines, "test"))) {}
    explicit Bed(std::unique_ptr<Setup> given) : setup(std::move(given)) {}

    [[nodiscard]] PacketOptions& options() const { return setup->options.packet; }
    [[nodiscard]] std::unique_ptr<packet::Engine> start() const {
        return std::make_unique<packet::Engine>(setup->network(), setup->schedule, setup->options);
    }
    // "S:4"; a host's only port is "A:1".
    [[nodiscard]] PortIndex port(const std::string& name) const {
        const auto colon = name.find(':');
        for (std::uint32_t i = 0; i < setup->fabric.node_count(); ++i)
            if (setup->fabric.node(NodeId{i}).name == name.substr(0, colon))
                return setup->fabric.port_index(NodeId{i},
                                                PortNum{static_cast<std::uint8_t>(std::stoi(name.substr(colon + 1)))});
        throw Error("no such node");
    }
};

// Ranks on the star's hosts A, B, C... in turn, and a schedule of one's own.
struct Ranked {
    Bed bed{star + "flow none from A to B bytes 0\n"};
    traffic::Schedule schedule;
    Options options;
    Network network;

    Ranked(const std::vector<std::string>& hosts, traffic::Schedule the_schedule) : schedule(std::move(the_schedule)) {
        network = bed.setup->network();
        network.placement.hosts.clear();
        for (const std::string& host : hosts)
            network.placement.hosts.push_back(host.empty() ? no_port : bed.port(host + ":1"));
    }
    [[nodiscard]] std::unique_ptr<Simulation> start() const {
        return make_simulation(Level::packet, network, schedule, options);
    }
};

}  // namespace loom::sim
