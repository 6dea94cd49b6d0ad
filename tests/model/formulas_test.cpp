// The walk gives what can be worked out by hand: the formulas of Hoefler 2008, II.2 and III.3.
//
// Where chapter III and the walk differ, the test says by what: the book simplifies ("approximately"), and counts in
// f only those messages that are free beyond the first.
#include <gtest/gtest.h>

#include "loom/model/walk.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::model {
namespace {

constexpr LogGp gp{.L = nanoseconds(5960),
                   .o = nanoseconds(472),
                   .g = nanoseconds(514),
                   .G = 730,
                   .local = {.copy = 100, .reduce = 250, .step = {}}};
constexpr LogfP fp{.L = nanoseconds(5960),
                   .o_min = nanoseconds(180),
                   .o_max = nanoseconds(1600),
                   .g = nanoseconds(2500),
                   .f = 10,
                   .G = 0};

std::uint32_t log2_up(std::uint32_t n) {
    return n <= 1 ? 0 : 32 - static_cast<std::uint32_t>(__builtin_clz(n - 1));
}
Time bytes_of(const LogGp& p, std::uint64_t bytes) {
    return Time{p.G * static_cast<std::int64_t>(bytes - 1)};
}

// Rank 0 sends to all others, in order.
traffic::Schedule linear(std::uint32_t ranks, std::uint64_t bytes) {
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t to = 1; to < ranks; ++to) {
        const std::uint32_t send = builder.send(Rank{0}, Rank{to}, bytes);
        if (send > 0) builder.require(Rank{0}, send, send - 1);
        builder.receive(Rank{to}, Rank{0}, bytes);
    }
    return builder.build();
}

// Each rank passes on `segments` pieces as they come.
traffic::Schedule pipeline(std::uint32_t ranks, std::uint32_t segments, std::uint64_t bytes) {
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (std::uint32_t s = 0; s < segments; ++s) {
            std::uint32_t got = 0;
            if (rank > 0) got = builder.receive(Rank{rank}, Rank{rank - 1}, bytes, s);
            if (rank + 1 == ranks) continue;
            const std::uint32_t sent = builder.send(Rank{rank}, Rank{rank + 1}, bytes, s);
            if (rank > 0) builder.require(Rank{rank}, sent, got);
        }
    return builder.build();
}

// Rank r receives from r without its highest bit and then sends to r + 2^k, nearest subtree last.
traffic::Schedule binomial(std::uint32_t ranks, std::uint64_t bytes) {
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::optional<std::uint32_t> before;
        std::uint32_t k = 0;
        if (rank > 0) {
            k = 32 - static_cast<std::uint32_t>(__builtin_clz(rank));
            before = builder.receive(Rank{rank}, Rank{rank - (1u << (k - 1))}, bytes);
        }
        for (; rank + (1u << k) < ranks; ++k) {
            const std::uint32_t send = builder.send(Rank{rank}, Rank{rank + (1u << k)}, bytes);
            if (before) builder.require(Rank{rank}, send, *before);
            before = send;
        }
    }
    return builder.build();
}

// n partners a round; `work` says whether what came is reduced before the next round.
traffic::Schedule dissemination(std::uint32_t ranks, std::uint32_t ways, std::uint64_t bytes, bool work) {
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::vector<std::uint32_t> before;
        for (std::uint64_t distance = 1, round = 0; distance < ranks; distance *= ways + 1, ++round) {
            std::vector<std::uint32_t> now;
            for (std::uint32_t i = 1; i <= ways && i * distance < ranks; ++i) {
                const auto by = static_cast<std::uint32_t>(i * distance);
                const auto tag = static_cast<std::uint32_t>(round);
                const std::uint32_t send = builder.send(Rank{rank}, Rank{(rank + by) % ranks}, bytes, tag);
                std::uint32_t got = builder.receive(Rank{rank}, Rank{(rank + ranks - by) % ranks}, bytes, tag);
                for (const std::uint32_t earlier : before) builder.require(Rank{rank}, send, earlier);
                if (work) {
                    const std::uint32_t reduce =
                        builder.add(Rank{rank}, {.amount = bytes, .peer = {}, .kind = traffic::OpKind::reduce});
                    builder.require(Rank{rank}, reduce, got);
                    got = reduce;
                }
                now.push_back(got);
            }
            before = now;
        }
    }
    return builder.build();
}

