// Collectives while cables of a tree fail: the right answers, late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "loom/base/random.hpp"
#include "virtual/stage.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using transport::Transport;

// Everybody sends everybody else something of its own.
void all_to_all(Transport& transport, std::size_t bytes) {
    const std::uint32_t me = transport.rank().value, size = transport.size();
    conformance::Operations operations(transport);
    std::vector<std::pair<std::uint32_t, const conformance::Operation*>> received;
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t to = (me + step) % size, from = (me + size - step) % size;
        (void)operations.send(Rank{to}, 9, conformance::content(me * size + to, bytes));
        received.emplace_back(from, &operations.receive(Rank{from}, 9, bytes));
    }
    operations.wait_and_check();
    for (const auto& [from, operation] : received)
        EXPECT_EQ(operation->data, conformance::content(from * size + me, bytes));
}

// Cables between switches of the tree, as many as asked for.
std::vector<sim::Fault> some_cables(const Tree& tree, std::size_t count, std::uint64_t seed, Time until) {
    std::vector<PortIndex> cables;
    for (std::uint32_t i = 0; i < tree.fabric.port_count(); ++i) {
        const fabric::Port& port = tree.fabric.port(PortIndex{i});
        if (!port.connected() || port.peer.value < i) continue;
        const auto is_switch = [&](NodeId node) { return tree.fabric.node(node).kind == fabric::NodeKind::switch_; };
        if (is_switch(port.node) && is_switch(tree.fabric.port(port.peer).node)) cables.push_back(PortIndex{i});
    }
    Random random(seed);
    std::vector<sim::Fault> faults;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(until.ps)));
        sim::Fault fault;
        fault.kind = sim::Fault::Kind::link;
        fault.at = Time{at};
        fault.port = cables[random.below(static_cast<std::uint32_t>(cables.size()))];
        faults.push_back(fault);
    }
    return faults;
}

// 128 ranks, so that two threads are two. Buffers of four packets: many wait when a cable goes.
TEST(ManyFaults, AnAllToAllComesToItsEnd) {
    const Tree tree(128, 2);
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            Options options;
            options.level = level;
            options.network = tree.network();
            options.faults = some_cables(tree, 5, seed, microseconds(60));
            options.repair = microseconds(20);
            options.simulation.packet.retries = {.after = microseconds(15)};
            options.simulation.packet.buffer_bytes = 8 << 10;
            const auto played = [&](unsigned threads) {
                options.simulation.threads = threads;
                const Result result = run(options, [](Transport& transport) { all_to_all(transport, 1'500); });
                EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
                return std::tuple(result.ranks, result.work.bytes, result.work.events, result.events);
            };
            const auto first = played(1);
            EXPECT_THAT(std::get<3>(first), testing::Contains(testing::HasSubstr("tables repaired")));
            EXPECT_EQ(std::get<1>(first), 128u * 127 * 1'500);  // each byte counted once
            EXPECT_EQ(played(2), first);
        }
    }
}

}  // namespace
}  // namespace loom::twin
