// How messages of one host that were posted together share its link.
#include <gtest/gtest.h>

#include "loom/sim/setup.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

// Host A sends 10 packets to B and 10 to C, posted at the same time.
std::vector<Flow> play(const char* turns) {
    const std::string lines =
        "switch S 8\nhost A\nhost B\nhost C\nlink A S:1 4xSDR\nlink B S:2 4xSDR\nlink C S:3 4xSDR\n"
        "flow A-B from A to B bytes 20480 message 20480\nflow A-C from A to C bytes 20480 message 20480\nhost-turns ";
    const auto setup = set_up(parse_scenario(lines + turns + "\n", "test"));
    const auto simulation = setup->start();
    EXPECT_EQ(simulation->advance(never), State::finished);
    return simulation->flows();
}

TEST(HostTurns, PacketsOfTwoMessagesAlternate) {
    const std::vector<Flow> flows = play("packet");

    const Time apart = flows[1].ended - flows[0].ended;

    EXPECT_NEAR(apart.microseconds(), 4.1, 0.1);  // two packets of 2 KiB at 8 Gbit/s: A-B had begun when A-C came
}

TEST(HostTurns, MessagesFollowEachOther) {
    const std::vector<Flow> flows = play("message");

    const Time apart = flows[1].ended - flows[0].ended;

    EXPECT_NEAR(apart.microseconds(), 20.7, 0.3);  // ten packets
}

}  // namespace
