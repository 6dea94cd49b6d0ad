// What the clock says about round trips, where something is known of it: others on the machine make trips longer, never
// shorter, so that a partner who takes a while bounds them from below.
#include "coll/measuring.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "loom/transport/open.hpp"

namespace loom::coll {
namespace {

TEST(Measuring, TakesTheLowerQuartile) {
    std::vector<Time> eight, one{Time{7}};
    for (const int ps : {80, 20, 70, 10, 60, 30, 50, 40}) eight.push_back(Time{ps});

    EXPECT_EQ(typical(eight), Time{30});
    EXPECT_EQ(typical(one), Time{7});
}

// Serves as a rank should, but for one thing: it thinks for so long before it answers.
void serve_slowly(Talk& talk, std::chrono::milliseconds thought) {
    for (;;) {
        Command command;
        talk.receive(Rank{0}, Talk::About::command, std::as_writable_bytes(std::span(&command, 1)));
        if (command.kind != Command::Kind::rounds) return;
        std::vector<std::byte> room(command.bytes);
        talk.send(Rank{0}, Talk::About::ready, {});
        for (std::uint32_t round = 0; round < command.rounds; ++round) {
            for (std::uint32_t i = 0; i < command.count; ++i) talk.receive(Rank{0}, Talk::About::data, room);
            std::this_thread::sleep_for(thought);
            talk.send(Rank{0}, Talk::About::answer, room);
        }
    }
}

TEST(Measuring, SeesHowLongAPartnerTakes) {
    constexpr std::chrono::milliseconds thought{5};
    const Time least{std::chrono::nanoseconds(thought).count() * 1000};
    Trip one, four;

    transport::run_local(2, [&](transport::Transport& transport) {
        Talk talk(transport);
        if (transport.rank() == Rank{1}) return serve_slowly(talk, thought);
        const std::unique_ptr<Trips> meter = make_meter(talk, Rank{1});
        one = meter->trip(1, 8, 5, false);
        four = meter->trip(4, 8, 5, false);
        const Command end{};
        talk.send(Rank{1}, Talk::About::command, std::as_bytes(std::span(&end, 1)));
    });

    for (const Trip& trip : {one, four}) {
        EXPECT_GE(trip.whole, least);
        EXPECT_GT(trip.first, Time{});
        EXPECT_LT(trip.first, trip.whole);
    }
    EXPECT_EQ(one.rest, Time{});
    EXPECT_GT(four.rest, Time{});
    EXPECT_LE(four.first + 3 * four.rest, four.whole + four.whole);  // quartiles of parts, each for itself
}

TEST(Measuring, FindsTheEagerLimitOfATransport) {
    std::uint64_t limit = 0;

    transport::run_local(2, [&](transport::Transport& transport) {
        Talk talk(transport);
        if (transport.rank() == Rank{1}) {
            (void)serve(talk);
            return;
        }
        limit = make_meter(talk, Rank{1})->eager_limit();
        const Command end{};
        talk.send(Rank{1}, Talk::About::command, std::as_bytes(std::span(&end, 1)));
        talk.send(Rank{1}, Talk::About::content, {});
    });

    EXPECT_LE(limit, 8192u);  // what the local transport copies into its parcels
    EXPECT_GE(limit, 8192u - 8192u / 16);
}

}  // namespace
}  // namespace loom::coll
