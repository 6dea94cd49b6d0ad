#include "loom/traffic/counts.hpp"

#include <gtest/gtest.h>

#include "loom/traffic/catalogue.hpp"

namespace loom::traffic {
namespace {

TEST(Counts, OfAScheduleSmallEnoughToWriteDown) {
    ScheduleBuilder builder(3);
    builder.send(Rank{0}, Rank{1}, 10);
    builder.send(Rank{0}, Rank{2}, 20);
    builder.receive(Rank{1}, Rank{0}, 10);
    builder.receive(Rank{2}, Rank{0}, 20);
    builder.send(Rank{1}, Rank{2}, 5);
    builder.receive(Rank{2}, Rank{1}, 5);
    Op copy, reduce;
    copy.kind = OpKind::copy, copy.amount = 7;
    reduce.kind = OpKind::reduce, reduce.amount = 8;
    builder.add(Rank{2}, copy);
    builder.add(Rank{2}, reduce);

    const Counts counts = count(builder.build());

    EXPECT_EQ(counts.messages, 3u);
    EXPECT_EQ(counts.bytes, 35u);
    EXPECT_EQ(counts.most_messages, 2u);
    EXPECT_EQ(counts.most_sent, 30u);
    EXPECT_EQ(counts.copies, 1u);
    EXPECT_EQ(counts.copied, 7u);
    EXPECT_EQ(counts.reductions, 1u);
    EXPECT_EQ(counts.reduced, 8u);
}

TEST(PairsText, IsReadBack) {
    const PatternPtr pattern = make_pattern("shift", 4);

    const PatternPtr back = read_pairs(pairs_text(*pattern), "text", 4);

    ASSERT_EQ(back->stages(), pattern->stages());
    std::vector<Pair> theirs, ours;
    for (std::size_t i = 0; i < pattern->stages(); ++i) {
        pattern->stage(i, theirs);
        back->stage(i, ours);
        EXPECT_EQ(ours, theirs) << i;
    }
}

}  // namespace
}  // namespace loom::traffic
