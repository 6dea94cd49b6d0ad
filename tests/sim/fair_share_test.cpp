#include "sim/fair_share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "loom/base/random.hpp"
#include "reference/fair_share.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

using Path = std::vector<FairShare::Link>;

TEST(FairShare, SharesALinkEvenly) {
    FairShare shares({10, 100});

    shares.add(Path{0, 1});
    shares.add(Path{0});
    const auto changed = shares.solve(Time{});

    EXPECT_THAT(changed, UnorderedElementsAre(0u, 1u));
    EXPECT_EQ(shares.rate(0), 5);
    EXPECT_EQ(shares.rate(1), 5);
    EXPECT_EQ(shares.load(1), 5);
}

// Three streams: one over both links, one over each. The long one and the short one share the thin link; the other
// short one takes what is left of the wide link.
TEST(FairShare, GivesWhatOthersCannotUse) {
    FairShare shares({10, 100});

    const auto both = shares.add(Path{0, 1});
    const auto thin = shares.add(Path{0});
    const auto wide = shares.add(Path{1});
    (void)shares.solve(Time{});

    EXPECT_EQ(shares.rate(both), 5);
    EXPECT_EQ(shares.rate(thin), 5);
    EXPECT_EQ(shares.rate(wide), 95);
}

TEST(FairShare, FollowsAStreamThatLeaves) {
    FairShare shares({10, 100, 7});
    const auto both = shares.add(Path{0, 1});
    const auto thin = shares.add(Path{0});
    const auto apart = shares.add(Path{2});
    (void)shares.solve(Time{});

    shares.remove(thin, Time{5});
    const auto changed = shares.solve(Time{5});

    EXPECT_THAT(changed, ElementsAre(both));
    EXPECT_EQ(shares.rate(both), 10);
    EXPECT_EQ(shares.rate(apart), 7);
}

// A stream that is held up on the second link leaves the first one idle while it has data.
TEST(FairShare, CountsWhatCrossedAndWhatWaited) {
    FairShare shares({10, 4});
    shares.add(Path{0, 1});
    (void)shares.solve(Time{100});

    EXPECT_EQ(static_cast<std::int64_t>(shares.carried(0, Time{200})), 400);
    EXPECT_EQ(shares.waited(0, Time{200}), Time{60});
    EXPECT_EQ(shares.waited(1, Time{200}), Time{0});

    shares.remove(0, Time{200});
    (void)shares.solve(Time{200});
    EXPECT_EQ(static_cast<std::int64_t>(shares.carried(0, Time{300})), 400);
    EXPECT_EQ(shares.waited(0, Time{300}), Time{60});
}

struct Shape {
    std::uint32_t links;
    std::uint32_t longest;  // path
    std::uint32_t streams;  // about so many at a time
    std::int64_t capacity;  // small ones make many roundings
};

// Streams come and go, several at a time; after each step all rates are those of the reference, and so is the idle time
// of links that come before the one that holds a stream up.
void compare_with_reference(const Shape& c, std::uint64_t seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<Rate> capacities(c.links);
    for (Rate& capacity : capacities) capacity = c.capacity * (1 + random.below(4));
    FairShare shares(capacities);
    std::map<FairShare::Stream, Path> alive;
    std::vector<Rate> idle(c.links), idle_now(c.links);
    Time now;

    for (int step = 0; step < 120; ++step) {
        constexpr std::int64_t span = 10;
        now += Time{span};
        for (std::uint32_t link = 0; link < c.links; ++link) {
            idle[link] += idle_now[link] * span;
            ASSERT_EQ(shares.waited(link, now), Time{idle[link] / capacities[link]}) << "step " << step;
        }
        for (std::uint32_t change = 1 + random.below(step == 0 ? c.streams : 3); change > 0; --change) {
            if (!alive.empty() && random.below(2 * c.streams) < alive.size()) {
                auto victim = std::next(alive.begin(), random.below(static_cast<std::uint32_t>(alive.size())));
                shares.remove(victim->first, now);
                alive.erase(victim);
                continue;
            }
            Path path;
            for (std::uint32_t hops = 1 + random.below(c.longest); hops > 0; --hops) {
                const std::uint32_t link = random.below(c.links);
                if (std::find(path.begin(), path.end(), link) == path.end()) path.push_back(link);
            }
            alive[shares.add(path)] = path;
        }
        (void)shares.solve(now);

        std::vector<std::vector<std::uint32_t>> paths;
        for (const auto& [stream, path] : alive) paths.push_back(path);
        std::vector<std::size_t> held_up;
        const auto expected = reference::fair_rates(capacities, paths, &held_up);
        std::vector<Rate> loads(c.links);
        std::size_t i = 0;
        for (const auto& [stream, path] : alive) {
            ASSERT_EQ(shares.rate(stream), expected[i]) << "step " << step << ", stream " << stream;
            for (const std::uint32_t link : path) loads[link] += expected[i];
            ++i;
        }
        for (std::uint32_t link = 0; link < c.links; ++link) {
            ASSERT_EQ(shares.load(link), loads[link]);
            ASSERT_LE(shares.load(link), capacities[link]);
        }
        std::fill(idle_now.begin(), idle_now.end(), 0);
        for (std::size_t k = 0; k < paths.size(); ++k)
            for (std::size_t hop = 0; hop < held_up[k]; ++hop)
                idle_now[paths[k][hop]] = capacities[paths[k][hop]] - loads[paths[k][hop]];
    }
}

TEST(GeneratedStreams, EqualTheReferenceAfterEveryChange) {
    constexpr Shape shapes[] = {
        {3, 3, 6, 1'000}, {12, 4, 20, 97}, {40, 6, 30, 1'000'000'007}, {60, 5, 120, 2'000}, {6, 4, 12, 41}};

    for (const Shape& shape : shapes)
        for (std::uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) compare_with_reference(shape, seed);
}

}  // namespace
