// Times of the message level, each derived by hand. All in nanoseconds; unless a test says otherwise
//   L = 10, o = 3, g = 5, G = 2 a byte, O = 1 a byte, S = 100 bytes,
// so that a message of s bytes whose send begins at t
//   keeps the sender's core until t + 3 + (s-1) and its adapter until t + 5 + 2(s-1),
//   arrives with its first byte at t + 13, and, taken in from u >= t + 13 on,
//   keeps the receiver's core until u + 3 + 2(s-1) and its adapter until u + 5 + 2(s-1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/traffic/goal.hpp"
#include "loom/traffic/schedules.hpp"
#include "sim/engines.hpp"

namespace loom::sim {
namespace {

using testing::Each;
using testing::ElementsAre;

Options small_numbers() {
    Options options;
    options.message.parameters = {
        .L = nanoseconds(10), .o = nanoseconds(3), .g = nanoseconds(5), .G = 2000, .O = 1000, .S = 100};
    return options;
}

// When each rank was last busy, in nanoseconds.
std::vector<double> ends(const traffic::Schedule& schedule, const Options& options = small_numbers()) {
    const auto simulation = make_message_simulation(schedule, options);
    EXPECT_EQ(simulation->advance(never), State::finished);
    std::vector<double> result;
    for (const Time time : simulation->rank_ends()) result.push_back(time.nanoseconds());
    return result;
}

traffic::Schedule goal(std::string_view text) {
    return traffic::read_goal(text, "test");
}

TEST(MessageByHand, Ring) {
    // 4 bytes, two rounds. All ranks do the same: the send at 0 keeps the core until 6 and the adapter until 11; the
    // message comes at 13, the core takes it in until 13 + 3 + 6 = 22. The second round begins then: send at 22,
    // message at 35, taken in at 44.
    const auto schedule = traffic::make_schedule("ring:2", 3, {.bytes = 4});

    EXPECT_THAT(ends(schedule), Each(44));
}

TEST(MessageByHand, Binomial) {
    // 1 byte over 5 ranks.
    // Rank 0 sends to 1 at 0, to 2 at 5 and to 4 at 10: its adapter's gap is longer than its core's work, which ends
    // at 13.
    // Rank 1 takes the message in from 13 to 16, sends it on to 3 at 16 and is done at 19.
    // Rank 2 takes its message in from 5 + 13 = 18 to 21; rank 3 from 16 + 13 = 29 to 32; rank 4 from 23 to 26.
    const auto schedule = traffic::make_schedule("binomial", 5, {.bytes = 1});

    EXPECT_THAT(ends(schedule), ElementsAre(13, 19, 21, 32, 26));
}

TEST(MessageByHand, Dissemination) {
    // 2 bytes, 8 ranks, three rounds, all ranks alike: a round's message comes 13 after the send and is taken in 3 + 2
    // later, when the next round's send begins: 0, 18, 36, 54.
    const auto schedule = traffic::make_schedule("dissemination", 8, {.bytes = 2});

    EXPECT_THAT(ends(schedule), Each(54));
}

TEST(MessageByHand, Stencil) {
    // A closed 2x2 grid, 1 byte, 20 of work; all ranks alike. The core works until 20. The four sends want to begin at
    // 20, 25, 30, 35, an adapter's gap apart; the first message comes at 33 and is taken in until 36, so that the last
    // send begins at 36. Messages come at 33, 38, 43 and 49:
    //   the first is taken in 33-36 (adapter until 38), then the fourth send has the core 36-39;
    //   the second waits for the core until 39, is taken in until 42 (adapter until 44);
    //   the third waits for the adapter until 44, is taken in until 47 (adapter until 49);
    //   the fourth comes at 49 and is taken in until 52.
    EXPECT_THAT(ends(traffic::make_schedule("stencil2d:1:2x2", 4, {.bytes = 1, .work = nanoseconds(20)})), Each(52));
    // A second iteration finds all adapters free when its work is done at 72, so that it takes as long.
    EXPECT_THAT(ends(traffic::make_schedule("stencil2d:2:2x2", 4, {.bytes = 1, .work = nanoseconds(20)})), Each(104));
}

TEST(MessageByHand, Random) {
    // Rank 0 works 0-7 and sends b at 7 (core until 10, adapter until 12), c at 12: its core is busy until
    // 12 + 3 + 199 = 214, its adapter until 12 + 5 + 398 = 415. c has more than S bytes and is not complete yet.
    // Rank 1 works until 30. b came at 20, c at 25; both wait. At 30 the first receive is posted and b is taken in
    // until 33 (adapter until 35) and matched; at 33 the second receive is posted. At 35 c is taken in, until
    // 35 + 3 + 398 = 436, and matched: the sender's c is complete, and rank 0's next work follows when its core is
    // free, from 214 to 219. Rank 1 sends on at 436 and is done at 439.
    // Rank 2 takes that in from 449 to 452.
    const auto schedule = goal(
        "num_ranks 3\n"
        "rank 0 {\n a: calc 7\n b: send 1b to 1 tag 0\n c: send 200b to 1 tag 1\n d: calc 5\n"
        " b requires a\n c requires b\n d requires c\n}\n"
        "rank 1 {\n e: calc 30\n f: recv 1b from 0 tag 0\n g: recv 200b from 0 tag 1\n k: send 1b to 2\n"
        " f requires e\n g requires f\n k requires g\n}\n"
        "rank 2 {\n recv 1b from 1\n}\n");

    EXPECT_THAT(ends(schedule), ElementsAre(219, 439, 452));
}

TEST(MessageByHand, CoreIsChargedOnArrivalPostedOrNot) {
    // Rank 1 posts the receive of a only when b is in. a comes at 13 and is taken in until 22, with no receive there.
    // b is sent at 100 and taken in 113-116. Then the receive of a finds it and costs nothing: work 116-117.
    const auto schedule = goal(
        "num_ranks 3\n"
        "rank 0 { send 4b to 1 tag 1 }\n"
        "rank 1 { b: recv 1b from 2 tag 2; a: recv 4b from 0 tag 1; a requires b; w: calc 1; w requires a }\n"
        "rank 2 { w: calc 100; s: send 1b to 1 tag 2; s requires w }\n");

    EXPECT_THAT(ends(schedule), ElementsAre(6, 117, 103));
}

constexpr const char* large_message =
    "num_ranks 2\n"
    "rank 0 { a: send 200b to 1; b: calc 1; b requires a }\n"
    "rank 1 { c: calc 500; d: recv 200b from 0; d requires c }\n";

TEST(MessageByHand, AboveSTheSenderCompletesAtTheMatch) {
    // The message came at 13 and is taken in when the core is free, at 500, until 500 + 3 + 398. The receive is posted
    // at 500: a is complete then, with no message back, and b follows.
    EXPECT_THAT(ends(goal(large_message)), ElementsAre(501, 901));
}

TEST(MessageByHand, UpToSTheSenderCompletesAtOnce) {
    // a is complete when the core has sent it, at 3 + 199.
    Options options = small_numbers();
    options.message.parameters.S = 200;

    EXPECT_THAT(ends(goal(large_message), options), ElementsAre(203, 901));
}

TEST(MessageByHand, HandshakeCostsARequestAndAnAnswer) {
    // The request of one byte is there at 13 and taken in 500-503; the receive is there at 500. The answer goes at 503,
    // is there at 516 and taken in until 519. The data go then: core until 519 + 3 + 199 = 721, when a is complete and
    // b begins. The first byte comes at 532; taken in until 532 + 3 + 398 = 933.
    Options options = small_numbers();
    options.message.handshake = true;

    EXPECT_THAT(ends(goal(large_message), options), ElementsAre(722, 933));
}

TEST(MessageByHand, IrequiresWaitsForTheStart) {
    // The receive begins at 0 and ends at 16; the work waits for its start alone.
    const auto schedule = goal(
        "num_ranks 2\nrank 0 { send 1b to 1 }\n"
        "rank 1 { a: recv 1b from 0; b: calc 2; b irequires a }\n");
    const auto simulation = make_message_simulation(schedule, small_numbers());

    simulation->advance(nanoseconds(5));

    EXPECT_THAT(simulation->work().events, 4u);  // three operations and the message have begun
    EXPECT_EQ(simulation->advance(never), State::finished);
    EXPECT_EQ(simulation->now(), nanoseconds(16));
}

TEST(MessageByHand, NothingAndOneByteCostTheSame) {
    EXPECT_EQ(ends(traffic::make_schedule("ring:2", 3, {.bytes = 0})),
              ends(traffic::make_schedule("ring:2", 3, {.bytes = 1})));
}

TEST(MessageByHand, WorkOnOneCoreWaitsForWorkOnAnother) {
    // b begins on an idle core, but not before a is over.
    EXPECT_THAT(ends(goal("num_ranks 1\nrank 0 { a: calc 10; b: calc 5 cpu 1; b requires a }\n")), ElementsAre(15));
    // Without the edge they go side by side.
    EXPECT_THAT(ends(goal("num_ranks 1\nrank 0 { a: calc 10; b: calc 5 cpu 1 }\n")), ElementsAre(10));
}

TEST(MessageByHand, SecondAdapterNeedNotWaitForTheFirst) {
    // One adapter: sends at 0 and 5, the core is done at 8. Two: at 0 and, when the core is free, at 3.
    EXPECT_THAT(ends(goal("num_ranks 2\nrank 0 { send 1b to 1 tag 1; send 1b to 1 tag 2 }\n"
                          "rank 1 { recv 1b from 0 tag 1; recv 1b from 0 tag 2 }\n")),
                ElementsAre(8, 21));
    EXPECT_THAT(ends(goal("num_ranks 2\nrank 0 { send 1b to 1 tag 1; send 1b to 1 tag 2 nic 1 }\n"
                          "rank 1 { recv 1b from 0 tag 1; recv 1b from 0 tag 2 }\n")),
                ElementsAre(6, 19));
}

TEST(MessageByHand, LocalOperationsCostTheirBytes) {
    traffic::ScheduleBuilder builder(1);
    builder.add(Rank{0}, {.amount = 100, .peer = {}, .kind = traffic::OpKind::copy});
    builder.add(Rank{0}, {.amount = 10, .peer = {}, .kind = traffic::OpKind::reduce});
    Options options = small_numbers();
    options.local = {.copy = 200, .reduce = 500};

    EXPECT_THAT(ends(builder.build(), options), ElementsAre(25));
}

TEST(MessageByHand, DefaultsAreLogGopsims) {
    // A byte over one wire: o + L + o with o = 1.5 us and L = 2.5 us.
    EXPECT_THAT(ends(goal("num_ranks 2\nrank 0 { send 1b to 1 }\nrank 1 { recv 1b from 0 }\n"), Options{}),
                ElementsAre(1500, 5500));
    // 1,001 bytes: 6 ns more for each of 1,000 at the receiver, nothing at the sender.
    EXPECT_THAT(ends(goal("num_ranks 2\nrank 0 { send 1001b to 1 }\nrank 1 { recv 1001b from 0 }\n"), Options{}),
                ElementsAre(1500, 11500));
}

}  // namespace
}  // namespace loom::sim
