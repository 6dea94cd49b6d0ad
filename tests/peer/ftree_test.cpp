// Loomband's ftree beside OpenSM's, on whole and on damaged trees: never more contention.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "peer/side_by_side.hpp"

namespace loom::peer {
namespace {

using fabric::Damage;
using fabric::Pgft;

struct Tree {
    std::string name;
    Pgft parameters;
    bool full = true;  // as many cables up as down, so that no stage needs to share any
};

Pgft tapered() {
    return {.children = {6, 6}, .parents = {1, 3}, .parallel = {1, 1}};
}
Pgft three_levels() {
    return {.children = {4, 4, 3}, .parents = {1, 2, 2}, .parallel = {1, 2, 2}};
}

std::vector<Tree> trees() {
    return {
        {"4-ary-2-tree", fabric::kary_tree(4, 2)},
        {"4-ary-3-tree", fabric::kary_tree(4, 3)},
        {"4-ary-3-tree with merged roots", fabric::merge_roots(fabric::kary_tree(4, 3))},
        {"PGFT(2; 6,6; 1,3; 1,1)", tapered(), false},
        {"PGFT(3; 4,4,3; 1,2,2; 1,2,2)", three_levels(), false},
        {"12-ary-2-tree", fabric::kary_tree(12, 2)},
    };
}

struct Wear {
    std::string name;
    std::function<void(Damage&)> apply;
};

// What OpenSM's ftree still takes for a fat tree, most of the time.
std::vector<Wear> symmetric_wear() {
    return {
        {"1 host", [](Damage& damage) { damage.hosts = {.count = 1}; }},
        {"10 % of the hosts", [](Damage& damage) { damage.hosts = {.share = 0.1}; }},
        {"40 % of the hosts", [](Damage& damage) { damage.hosts = {.share = 0.4}; }},
        {"1 switch", [](Damage& damage) { damage.switches = {.count = 1}; }},
    };
}

std::vector<Wear> broken_cables() {
    return {
        {"1 link", [](Damage& damage) { damage.links = {.count = 1}; }},
        {"5 % of the links", [](Damage& damage) { damage.links = {.share = 0.05}; }},
        {"2 links, 1 switch, 2 hosts",
         [](Damage& damage) {
             damage.links = {.count = 2};
             damage.switches = {.count = 1};
             damage.hosts = {.count = 2};
         }},
    };
}

// More seeds for a long search: LOOM_PEER_SEEDS=40 ./test_peer --gtest_filter='Ftree.*'.
unsigned seeds() {
    const char* asked = std::getenv("LOOM_PEER_SEEDS");
    return asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 3;
}

struct Comparison {
    bool opensm_routed = false;
    std::string refusal;  // OpenSM's first error when it did not
    ShiftContention theirs;
    ShiftContention ours;
    std::size_t hosts = 0;
};

Comparison compare(const fabric::Fabric& fabric) {
    Subnet subnet(ibsim_text(fabric));
    const OpensmRun run = subnet.opensm({.engine = "ftree", .fallback = Fallback::minhop});
    Comparison result;
    result.opensm_routed = run.came_up && run.engine_used == "ftree";
    if (!result.opensm_routed) result.refusal = run.errors.empty() ? "no reason given" : run.errors.front();
    const Discovered net(subnet);
    result.hosts = net.hosts.size();
    result.theirs = shift_contention(net, net.bind(run.lfts));
    result.ours = shift_contention(net, net.route("ftree"));
    return result;
}

std::string text(const Comparison& c) {
    return fmt::format("OpenSM worst {} mean {:.4f}, Loomband worst {} mean {:.4f}, {} hosts", c.theirs.worst,
                       c.theirs.mean, c.ours.worst, c.ours.mean, c.hosts);
}

constexpr double rounding = 1e-9;

TEST(Ftree, HasNoContentionAndNoMoreThanOpensmOnWholeTrees) {
    for (const Tree& tree : trees()) {
        SCOPED_TRACE(tree.name);

        const Comparison c = compare(fabric::pgft(tree.parameters));

        EXPECT_TRUE(c.opensm_routed) << c.refusal;
        EXPECT_EQ(c.ours.unreachable, 0u);
        EXPECT_EQ(c.theirs.unreachable, 0u);
        EXPECT_LE(c.ours.worst, c.theirs.worst) << text(c);
        EXPECT_LE(c.ours.mean, c.theirs.mean + rounding) << text(c);
        EXPECT_TRUE(!tree.full || c.ours.worst == 1) << text(c);
    }
}

// All trees, all kinds of wear, all seeds. OpenSM refuses many of them and falls back to minhop.
void compare_damaged(const std::vector<Wear>& kinds, const std::function<void(const Comparison&)>& judge) {
    for (const Tree& tree : trees())
        for (const Wear& wear : kinds)
            for (unsigned seed = 1; seed <= seeds(); ++seed) {
                SCOPED_TRACE(fmt::format("{}, {}, seed {}", tree.name, wear.name, seed));
                Damage damage;
                damage.seed = seed;
                wear.apply(damage);

                const Comparison c = compare(fabric::damage(fabric::pgft(tree.parameters), damage).fabric);

                EXPECT_EQ(c.ours.unreachable, 0u);
                EXPECT_EQ(c.theirs.unreachable, 0u);
                judge(c);
            }
}

TEST(Ftree, HasNoMoreContentionThanOpensmOnDamagedTrees) {
    unsigned compared = 0;

    compare_damaged(symmetric_wear(), [&](const Comparison& c) {
        if (!c.opensm_routed) return;
        EXPECT_LE(c.ours.worst, c.theirs.worst) << text(c);
        EXPECT_LE(c.ours.mean, c.theirs.mean + rounding) << text(c);
        ++compared;
    });

    EXPECT_GE(compared, 10 * seeds());
}

TEST(Ftree, RoutesWhatOpensmRefusesAndHasLessContentionThanItsFallback) {
    unsigned refused = 0;
    double ours = 0, theirs = 0;

    compare_damaged(broken_cables(), [&](const Comparison& c) {
        refused += c.opensm_routed ? 0 : 1;
        ours += c.ours.mean;
        theirs += c.theirs.mean;
    });

    EXPECT_GT(refused, 0u);
    EXPECT_LT(ours, theirs);
}

}  // namespace
}  // namespace loom::peer
