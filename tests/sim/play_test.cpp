#include "loom/sim/play.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "loom/sim/setup.hpp"

namespace loom::sim {
namespace {

using testing::ElementsAre;

// One host sends to another for three milliseconds.
std::unique_ptr<Setup> one_flow(const std::string& level) {
    return set_up(parse_scenario("level " + level +
                                     "\nswitch S 8\nhost A\nhost B\nlink A S:1 4xSDR\nlink B S:2 4xSDR\n"
                                     "flow A-B from A to B bytes 3MB\n" +
                                     (level == "packet" ? "congestion threshold 15\n" : ""),
                                 "test"));
}

TEST(Play, RunsToTheEndWithoutAnybodyAtTheControls) {
    const auto setup = one_flow("packet");
    const auto simulation = setup->start();

    const Recording seen = play(*simulation, {});

    EXPECT_EQ(seen.state, State::finished);
    EXPECT_EQ(seen.flows.at(0).delivered, 3'000'000u);
}

TEST(Play, StopsWhereItIsTold) {
    const auto setup = one_flow("packet");
    const auto simulation = setup->start();

    const Recording seen = play(*simulation, {.until = milliseconds(1)});

    EXPECT_EQ(seen.state, State::running);
    EXPECT_NEAR(seen.end.seconds(), 1e-3, 1e-6);
}

TEST(Play, WhoIsAtTheControlsReadsSleepsAndSetsRates) {
    const auto setup = one_flow("packet");
    const auto simulation = setup->start();
    const PortIndex port = setup->fabric.port_index(NodeId{0}, PortNum{2});
    std::vector<double> looked;  // milliseconds
    std::uint64_t words = 0;
    PlayOptions options;
    options.control_from = milliseconds(1);
    options.control = [&](fabric::CounterSource& source, fabric::CongestionParameters& parameters,
                          fabric::Clock& clock) {
        looked.push_back(clock.now().seconds() * 1e3);
        EXPECT_TRUE(clock.sleep_until(milliseconds(2)));
        looked.push_back(clock.now().seconds() * 1e3);
        std::array<fabric::PortCounters, 1> counters;
        source.read(std::array{port}, counters);
        words = counters[0].xmit_data;
        parameters.set_marking_rate(port, 7);
    };

    const Recording seen = play(*simulation, options);

    EXPECT_EQ(seen.state, State::finished);
    EXPECT_THAT(looked, ElementsAre(testing::DoubleNear(1, 1e-3), testing::DoubleNear(2, 1e-3)));
    EXPECT_GT(words, 0u);
    EXPECT_EQ(simulation->congestion_parameters()->marking_rate(port), 7);
}

TEST(Play, NobodyIsAtTheControlsWhereThereAreNone) {
    const auto setup = one_flow("flow");
    const auto simulation = setup->start();
    bool called = false;

    const Recording seen = play(*simulation, {.control = [&](auto&, auto&, auto&) { called = true; }});

    EXPECT_EQ(seen.state, State::finished);
    EXPECT_FALSE(called);
}

}  // namespace
}  // namespace loom::sim
