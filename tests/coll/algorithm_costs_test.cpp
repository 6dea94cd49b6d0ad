// Messages, bytes and rounds of every algorithm against the formulas of the textbooks; copies, hosts, bits.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>

#include "loom/coll/algorithm.hpp"
#include "reference/collective_cases.hpp"
#include "reference/plan_interpreter.hpp"

namespace loom::coll {
namespace {

using traffic::OpKind;
using traffic::Schedule;

struct Cost {
    std::uint64_t messages = 0, bytes = 0, rounds = 0;
    friend bool operator==(const Cost&, const Cost&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Cost& cost) {
        return out << cost.messages << " messages, " << cost.bytes << " bytes, " << cost.rounds << " rounds";
    }
};

Cost cost_of(const Schedule& schedule) {
    Cost cost;
    for (const traffic::Op& op : schedule.ops())
        if (op.kind == OpKind::send) {
            ++cost.messages;
            cost.bytes += op.amount;
        }
    cost.rounds = reference::message_depth(schedule);
    return cost;
}

Schedule schedule_of(Collective what, std::string_view name, std::uint32_t ranks, std::uint64_t bytes,
                     const Tuning& tuning = {}) {
    Group group;
    group.size = ranks;
    const Call call{.what = what, .root = {}, .bytes = bytes, .element = 8, .sent = {}, .received = {}};
    return whole_schedule(find_algorithm(what, name), group, {&call, 1}, tuning);
}

std::uint64_t log2_of(std::uint64_t p) {
    std::uint64_t log = 0;
    while (1u << log < p) ++log;
    return log;
}

// P ranks, a power of two, k its logarithm; B bytes of the message or block, a multiple of 8 P.
struct Formula {
    Collective what;
    std::string_view name;
    std::function<Cost(std::uint64_t P, std::uint64_t k, std::uint64_t B)> cost;
};

const Formula formulas[] = {
    {Collective::barrier, "dissemination",
     [](auto P, auto k, auto) {
         return Cost{P * k, 0, k};
     }},
    {Collective::barrier, "linear",
     [](auto P, auto, auto) {
         return Cost{2 * (P - 1), 0, 2};
     }},
    {Collective::barrier, "binomial",
     [](auto P, auto k, auto) {
         return Cost{2 * (P - 1), 0, 2 * k};
     }},
    {Collective::broadcast, "linear",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, 1};
     }},
    {Collective::broadcast, "binomial",
     [](auto P, auto k, auto B) {
         return Cost{P - 1, (P - 1) * B, k};
     }},
    {Collective::broadcast, "chain",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, P - 1};
     }},
    // What is sent beside the datagrams.
    {Collective::broadcast, "multicast",
     [](auto P, auto, auto B) {
         return Cost{(P - 1) * ((B + 999) / 1000), (P - 1) * B, P - 1};
     }},
    // Parts that a rank passed on down the tree are not sent to it again, and nobody waits for a round to end.
    {Collective::broadcast, "scatter-allgather",
     [](auto P, auto k, auto B) {
         const auto held = P / 2 * k;
         return Cost{P - 1 + P * P - P - held, (held + P * P - P - held) * (B / P), P - 1};
     }},
    {Collective::gather, "linear",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, 1};
     }},
    {Collective::gather, "binomial",
     [](auto P, auto k, auto B) {
         return Cost{P - 1, P / 2 * k * B, k};
     }},
    {Collective::scatter, "linear",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, 1};
     }},
    {Collective::scatter, "binomial",
     [](auto P, auto k, auto B) {
         return Cost{P - 1, P / 2 * k * B, k};
     }},
    {Collective::allgather, "linear",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, 1};
     }},
    {Collective::allgather, "ring",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, P - 1};
     }},
    {Collective::allgather, "bruck",
     [](auto P, auto k, auto B) {
         return Cost{P * k, P * (P - 1) * B, k};
     }},
    {Collective::allgather, "recursive-doubling",
     [](auto P, auto k, auto B) {
         return Cost{P * k, P * (P - 1) * B, k};
     }},
    {Collective::allgather, "gather-broadcast",
     [](auto P, auto k, auto B) {
         return Cost{2 * (P - 1), P / 2 * k * B + (P - 1) * P * B, 2 * k};
     }},
    {Collective::alltoall, "linear",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, 1};
     }},
    {Collective::alltoall, "pairwise",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, P - 1};
     }},
    {Collective::alltoall, "bruck",
     [](auto P, auto k, auto B) {
         return Cost{P * k, P * (P / 2) * k * B, k};
     }},
    {Collective::reduce, "linear",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, 1};
     }},
    {Collective::reduce, "binomial",
     [](auto P, auto k, auto B) {
         return Cost{P - 1, (P - 1) * B, k};
     }},
    {Collective::reduce, "chain",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, P - 1};
     }},
    {Collective::reduce, "rabenseifner",
     [](auto P, auto k, auto B) {
         return Cost{P * k + P - 1, (P - 1) * B + P / 2 * k * (B / P), 2 * k};
     }},
    {Collective::allreduce, "recursive-doubling",
     [](auto P, auto k, auto B) {
         return Cost{P * k, P * k * B, k};
     }},
    {Collective::allreduce, "full-exchange",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, 1};
     }},
    {Collective::allreduce, "linear",
     [](auto P, auto, auto B) {
         return Cost{2 * (P - 1), 2 * (P - 1) * B, 2};
     }},
    {Collective::allreduce, "binomial",
     [](auto P, auto k, auto B) {
         return Cost{2 * (P - 1), 2 * (P - 1) * B, 2 * k};
     }},
    {Collective::allreduce, "chain",
     [](auto P, auto, auto B) {
         return Cost{2 * (P - 1), 2 * (P - 1) * B, 2 * (P - 1)};
     }},
    {Collective::allreduce, "rabenseifner",
     [](auto P, auto k, auto B) {
         return Cost{2 * P * k, 2 * (P - 1) * B, 2 * k};
     }},
    {Collective::allreduce, "ring",
     [](auto P, auto, auto B) {
         return Cost{2 * P * (P - 1), 2 * (P - 1) * B, 2 * (P - 1)};
     }},
    {Collective::reduce_scatter_block, "linear",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, 1};
     }},
    {Collective::reduce_scatter_block, "pairwise",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, P - 1};
     }},
    {Collective::reduce_scatter_block, "recursive-halving",
     [](auto P, auto k, auto B) {
         return Cost{P * k, P * (P - 1) * B, k};
     }},
    {Collective::reduce_scatter_block, "ring",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1), P * (P - 1) * B, P - 1};
     }},
    {Collective::reduce_scatter_block, "reduce-scatter",
     [](auto P, auto k, auto B) {
         return Cost{2 * (P - 1), (P - 1) * P * B + P / 2 * k * B, 2 * k};
     }},
    {Collective::scan, "linear",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1) / 2, P * (P - 1) / 2 * B, 1};
     }},
    {Collective::scan, "chain",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, P - 1};
     }},
    {Collective::scan, "recursive-doubling",
     [](auto P, auto k, auto B) {
         return Cost{P * k - (P - 1), (P * k - (P - 1)) * B, k};
     }},
    {Collective::exscan, "linear",
     [](auto P, auto, auto B) {
         return Cost{P * (P - 1) / 2, P * (P - 1) / 2 * B, 1};
     }},
    {Collective::exscan, "chain",
     [](auto P, auto, auto B) {
         return Cost{P - 1, (P - 1) * B, P - 1};
     }},
    {Collective::exscan, "recursive-doubling",
     [](auto P, auto k, auto B) {
         return Cost{P * k - (P - 1), (P * k - (P - 1)) * B, k};
     }},
};