// 1 : n and n : 1: rank 0 writes to n others, who answer.
traffic::Schedule one_to_all_and_back(std::uint32_t n) {
    traffic::ScheduleBuilder builder(n + 1);
    for (std::uint32_t to = 1; to <= n; ++to) {
        builder.send(Rank{0}, Rank{to}, 1);
        const std::uint32_t got = builder.receive(Rank{to}, Rank{0}, 1);
        builder.require(Rank{to}, builder.send(Rank{to}, Rank{0}, 1), got);
        builder.receive(Rank{0}, Rank{to}, 1);
    }
    return builder.build();
}

TEST(LogGpFormulas, PingPong) {  // (II.5)
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 100);
    const std::uint32_t got = builder.receive(Rank{1}, Rank{0}, 100);
    builder.require(Rank{1}, builder.send(Rank{1}, Rank{0}, 100), got);
    builder.receive(Rank{0}, Rank{1}, 100);

    const Prediction prediction = walk(builder.build(), charges(gp));

    EXPECT_EQ(prediction.finish(), 2 * (gp.L + 2 * gp.o + bytes_of(gp, 100)));
}

TEST(LogGpFormulas, LinearBroadcast) {  // (III.1), g and the bytes of every message at the root
    for (const std::uint32_t ranks : {2u, 3u, 8u, 64u})
        for (const std::uint64_t bytes : {1u, 100u, 10'000u}) {
            const Prediction prediction = walk(linear(ranks, bytes), charges(gp));

            const Time before_last = (ranks - 2) * std::max(gp.o, gp.g + bytes_of(gp, bytes));
            EXPECT_EQ(prediction.finish(), before_last + bytes_of(gp, bytes) + gp.L + 2 * gp.o);
        }
}

TEST(LogGpFormulas, Pipeline) {  // (III.2): the first segment's way, and one gap for every other
    for (const std::uint32_t segments : {1u, 4u, 16u})
        for (const std::uint32_t ranks : {2u, 3u, 8u}) {
            const Prediction prediction = walk(pipeline(ranks, segments, 4096), charges(gp));

            const Time first = (ranks - 1) * (2 * gp.o + gp.L + bytes_of(gp, 4096));
            const Time step = std::max(2 * gp.o, gp.g + bytes_of(gp, 4096));  // a rank in the middle takes and sends
            EXPECT_EQ(prediction.finish(), first + (segments - 1) * step);
        }
}

// (III.3): no rank waits for its adapter while L is larger than g. With other than a power of two the deepest ranks are
// missing, and the last to end is one that the root, busy with others before, serves directly.
TEST(LogGpFormulas, BinomialBroadcast) {
    for (const std::uint32_t ranks : {2u, 4u, 5u, 16u, 64u, 100u}) {
        const Prediction prediction = walk(binomial(ranks, 100), charges(gp));

        const Time book = log2_up(ranks) * (2 * gp.o + gp.L + bytes_of(gp, 100));
        if (ranks == 1u << log2_up(ranks))
            EXPECT_EQ(prediction.finish(), book) << ranks;
        else
            EXPECT_LT(prediction.finish(), book) << ranks;
    }
}

TEST(LogGpFormulas, DisseminationAllreduce) {  // (III.5) without the g that a round's length hides
    for (const std::uint32_t ranks : {2u, 4u, 16u, 64u}) {
        const Prediction prediction = walk(dissemination(ranks, 1, 1000, true), charges(gp));

        const Time reduce = Time{1000 * gp.local.reduce};
        EXPECT_EQ(prediction.finish(), log2_up(ranks) * (2 * gp.o + gp.L + bytes_of(gp, 1000) + reduce));
    }
}

TEST(LogGpFormulas, RingAllreduce) {  // (III.7): 2P - 2 steps of a P-th, of which P - 1 reduce
    const std::uint32_t ranks = 8;
    const std::uint64_t part = 1000;
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::optional<std::uint32_t> before;
        for (std::uint32_t step = 0; step < 2 * ranks - 2; ++step) {
            const std::uint32_t send = builder.send(Rank{rank}, Rank{(rank + 1) % ranks}, part, step);
            if (before) builder.require(Rank{rank}, send, *before);
            before = builder.receive(Rank{rank}, Rank{(rank + ranks - 1) % ranks}, part, step);
            if (step >= ranks - 1) continue;
            const std::uint32_t reduce =
                builder.add(Rank{rank}, {.amount = part, .peer = {}, .kind = traffic::OpKind::reduce});
            builder.require(Rank{rank}, reduce, *before);
            before = reduce;
        }
    }

    const Prediction prediction = walk(builder.build(), charges(gp));

    EXPECT_EQ(prediction.finish(), (2 * ranks - 2) * (2 * gp.o + gp.L + bytes_of(gp, part)) +
                                       (ranks - 1) * Time{static_cast<std::int64_t>(part) * gp.local.reduce});
}

