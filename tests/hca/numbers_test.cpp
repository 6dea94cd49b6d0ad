#include "hca/protocol/numbers.hpp"

#include <gtest/gtest.h>

#include "loom/base/random.hpp"

namespace loom::hca {
namespace {

constexpr std::uint32_t circle = 1u << 24, half = circle / 2;

TEST(PacketNumbers, GoRoundAtTheirEnd) {
    const Psn last(circle - 1), first(0);

    EXPECT_EQ(last + 1, first);
    EXPECT_EQ(first - 1, last);
    EXPECT_EQ(last + 5, Psn(4));
    EXPECT_EQ((first - circle).value(), 0u);
    EXPECT_EQ(first - last, 1);
    EXPECT_EQ(last - first, -1);
    EXPECT_TRUE(last.before(first) && first.after(last));
    EXPECT_FALSE(first.before(last) || last.after(first));
}

TEST(PacketNumbers, AreTheLower24BitsOfAWord) {
    EXPECT_EQ(Psn(0xff000007).value(), 7u);
    EXPECT_EQ(Psn(circle), Psn());
}

TEST(PacketNumbers, AreNeitherBeforeNorAfterThemselves) {
    const Psn psn(77);

    EXPECT_EQ(psn - psn, 0);
    EXPECT_FALSE(psn.before(psn) || psn.after(psn));
}

TEST(PacketNumbers, AreComparedWithinHalfTheCircle) {
    const Psn psn(123);

    EXPECT_EQ((psn + (half - 1)) - psn, static_cast<std::int32_t>(half) - 1);
    EXPECT_EQ((psn - (half - 1)) - psn, 1 - static_cast<std::int32_t>(half));
    EXPECT_EQ((psn + half) - psn, -static_cast<std::int32_t>(half)) << "as far ahead as behind: it counts as behind";
    EXPECT_TRUE((psn + (half - 1)).after(psn));
    EXPECT_TRUE((psn + half).before(psn));
}

// The slow version walks on a line that does not end, and takes the remainder.
TEST(PacketNumbers, AreAsFarApartAsTheStepsBetweenThem) {
    Random random(24);
    for (int round = 0; round < 10'000; ++round) {
        const std::int64_t from = static_cast<std::int64_t>(random() % (4ull * circle)) + circle;
        const std::int64_t steps = static_cast<std::int64_t>(random() % (2 * half - 1)) - (half - 1);
        const Psn a(static_cast<std::uint32_t>(from % circle)), b(static_cast<std::uint32_t>((from + steps) % circle));

        ASSERT_EQ(b - a, steps) << from;
        ASSERT_EQ(b.after(a), steps > 0) << from << " " << steps;
        ASSERT_EQ(b.before(a), steps < 0) << from << " " << steps;
        ASSERT_EQ(steps < 0 ? a - static_cast<std::uint32_t>(-steps) : a + static_cast<std::uint32_t>(steps), b);
    }
}

TEST(QueuePairNumbers, AreSlotAndIndex) {
    const QpNumber qp = qp_number(slots - 2, qps_per_process - 1);

    EXPECT_EQ(qp.value, 0xffbfffu);
    EXPECT_EQ(slot_of(qp), slots - 2);
    EXPECT_EQ(index_of(qp), qps_per_process - 1);
    EXPECT_EQ(qp_number(3, 5), QpNumber{3u << 14 | 5});
    EXPECT_EQ(qp_number(slots - 1, qps_per_process - 1), multicast_qpn);
}

static_assert(Psn(0) - Psn(low_24_bits) == 1 && (Psn(low_24_bits) + 1).value() == 0);
static_assert(sizeof(Psn) == 4 && sizeof(QpNumber) == 4);

}  // namespace
}  // namespace loom::hca