TEST(AlgorithmCosts, are_those_of_the_textbooks) {
    for (const Formula& formula : formulas)
        for (const std::uint32_t ranks : {2u, 4u, 8u, 16u}) {
            constexpr std::uint64_t bytes = 1024;

            const Cost cost = cost_of(schedule_of(formula.what, formula.name, ranks, bytes));

            EXPECT_EQ(cost, formula.cost(ranks, log2_of(ranks), bytes))
                << to_string(formula.what) << ' ' << formula.name << " on " << ranks;
        }
}

TEST(AlgorithmCosts, every_plain_algorithm_has_its_formula) {
    const auto of_equal_blocks = [](Collective what) {
        return what != Collective::gatherv && what != Collective::scatterv && what != Collective::allgatherv &&
               what != Collective::alltoallv && what != Collective::reduce_scatter &&
               what < Collective::neighbour_allgather;
    };
    const std::map<std::string_view, std::string_view> elsewhere{
        {"hierarchical", "hosts"}, {"knomial", "ways"}, {"binary", "segments"}};
    for (std::size_t i = 0; i < collectives; ++i) {
        const auto what = static_cast<Collective>(i);
        if (!of_equal_blocks(what)) continue;
        for (const Algorithm& algorithm : algorithms(what)) {
            const bool found = std::any_of(std::begin(formulas), std::end(formulas), [&](const Formula& formula) {
                return formula.what == what && formula.name == algorithm.name;
            });
            EXPECT_TRUE(found || elsewhere.contains(algorithm.name)) << to_string(what) << ' ' << algorithm.name;
        }
    }
}