TEST(LogfPFormulas, RoundTripOfFewMessages) {  // (II.3)
    for (std::uint32_t n = 1; n <= fp.f; ++n) {
        const Prediction prediction = walk(one_to_all_and_back(n), charges(fp));

        const Time sends = n * fp.o_min + fp.o_max;
        EXPECT_EQ(prediction.ends[0], 2 * fp.L + sends + fp.o_min + fp.o_max) << n;
    }
}

// (II.4) spreads o_max over all messages and asks no g of the answers' way in. Here the first message has all of o_max,
// and the answers' gaps count from its own: up to o_max more.
TEST(LogfPFormulas, RoundTripOfManyMessages) {
    for (std::uint32_t n = fp.f + 1; n <= 64; ++n) {
        const Prediction prediction = walk(one_to_all_and_back(n), charges(fp));

        const Time answer = fp.o_min + fp.o_max;
        const Time core = n * fp.o_min + fp.o_max;
        const Time adapter = (n - fp.f) * fp.g + fp.o_min + fp.o_max;
        EXPECT_EQ(prediction.ends[0], 2 * fp.L + answer + std::max(core, adapter)) << n;
        const double o = fp.o_min.microseconds() + fp.o_max.microseconds() / n;
        const double book = 2 * fp.L.microseconds() + o + answer.microseconds() +
                            std::max((n - 1) * o, (n - fp.f) * fp.g.microseconds());
        EXPECT_NEAR(prediction.ends[0].microseconds(), book, fp.o_max.microseconds()) << n;
    }
}

TEST(LogfPFormulas, TheTimeForEachOfNHasItsLeastWhereTheAdapterIsFull) {  // II.2.3.3: how f is found
    std::uint32_t least = 1;
    double best = 1e9;
    for (std::uint32_t n = 1; n <= 40; ++n) {
        const double each = walk(one_to_all_and_back(n), charges(fp)).ends[0].microseconds() / n;
        if (each < best) {
            best = each;
            least = n;
        }
    }

    EXPECT_GE(least, fp.f);
    EXPECT_LE(least, fp.f + 3);
}

