// Programs on what a scenario says.
#pragma once

#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "loom/sim/setup.hpp"
#include "loom/twin/scenario.hpp"

namespace loom::twin {

// Hosts A to E on one switch S, on ports 1 to 5, all at 4xQDR: 250 ps a byte.
inline const std::string star =
    "switch S 8\nhost A\nhost B\nhost C\nhost D\nhost E\n"
    "link A S:1 4xQDR\nlink B S:2 4xQDR\nlink C S:3 4xQDR\nlink D S:4 4xQDR\nlink E S:5 4xQDR\n";

// Two switches: A, B and C are to send to D; X and Y share the link between the switches with A.
inline const std::string testbed =
    "switch S1 24\nswitch S2 24\nhost X\nhost Y\nhost A\nhost B\nhost C\nhost D\n"
    "link A S1:12 4xSDR\nlink X S1:11 4xSDR\nlink B S2:1 4xSDR\nlink C S2:2 4xSDR\nlink D S2:23 4xSDR\n"
    "link Y S2:24 4xSDR\nlink S1:15 S2:20 4xQDR\n";

inline std::unique_ptr<sim::Setup> stage(const std::string& lines) {
    return sim::set_up(sim::parse_scenario(lines, "test", sim::Traffic::programs), sim::Traffic::programs);
}

// Without a look in vain, which would take time.
inline void await(transport::Transport& transport, const conformance::Operation& operation) {
    while (!operation.finished())
        if (!transport.progress()) transport.rest();
}

// Rank `from` sends so many bytes to rank `to`, which notes when it has them.
inline void send_one(transport::Transport& transport, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                     Time& there, transport::Message::Outcome expected = transport::Message::Outcome::done) {
    const std::uint32_t me = transport.rank().value;
    if (me != from && me != to) return;
    conformance::Operation operation;
    operation.data = conformance::content(bytes, bytes);
    if (me == to) operation.data.assign(bytes, std::byte{});
    operation.at_once = me == from
                            ? transport.send(Rank{to}, transport::Tag{1}, operation.data, operation.message)
                            : transport.receive(Rank{from}, transport::Tag{1}, operation.data, operation.message);
    await(transport, operation);
    operation.check(expected);
    if (me != to) return;
    there = now();
    if (expected == transport::Message::Outcome::done)
        conformance::require(operation.data == conformance::content(bytes, bytes), "other bytes than were sent");
}

}  // namespace loom::twin