TEST(AlgorithmCosts, dissemination_takes_the_logarithm_to_the_base_of_ways_and_one) {
    for (std::uint32_t ways = 1; ways <= 6; ++ways)
        for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) {
            std::uint64_t rounds = 0, reach = 1, messages = 0;
            for (; reach < ranks; reach *= ways + 1, ++rounds)
                messages += ranks * std::min<std::uint64_t>(ways, (ranks - 1) / reach);

            const Cost cost = cost_of(schedule_of(Collective::barrier, "dissemination", ranks, 0, {.ways = ways}));

            EXPECT_EQ(cost, (Cost{messages, 0, rounds})) << ways << "-way on " << ranks;
        }
}

TEST(AlgorithmCosts, numbers_that_are_no_power_of_two_take_two_rounds_more) {
    // 4 of 7 and 8 of 15 ranks take part; the rest give and get whole messages.
    EXPECT_EQ(cost_of(schedule_of(Collective::allreduce, "recursive-doubling", 7, 80)),
              (Cost{4 * 2 + 6, (4 * 2 + 6) * 80, 4}));
    EXPECT_EQ(cost_of(schedule_of(Collective::allreduce, "recursive-doubling", 15, 8)),
              (Cost{8 * 3 + 14, (8 * 3 + 14) * 8, 5}));
    EXPECT_EQ(cost_of(schedule_of(Collective::allreduce, "rabenseifner", 5, 320)),
              (Cost{2 * 4 * 2 + 2, 2 * 3 * 320 + 2 * 320, 6}));
}

TEST(AlgorithmCosts, segments_multiply_messages_and_not_rounds) {
    for (const std::string_view name : {"chain", "binary", "binomial"}) {
        const Cost whole = cost_of(schedule_of(Collective::broadcast, name, 8, 64 * 1024));

        const Cost cut = cost_of(schedule_of(Collective::broadcast, name, 8, 64 * 1024, {.segment = 4096}));

        EXPECT_EQ(cut, (Cost{whole.messages * 16, whole.bytes, whole.rounds})) << name;
    }
}

TEST(AlgorithmCosts, a_binary_tree_of_15_is_3_deep_and_a_4_nomial_tree_of_64_too) {
    EXPECT_EQ(cost_of(schedule_of(Collective::broadcast, "binary", 15, 8)), (Cost{14, 14 * 8, 3}));
    EXPECT_EQ(cost_of(schedule_of(Collective::reduce, "binary", 15, 8)), (Cost{14, 14 * 8, 3}));
    EXPECT_EQ(cost_of(schedule_of(Collective::broadcast, "knomial", 64, 8, {.ways = 3})), (Cost{63, 63 * 8, 3}));
}

TEST(AlgorithmCosts, nothing_is_copied_that_needs_not_be) {
    // Own blocks that must be in the output are one copy a rank; reductions that commute need none.
    const std::map<Collective, std::uint64_t> copies{{Collective::broadcast, 0}, {Collective::reduce, 0},
                                                     {Collective::allreduce, 0}, {Collective::reduce_scatter_block, 0},
                                                     {Collective::scan, 1},      {Collective::alltoall, 8},
                                                     {Collective::allgather, 8}, {Collective::gather, 1},
                                                     {Collective::scatter, 1}};
    for (const auto& [what, expected] : copies) {
        for (const Algorithm& algorithm : algorithms(what)) {
            if (algorithm.name == "hierarchical" || algorithm.name == "bruck") continue;
            if (what != Collective::reduce_scatter_block && algorithm.name == "binomial" && expected == 1) continue;
            if (algorithm.name == "gather-broadcast" || algorithm.name == "reduce-scatter") continue;
            const Schedule schedule = schedule_of(what, algorithm.name, 8, 64);

            const auto count = std::count_if(schedule.ops().begin(), schedule.ops().end(),
                                             [](const traffic::Op& op) { return op.kind == OpKind::copy; });

            EXPECT_EQ(static_cast<std::uint64_t>(count), expected) << to_string(what) << ' ' << algorithm.name;
        }
    }
}

// Messages between hosts.
std::uint64_t crossing(const Schedule& schedule, const Group& group) {
    std::uint64_t count = 0;
    for (std::uint32_t r = 0; r < group.size; ++r)
        for (const traffic::Op& op : schedule.ops(Rank{r}))
            if (op.kind == OpKind::send && group.hosts[r] != group.hosts[op.peer.value]) ++count;
    return count;
}

