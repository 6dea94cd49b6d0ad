// The manager beside the line-by-line reference, on generated histories of counters.
#include <gtest/gtest.h>

#include <algorithm>

#include "loom/base/random.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/manager/dcms.hpp"
#include "reference/dcms.hpp"
#include "support/living.hpp"

namespace loom::manager {
namespace {

using Reference = reference::Dcms;

// Small thresholds, so that random growth lies on both sides of them; all eight readings.
Settings random_settings(Random& random) {
    Settings settings = paper_settings();
    const auto reading = [&] { return random.below(4) == 0 ? Reading::literal : Reading::corrected; };
    settings.readings = {reading(), reading(), reading()};
    settings.sweep = milliseconds(100 + random.below(3) * 700);
    settings.congestion = 1'000;
    settings.wait = 2'000;
    settings.data = 500;
    settings.intervals = 1 + random.below(6);
    settings.low = static_cast<std::uint16_t>(random.below(3));
    settings.normal = 64;
    return settings;
}

fabric::Fabric random_case(Random& random) {
    switch (random.below(4)) {
        case 0:
            return test::Testbed().fabric;
        case 1:
            return fabric::pgft(fabric::kary_tree(2, 2 + random.below(2)));
        case 2:
            return fabric::pgft(fabric::kary_tree(3, 2));
        default: {  // switches at random, some cables doubled, some ports open, a switch cabled to itself
            fabric::Fabric fabric;
            std::vector<NodeId> switches;
            for (int i = 0; i < 4; ++i)
                switches.push_back(fabric.add_node(fabric::NodeKind::switch_, 8, "S" + std::to_string(i)));
            for (int i = 0; i < 3; ++i)
                fabric.connect(switches[i], PortNum{static_cast<std::uint8_t>(i + 1)},
                               fabric.add_node(fabric::NodeKind::host, 1, "H"), PortNum{1});
            for (int i = 0; i < 9; ++i) {
                const NodeId a = switches[random.below(4)], b = switches[random.below(4)];
                const PortNum p{static_cast<std::uint8_t>(1 + random.below(8))},
                    q{static_cast<std::uint8_t>(1 + random.below(8))};
                const bool same = a == b && p == q;
                if (!same && !fabric.port(a, p).connected() && !fabric.port(b, q).connected())
                    fabric.connect(a, p, b, q);
            }
            return fabric;
        }
    }
}

constexpr std::uint64_t never_grown = std::uint64_t{1} << 36;  // more than 60 sweeps count here

std::uint64_t around(Random& random, std::uint64_t threshold) {
    switch (random.below(6)) {
        case 0:
            return 0;
        case 1:
            return threshold;
        case 2:
            return threshold + 1;
        case 3:
            return threshold * 3;
        case 4:
            return std::uint64_t{1} << 29;
        default:
            return random.below(static_cast<std::uint32_t>(2 * threshold));
    }
}

std::set<Reference::Event> events_of(const std::vector<Decision>& decisions, const fabric::Fabric& fabric) {
    std::set<Reference::Event> result;
    const auto pair = [&](PortIndex index) {
        return std::pair<std::uint64_t, std::uint64_t>{fabric.port(index).node.value, fabric.port(index).number.value};
    };
    for (const Decision& d : decisions) {
        const auto [s, p] = pair(d.port);
        if (d.what == What::lower) result.insert({Reference::lowered, s, p});
        if (d.what == What::restore) result.insert({Reference::restored, s, p, d.intervals});
        if (d.victim == no_port) continue;
        const auto [r, q] = pair(d.victim);
        const bool drop = d.what == What::drop_victim;
        result.insert({drop ? Reference::dropped : Reference::added, s, p, r, q});
    }
    return result;
}

class AgainstTheReference : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AgainstTheReference, TheSameEventsAndRatesInEverySweep) {
    std::size_t lowered = 0, restored = 0;
    for (std::uint64_t index = 0; index < 25; ++index) {
        Random random = random_stream(GetParam(), index);
        const Settings settings = random_settings(random);
        const fabric::Fabric fabric = random_case(random);
        const std::uint32_t readable = 1 + random.below(12);  // one read in so many fails; 1 none
        Dcms manager(fabric, settings);
        Reference expected(fabric, settings);
        test::FakeParameters parameters;
        std::map<std::uint32_t, std::array<std::uint64_t, 3>> counters;
        std::map<std::uint32_t, Time> last_read;
        std::map<std::uint32_t, std::array<std::uint64_t, 3>> since;  // truth since the last read
        std::map<std::uint32_t, bool> reset;
        for (const PortIndex port : manager.wanted())
            for (std::uint64_t& counter : counters[port.value])
                counter = (random.below(2) == 0 ? never_grown : std::uint64_t{1} << 40) + random.below(1000);

        Time now;
        for (int sweep = 0; sweep < 60; ++sweep) {
            std::map<Reference::Pair, Reference::Delta> deltas;
            for (const PortIndex port : manager.wanted()) {
                auto& mine = counters[port.value];
                const std::array<std::uint64_t, 3> grown{around(random, settings.congestion),
                                                         around(random, settings.wait), around(random, settings.data)};
                const bool fails = readable > 1 && random.below(readable) == 0;
                // Once, so that it shows: what grows afterwards stays below what a counter began with.
                const bool resets =
                    sweep > 0 && random.below(20) == 0 &&
                    std::all_of(mine.begin(), mine.end(), [](std::uint64_t counter) { return counter >= never_grown; });
                if (resets) {
                    mine = {};
                    since[port.value] = {};
                    reset[port.value] = true;
                }
                for (std::size_t i = 0; i < 3; ++i) {
                    mine[i] += grown[i];
                    since[port.value][i] += grown[i];
                }
                if (fails && !resets) continue;
                Reference::Delta delta;
                if (last_read.contains(port.value)) {
                    const auto scale = [&](std::uint64_t count) {
                        const auto elapsed = static_cast<std::uint64_t>((now - last_read[port.value]).ps);
                        return static_cast<std::uint64_t>(static_cast<long double>(count) *
                                                          static_cast<std::uint64_t>(settings.sweep.ps) / elapsed);
                    };
                    const auto& truth = since[port.value];
                    delta = {true, !reset[port.value], scale(truth[0]), scale(truth[1]), scale(truth[2])};
                }
                manager.observe(port, now, {.xmit_data = mine[2], .xmit_wait = mine[1], .xmit_cong_time = mine[0]});
                last_read[port.value] = now;
                since[port.value] = {};
                reset[port.value] = false;
                const fabric::Port& where = fabric.port(port);
                deltas[{where.node.value, where.number.value}] = delta;
            }
            std::vector<Decision> decisions;

            manager.judge(now, parameters, [&](const Decision& decision) { decisions.push_back(decision); });
            const auto events = expected.sweep(deltas);

            ASSERT_EQ(events_of(decisions, fabric), events) << "case " << index << ", sweep " << sweep;
            for (const auto& [pair, rate] : expected.m) {
                const PortIndex port =
                    fabric.port_index(NodeId{pair.first}, PortNum{static_cast<std::uint8_t>(pair.second)});
                ASSERT_EQ(parameters.marking_rate(port), rate) << "case " << index << ", sweep " << sweep;
            }
            // Late by a half or a whole sweep at times; the truth above is scaled by the same.
            now += settings.sweep;
            if (random.below(5) == 0) now += picoseconds(settings.sweep.ps / (1 + random.below(2)));
        }
        lowered += manager.work().lowered;
        restored += manager.work().restored;
    }

    EXPECT_GT(lowered, 100u);
    EXPECT_GT(restored, 100u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstTheReference, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace loom::manager
