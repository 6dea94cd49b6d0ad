#include "loom/traffic/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "loom/base/error.hpp"

namespace loom::traffic {
namespace {

using Numbers = std::vector<std::pair<unsigned, unsigned>>;

Numbers stage_of(const Pattern& pattern, std::size_t stage) {
    std::vector<Pair> pairs{{Rank{9}, Rank{9}}};  // must be replaced
    pattern.stage(stage, pairs);
    Numbers result;
    for (const Pair& p : pairs) result.emplace_back(p.from.value, p.to.value);
    std::sort(result.begin(), result.end());
    return result;
}

TEST(Pattern, ShiftVisitsEveryOtherRankOnce) {
    const auto pattern = make_pattern("shift", 7);
    std::set<std::pair<unsigned, unsigned>> seen;

    ASSERT_EQ(pattern->stages(), 6u);
    for (std::size_t s = 0; s < 6; ++s)
        for (const auto& p : stage_of(*pattern, s)) EXPECT_TRUE(seen.insert(p).second);

    EXPECT_EQ(seen.size(), 42u);
    EXPECT_EQ(stage_of(*make_pattern("shift:5", 6), 0), (Numbers{{0, 5}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}));
}

TEST(Pattern, XorAndPairwiseAreExchanges) {
    EXPECT_EQ(make_pattern("xor", 6)->stages(), 7u);
    EXPECT_EQ(stage_of(*make_pattern("xor", 6), 4), (Numbers{{0, 5}, {1, 4}, {4, 1}, {5, 0}}));
    EXPECT_EQ(stage_of(*make_pattern("pairwise", 4), 2), (Numbers{{0, 3}, {1, 2}, {2, 1}, {3, 0}}));
    EXPECT_EQ(stage_of(*make_pattern("pairwise", 3), 1), (Numbers{{0, 2}, {1, 0}, {2, 1}}));
    EXPECT_EQ(stage_of(*make_pattern("xor:3", 4), 0), (Numbers{{0, 3}, {1, 2}, {2, 1}, {3, 0}}));
}

TEST(Pattern, RingDisseminationBruck) {
    EXPECT_EQ(stage_of(*make_pattern("ring", 3), 0), (Numbers{{0, 1}, {1, 2}, {2, 0}}));
    EXPECT_EQ(make_pattern("dissemination", 7)->stages(), 3u);
    EXPECT_EQ(stage_of(*make_pattern("dissemination", 5), 2), (Numbers{{0, 4}, {1, 0}, {2, 1}, {3, 2}, {4, 3}}));
    EXPECT_EQ(make_pattern("bruck", 16)->stages(), 4u);
    EXPECT_EQ(stage_of(*make_pattern("bruck", 4), 1), (Numbers{{0, 2}, {1, 3}, {2, 0}, {3, 1}}));
}

TEST(Pattern, RecursiveDoublingFoldsExtraRanks) {
    const auto pattern = make_pattern("recursive-doubling", 6);

    ASSERT_EQ(pattern->stages(), 4u);
    EXPECT_EQ(stage_of(*pattern, 0), (Numbers{{4, 0}, {5, 1}}));
    EXPECT_EQ(stage_of(*pattern, 1), (Numbers{{0, 1}, {1, 0}, {2, 3}, {3, 2}}));
    EXPECT_EQ(stage_of(*pattern, 2), (Numbers{{0, 2}, {1, 3}, {2, 0}, {3, 1}}));
    EXPECT_EQ(stage_of(*pattern, 3), (Numbers{{0, 4}, {1, 5}}));
    EXPECT_EQ(make_pattern("recursive-doubling", 8)->stages(), 3u);
}

TEST(Pattern, BinomialReachesEveryRankOnce) {
    const auto pattern = make_pattern("binomial:2", 7);
    std::set<unsigned> has{2};

    for (std::size_t s = 0; s < pattern->stages(); ++s) {
        const auto pairs = stage_of(*pattern, s);
        for (const auto& [from, to] : pairs) EXPECT_TRUE(has.contains(from)) << "stage " << s;
        for (const auto& [from, to] : pairs) EXPECT_TRUE(has.insert(to).second) << "stage " << s;
    }

    EXPECT_EQ(has.size(), 7u);
}

TEST(Pattern, GatherAndScatterMirrorEachOther) {
    EXPECT_EQ(stage_of(*make_pattern("gather:1", 3), 0), (Numbers{{0, 1}, {2, 1}}));
    EXPECT_EQ(stage_of(*make_pattern("scatter:1", 3), 0), (Numbers{{1, 0}, {1, 2}}));
}

TEST(Pattern, NeighborsOnAClosedGrid) {
    EXPECT_EQ(stage_of(*make_pattern("neighbor2d:3x2", 6), 0), (Numbers{{0, 1},
                                                                        {0, 2},
                                                                        {0, 4},
                                                                        {1, 0},
                                                                        {1, 3},
                                                                        {1, 5},
                                                                        {2, 0},
                                                                        {2, 3},
                                                                        {2, 4},
                                                                        {3, 1},
                                                                        {3, 2},
                                                                        {3, 5},
                                                                        {4, 0},
                                                                        {4, 2},
                                                                        {4, 5},
                                                                        {5, 1},
                                                                        {5, 3},
                                                                        {5, 4}}));
    const auto cube = stage_of(*make_pattern("neighbor3d", 27), 0);
    EXPECT_EQ(cube.size(), 27u * 6);
    EXPECT_EQ(std::set(cube.begin(), cube.end()).size(), 27u * 6);
    EXPECT_TRUE(stage_of(*make_pattern("neighbor2d", 1), 0).empty());
}

TEST(Pattern, NearSquare) {
    EXPECT_EQ(near_square(12, 2), (std::vector<std::size_t>{4, 3}));
    EXPECT_EQ(near_square(1728, 3), (std::vector<std::size_t>{12, 12, 12}));
    EXPECT_EQ(near_square(7, 3), (std::vector<std::size_t>{7, 1, 1}));
    EXPECT_EQ(near_square(16, 3), (std::vector<std::size_t>{4, 2, 2}));
}

TEST(Pattern, RandomOnesDependOnSeedAndStageOnly) {
    const auto a = make_pattern("bisect:5", 101, 3);
    const auto b = make_pattern("bisect:50", 101, 3);
    const auto c = make_pattern("bisect:5", 101, 4);

    EXPECT_EQ(stage_of(*a, 4), stage_of(*b, 4));
    EXPECT_NE(stage_of(*a, 3), stage_of(*a, 4));
    EXPECT_NE(stage_of(*a, 4), stage_of(*c, 4));
}

TEST(Pattern, BisectUsesEachRankOnceAndHalvesFairly) {
    const auto pattern = make_pattern("bisect:2000", 10, 1);
    std::map<std::pair<unsigned, unsigned>, int> met;

    for (std::size_t s = 0; s < pattern->stages(); ++s) {
        const auto pairs = stage_of(*pattern, s);
        std::set<unsigned> used;
        for (const auto& p : pairs) {
            EXPECT_TRUE(used.insert(p.first).second && used.insert(p.second).second);
            ++met[p];
        }
        EXPECT_EQ(used.size(), 10u);
    }

    EXPECT_EQ(met.size(), 90u);  // each ordered pair: 2000 * 5 / 90 = 111 times expected
    for (const auto& [p, times] : met) EXPECT_NEAR(times, 111, 55);
}

TEST(Pattern, PermutationSkipsFixedPoints) {
    const auto pattern = make_pattern("permutation:30", 5, 1);

    for (std::size_t s = 0; s < 30; ++s) {
        std::set<unsigned> from;
        std::set<unsigned> to;
        for (const auto& [a, b] : stage_of(*pattern, s)) {
            EXPECT_NE(a, b);
            EXPECT_TRUE(from.insert(a).second && to.insert(b).second);
        }
        EXPECT_EQ(from, to);
    }
}

TEST(Pattern, PermutationsDifferFromStageToStage) {
    const auto pattern = make_pattern("permutation:10", 50, 1);
    std::set<Numbers> seen;

    for (std::size_t s = 0; s < 10; ++s) seen.insert(stage_of(*pattern, s));

    EXPECT_EQ(seen.size(), 10u);
}

TEST(Pattern, OneRankSendsNothing) {
    for (const PatternKind& kind : pattern_kinds()) {
        if (kind.name == "pairs" || kind.name == "goal") continue;
        const auto pattern = make_pattern(kind.name, 1);
        for (std::size_t s = 0; s < pattern->stages(); ++s) EXPECT_TRUE(stage_of(*pattern, s).empty()) << kind.name;
    }
}

TEST(Pattern, EveryNameIsMadeAndListed) {
    for (const PatternKind& kind : pattern_kinds()) {
        EXPECT_THAT(pattern_help(), testing::HasSubstr(std::string(kind.name)));
        if (kind.name == "pairs" || kind.name == "goal") continue;
        EXPECT_EQ(make_pattern(kind.name, 12)->name(), kind.name);
        EXPECT_EQ(make_pattern(kind.name, 12)->ranks(), 12u);
    }
}

TEST(Pattern, BadSpecsAreRefused) {
    for (const char* spec : {"", "shifty", "shift:", "shift:0", "shift:12", "shift:x", "shift:3 ", "ring:1",
                             "gather:12", "neighbor2d:5x3", "neighbor2d:12", "neighbor3d:2x2x3x1", "neighbor2d:x12",
                             "neighbor2d:0x12", "bisect:0", "bisect:-1", "pairs", "pairs:", "goal"})
        EXPECT_THROW((void)make_pattern(spec, 12), UsageError) << spec;
    EXPECT_THROW((void)make_pattern("shift", 0), UsageError);
    EXPECT_THROW((void)make_pattern("pairs:/nonexistent/file", 12), IoError);
    EXPECT_THROW((void)make_pattern("goal:/nonexistent/file", 12), IoError);
}

TEST(PairsFile, StagesArePartedByBlankLines) {
    const auto pattern = read_pairs("\n# start\n0 1\n2,3  # two\n# not a border\n1 0\n\n\n \n4\t5\r\n", "p", 6);

    ASSERT_EQ(pattern->stages(), 2u);
    EXPECT_EQ(stage_of(*pattern, 0), (Numbers{{0, 1}, {1, 0}, {2, 3}}));
    EXPECT_EQ(stage_of(*pattern, 1), (Numbers{{4, 5}}));
}

TEST(PairsFile, WrongLinesAreNamed) {
    const auto message = [](const char* text) -> std::string {
        try {
            (void)read_pairs(text, "p.txt", 6);
        } catch (const ParseError& error) {
            return error.what();
        }
        return "no error";
    };

    EXPECT_EQ(message("0 1\n1\n"), "p.txt:2: expected two ranks, \"FROM TO\", got \"1\"");
    EXPECT_EQ(message("0 1\n\n1 6\n"), "p.txt:3: expected ranks from 0 to 5, got 6");
    EXPECT_EQ(message("0 1 2\n"), "p.txt:1: expected two ranks, \"FROM TO\", got \"0 1 2\"");
    EXPECT_EQ(message("0 -1\n"), "p.txt:1: expected two ranks, \"FROM TO\", got \"0 -1\"");
    EXPECT_EQ(message("3 3\n"), "p.txt:1: rank 3 sends to itself, expected two different ranks");
    EXPECT_EQ(message("# nothing\n"), "p.txt:1: expected at least one pair of ranks");
}

}  // namespace
}  // namespace loom::traffic
