// What lies at the ends of things: the last ports of a word, messages of one moment.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

// Inputs are kept as bits, 64 to a word: the first and the last of each word have their turn like all others, with and
// without inputs in the words between.
TEST(PacketEdges, EveryPortOfAWideSwitchHasItsTurn) {
    const std::vector<std::vector<unsigned>> choices{{64, 128}, {63, 64}, {1, 192}, {64, 192, 253}, {127, 128, 191}};
    for (const std::vector<unsigned>& senders : choices) {
        std::string lines = "switch S 254\nhost sink\nlink sink S:254 4xQDR\n";
        for (const unsigned port : senders)
            lines += fmt::format("host h{0}\nlink h{0} S:{0} 4xQDR\nflow f{0} from h{0} to sink bytes 200kB\n", port);
        const Bed bed(lines);
        const auto engine = bed.start();

        const State state = engine->advance(never);

        EXPECT_EQ(state, State::finished) << testing::PrintToString(senders);
        EXPECT_EQ(engine->audit(), "");
        // Packets in turn: all end together, but for one packet (520 ns) each.
        const auto flows = engine->flows();
        for (const Flow& flow : flows)
            EXPECT_LE(std::abs((flow.ended - flows[0].ended).ps), 520'000 * static_cast<std::int64_t>(senders.size()));
    }
}

// 102 bytes and 26 of headers are two blocks of 64: a floor of two marks them, one of three does not.
TEST(PacketEdges, APacketAsLargeAsTheFloorIsMarked) {
    const Bed bed(star +
                  "flow a from A to C bytes 20400 message 102 window 50\n"
                  "flow b from B to C bytes 20400 message 102 window 50\ncongestion threshold 15\ncongestion cct 0\n");
    const auto marked = [&](std::uint8_t floor) {
        bed.options().congestion.switches.packet_size = floor;
        const auto engine = bed.start();
        EXPECT_EQ(engine->advance(never), State::finished);
        return engine->counters(bed.port("S:3")).marked_fecn;
    };

    EXPECT_GT(marked(2), 100u);
    EXPECT_EQ(marked(3), 0u);
}

// A long message and behind it, of the same moment, a short one to the same rank: in that order at every level that has
// a wire. 1 MB at 32 Gbit/s takes 250 us.
TEST(Order, MessagesOfOneMomentLeaveAsTheyWereGiven) {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 1'000'000, 1);
    builder.send(Rank{0}, Rank{1}, 8, 2);
    builder.receive(Rank{1}, Rank{0}, 1'000'000, 1);
    const auto behind = builder.receive(Rank{1}, Rank{0}, 8, 2);
    builder.require(Rank{1}, builder.compute(Rank{1}, seconds(1)), behind);
    const Ranked ranked({"A", "B"}, builder.build());

    for (const Level level : {Level::packet, Level::flow}) {
        const auto sim = make_simulation(level, ranked.network, ranked.schedule, ranked.options);

        EXPECT_EQ(sim->advance(never), State::finished);

        EXPECT_GT(sim->rank_ends()[1], seconds(1) + microseconds(250)) << to_string(level);
    }
}

}  // namespace