TEST(AlgorithmCosts, hierarchical_ones_cross_between_hosts_once) {
    const std::vector<std::uint32_t> hosts{0, 0, 1, 1, 1, 2, 0, 2, 3, 3};
    Group group;
    group.size = 10;
    group.hosts = hosts;
    const auto crosses = [&](Collective what) {
        const Call call{.what = what, .root = Rank{4}, .bytes = 64, .element = 8, .sent = {}, .received = {}};
        return crossing(whole_schedule(find_algorithm(what, "hierarchical"), group, {&call, 1}), group);
    };

    EXPECT_EQ(crosses(Collective::barrier), 4u * 2);
    EXPECT_EQ(crosses(Collective::broadcast), 3u);
    EXPECT_EQ(crosses(Collective::reduce), 3u);
    EXPECT_EQ(crosses(Collective::allreduce), 4u * 2);
}

TEST(AlgorithmCosts, combining_neighbours_send_fewer_messages) {
    // 16 ranks on 4 hosts, each with all of the 8 behind it as destinations.
    std::vector<std::uint32_t> hosts(16);
    std::vector<Neighbours> neighbours(16);
    for (std::uint32_t r = 0; r < 16; ++r) {
        hosts[r] = r / 4;
        for (std::uint32_t d = 1; d <= 8; ++d) {
            neighbours[r].destinations.push_back(Rank{(r + d) % 16});
            neighbours[(r + d) % 16].sources.push_back(Rank{r});
        }
    }
    Group group;
    group.size = 16;
    group.hosts = hosts;
    group.neighbours = neighbours;
    for (const Collective what : {Collective::neighbour_allgather, Collective::neighbour_alltoall}) {
        const Call call{.what = what, .root = {}, .bytes = 64, .sent = {}, .received = {}};
        const auto schedule = [&](std::string_view name) {
            return whole_schedule(find_algorithm(what, name), group, {&call, 1});
        };

        EXPECT_EQ(cost_of(schedule("linear")).messages, 16u * 8);
        EXPECT_EQ(cost_of(schedule("distance")).messages, 16u * 4);
        EXPECT_EQ(cost_of(schedule("distance")).rounds, 3u);
        // Each host has neighbours on the two next ones (the third begins 9 away from its last but at 8 from its
        // first).
        EXPECT_EQ(crossing(schedule("linear"), group), 16u * 8 - 4u * 6);
        EXPECT_EQ(crossing(schedule("hierarchical"), group), 4u * 2);
    }
}

// Sums of floats depend on brackets: all ranks must have put the same ones.
TEST(Allreduce, all_ranks_get_the_same_bits) {
    const Reduction op{[](const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
                           for (std::uint64_t i = 0; i < count; ++i) {
                               float left, right;
                               std::memcpy(&left, in + 4 * i, 4);
                               std::memcpy(&right, inout + 4 * i, 4);
                               right = left + right;
                               std::memcpy(inout + 4 * i, &right, 4);
                           }
                       },
                       nullptr, 4, true};
    for (const std::uint32_t ranks : {2u, 3u, 5u, 8u, 13u})
        for (const bool in_place : {false, true})
            for (const Algorithm& algorithm : algorithms(Collective::allreduce)) {
                Random random(ranks);
                std::vector<std::uint32_t> hosts(ranks);
                for (std::uint32_t r = 0; r < ranks; ++r) hosts[r] = r / 3;
                Group group;
                group.size = ranks;
                group.hosts = hosts;
                Call call{
                    .what = Collective::allreduce, .root = {}, .bytes = 400, .element = 4, .sent = {}, .received = {}};
                call.in_place = in_place;
                if (!algorithm.fits(group, call)) continue;
                std::vector<Plan> plans;
                std::vector<reference::RankData> data(ranks);
                for (std::uint32_t r = 0; r < ranks; ++r) {
                    group.me = Rank{r};
                    plans.push_back(make_plan(algorithm, group, call, {.segment = 100}));
                    data[r].input.resize(400);
                    for (std::size_t i = 0; i < 100; ++i) {
                        const auto value = static_cast<float>(random.unit() * 1e6 - 5e5);
                        std::memcpy(data[r].input.data() + 4 * i, &value, 4);
                    }
                    data[r].output = data[r].input;
                }

                reference::run_plans(plans, data, &op, ranks);

                for (std::uint32_t r = 1; r < ranks; ++r)
                    EXPECT_EQ(data[r].output, data[0].output) << algorithm.name << " on " << ranks << ", rank " << r;
            }
}

}  // namespace
}  // namespace loom::coll
