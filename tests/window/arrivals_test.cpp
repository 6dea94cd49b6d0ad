// Which notifications are counted and used up, beside a list of them in the order in which they came.
#include "window/arrivals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "loom/base/random.hpp"

namespace loom::window {
namespace {

Stamp stamp(std::uint32_t window, std::uint32_t tag) {
    return {WindowId{window}, Tag{tag}};
}

TEST(Arrivals, AreCountedByWindowTagAndSource) {
    Arrivals arrivals;
    arrivals.add(Rank{1}, stamp(1, 5));
    arrivals.add(Rank{2}, stamp(1, 5), 2);
    arrivals.add(Rank{1}, stamp(2, 5));

    EXPECT_EQ(arrivals.count({WindowId{1}, {}, Tag{5}}), 3u);
    EXPECT_EQ(arrivals.count({WindowId{1}, Rank{2}, Tag{5}}), 2u);
    EXPECT_EQ(arrivals.count({{}, Rank{1}, Tag{5}}), 2u);
    EXPECT_EQ(arrivals.count({{}, {}, Tag{}, 0}), 4u);
    EXPECT_EQ(arrivals.count({WindowId{1}, {}, Tag{4}}), 0u);
}

TEST(Arrivals, AreNotUsedUpUnlessAllAreThere) {
    Arrivals arrivals;
    arrivals.add(Rank{0}, stamp(1, 1), 2);

    EXPECT_FALSE(arrivals.take({WindowId{1}, {}, Tag{1}}, 3));
    EXPECT_TRUE(arrivals.take({WindowId{1}, {}, Tag{1}}, 2));
    EXPECT_FALSE(arrivals.take({WindowId{1}, {}, Tag{1}}, 1));
}

TEST(Arrivals, CountPastThirtyTwoBits) {
    Arrivals arrivals;
    constexpr std::uint64_t many = (std::uint64_t{1} << 32) - 3;
    arrivals.add(Rank{0}, stamp(1, 1), many);
    for (int i = 0; i < 6; ++i) arrivals.add(Rank{0}, stamp(1, 1));

    EXPECT_EQ(arrivals.count({WindowId{1}, Rank{0}, Tag{1}}), many + 6);
    EXPECT_TRUE(arrivals.take({WindowId{1}, {}, Tag{1}}, many + 5));
    EXPECT_EQ(arrivals.count({WindowId{1}, {}, Tag{1}}), 1u);
}

TEST(Arrivals, OfATagThatIsUsedOnceLeaveNothingBehind) {
    Arrivals arrivals;
    for (std::uint32_t tag = 0; tag < 10'000; ++tag) {
        arrivals.add(Rank{0}, stamp(1, tag));
        ASSERT_TRUE(arrivals.take({WindowId{1}, {}, Tag{tag}}, 1));
    }

    EXPECT_LT(arrivals.remembered(), 1000u);
}

TEST(Arrivals, OfAFreedWindowAreForgotten) {
    Arrivals arrivals;
    arrivals.add(Rank{0}, stamp(1, 7));
    arrivals.add(Rank{0}, stamp(2, 7));

    arrivals.forget(WindowId{2});
    arrivals.add(Rank{0}, stamp(1, 7));

    EXPECT_EQ(arrivals.count({{}, {}, Tag{}, 0}), 2u);
}

// A list, searched from its beginning.
struct Slow {
    std::deque<Arrival> all;
    static bool matches(const Wanted& wanted, const Arrival& one) {
        return (!wanted.window || *wanted.window == one.stamp.window) &&
               (!wanted.source || *wanted.source == one.source) &&
               (one.stamp.tag.value & wanted.mask) == (wanted.tag.value & wanted.mask);
    }
    [[nodiscard]] std::uint64_t count(const Wanted& wanted) const {
        return static_cast<std::uint64_t>(
            std::count_if(all.begin(), all.end(), [&](const Arrival& one) { return matches(wanted, one); }));
    }
    std::optional<Arrival> next(const Wanted& wanted) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Arrival& one) { return matches(wanted, one); });
        if (found == all.end()) return {};
        const Arrival result = *found;
        all.erase(found);
        return result;
    }
    bool take(const Wanted& wanted, std::uint64_t number) {
        if (count(wanted) < number) return false;
        while (number-- != 0) (void)next(wanted);
        return true;
    }
    [[nodiscard]] std::uint64_t others(const Wanted& wanted) const { return all.size() - count(wanted); }
};

Wanted random_wanted(Random& random) {
    Wanted wanted;
    if (random.below(4) != 0) wanted.window = WindowId{1 + random.below(3)};
    if (random.below(2) != 0) wanted.source = Rank{random.below(3)};
    constexpr std::uint32_t masks[] = {0xffffffff, 0xffffffff, 0xffffffff, 0, 1, 6};
    wanted.mask = masks[random.below(6)];
    wanted.tag = Tag{random.below(8) & wanted.mask};
    return wanted;
}

TEST(Arrivals, AreWhatAListOfThemSays) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        Arrivals arrivals;
        Slow slow;
        for (int step = 0; step < 300; ++step) {
            const Wanted wanted = random_wanted(random);
            const std::uint32_t what = random.below(8);
            if (what < 4) {
                const Arrival one{Rank{random.below(3)}, stamp(1 + random.below(3), random.below(8))};
                const std::uint32_t number = 1 + random.below(3);
                arrivals.add(one.source, one.stamp, number);
                for (std::uint32_t i = 0; i < number; ++i) slow.all.push_back(one);
            } else if (what < 6) {
                const std::uint64_t number = random.below(4);
                ASSERT_EQ(arrivals.take(wanted, number), slow.take(wanted, number)) << "seed " << seed;
            } else if (what == 6) {
                const auto one = arrivals.next(wanted), other = slow.next(wanted);
                ASSERT_EQ(one.has_value(), other.has_value()) << "seed " << seed;
                if (one) {
                    ASSERT_TRUE(one->source == other->source && one->stamp == other->stamp) << "seed " << seed;
                }
            } else {
                std::uint64_t others = 0;
                (void)arrivals.oldest_other(wanted, others);
                ASSERT_EQ(others, slow.others(wanted)) << "seed " << seed;
            }
            ASSERT_EQ(arrivals.count(wanted), slow.count(wanted)) << "seed " << seed;
        }
    }
}

TEST(Stamp, IsItselfAfterEveryForm) {
    for (const std::uint32_t window : {1u, 255u, 32767u, 32768u, most_windows})
        for (const std::uint32_t tag : {0u, 1u, 255u, 256u, 65535u, 65536u, 0x7fffffffu, 0xffffffffu}) {
            EXPECT_EQ(from_word(to_word(stamp(window, tag))), stamp(window, tag));
            EXPECT_EQ(from_value(to_value(stamp(window, tag))), stamp(window, tag));
        }
    EXPECT_LT(to_value(stamp(32767, 65535)), 1u << 31);  // one immediate
}

TEST(Stamp, IsNothingThatNobodySends) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{65535}, std::uint64_t{1} << 31, long_form, long_form | 5, long_form << 1,
          long_form | std::uint64_t{1} << 32, ~std::uint64_t{0}})
        EXPECT_FALSE(from_value(value)) << value;
}

}  // namespace
}  // namespace loom::window