TEST(LogfPFormulas, DisseminationBarrier) {  // an adapter that has done a round's messages before the next begins
    LogfP quick = fp;
    quick.g = nanoseconds(1000);
    for (const std::uint32_t ways : {1u, 2u, 3u, 7u})
        for (const std::uint32_t ranks : {2u, 4u, 9u, 16u, 64u}) {
            std::uint32_t rounds = 0;
            Time expected{};
            for (std::uint64_t distance = 1; distance < ranks; distance *= ways + 1, ++rounds) {
                std::uint32_t partners = 0;
                while (partners < ways && (partners + 1) * distance < ranks) ++partners;
                expected += fp.L + partners * fp.o_min + fp.o_max;
            }

            const Prediction prediction = walk(dissemination(ranks, ways, 1, false), charges(quick));

            EXPECT_EQ(prediction.finish(), expected) << ways << "-way, " << ranks;
        }
}

TEST(LogfPFormulas, WithOneMessageAtATimeItIsLogGp) {
    const LogfP one{
        .L = gp.L, .o_min = gp.o, .o_max = {}, .o_receive = gp.o, .g = gp.g, .f = 1, .G = gp.G, .local = gp.local};

    const Prediction a = walk(dissemination(27, 2, 500, true), charges(one));
    const Prediction b = walk(dissemination(27, 2, 500, true), charges(gp));

    EXPECT_EQ(a.ends, b.ends);
    EXPECT_EQ(a.ops, b.ops);
}

constexpr LogGops gops{
    .L = nanoseconds(5000), .o = nanoseconds(1000), .g = nanoseconds(2000), .G = 10, .O = 30, .S = 1000};

// One message; its receive is posted after `late`.
Prediction one_message(std::uint64_t bytes, Time late, const LogGops& parameters) {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, bytes);
    const std::uint32_t work = builder.compute(Rank{1}, late);
    builder.require(Rank{1}, builder.receive(Rank{1}, Rank{0}, bytes), work);
    return walk(builder.build(), charges(parameters));
}

// The receiver's core is busy while the bytes come in, with the dearer of G and O; the sender's with O.
TEST(LogGopsFormulas, OneMessage) {
    LogGops wide = gops;
    wide.G = 70;
    for (const LogGops& p : {gops, wide})
        for (const std::uint64_t bytes : {1u, 100u, 1000u}) {
            const Prediction prediction = one_message(bytes, {}, p);

            const auto rest = static_cast<std::int64_t>(bytes - 1);
            EXPECT_EQ(prediction.ends[0], p.o + Time{p.O * rest}) << bytes;
            EXPECT_EQ(prediction.finish(), p.L + 2 * p.o + Time{std::max(p.G, p.O) * rest}) << bytes;
        }
}

TEST(LogGopsFormulas, MessagesBeyondSAreOverWhenTheyAreMatched) {
    const Time late = microseconds(100);

    const Prediction small = one_message(gops.S, late, gops), large = one_message(gops.S + 1, late, gops);

    EXPECT_LT(small.ops[0].end, late);
    EXPECT_GE(large.ops[0].end, late);
}

// Of two large messages from one rank each receiver has one: they have less to do, and move the bytes.
TEST(Copying, IsDoneByTheSideWithFewerLargeMessages) {
    Charges c;
    c.way.small = c.way.large = {.send = nanoseconds(100), .send_byte = 1000, .latency = nanoseconds(50)};
    c.way.limit = 100;
    c.way.copying = Copying::by_fewer;
    c.waits_for = Large::ready;
    traffic::ScheduleBuilder out(3), in(3);
    for (std::uint32_t other = 1; other <= 2; ++other) {
        out.send(Rank{0}, Rank{other}, 10'001);
        out.receive(Rank{other}, Rank{0}, 10'001);
        in.send(Rank{other}, Rank{0}, 10'001);
        in.receive(Rank{0}, Rank{other}, 10'001);
    }

    const Prediction to_many = walk(out.build(), c), from_many = walk(in.build(), c);

    const Time bytes = microseconds(10);
    EXPECT_LT(to_many.finish(), 2 * bytes);  // at once, one by each receiver
    EXPECT_LT(from_many.finish(), 2 * bytes);
    EXPECT_GE(to_many.finish(), bytes);
}

}  // namespace
}  // namespace loom::model
