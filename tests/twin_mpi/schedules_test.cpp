// Random messages between ranks, with and without wildcards, beside what the standard allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "loom/base/random.hpp"
#include "twin_mpi/play.hpp"

namespace loom::twin_mpi {
namespace {

struct Planned {
    int from, to, tag, count;
    std::uint32_t number;  // of all
};

std::vector<Planned> random_messages(Random& random, int ranks, int messages) {
    std::vector<Planned> all;
    for (int i = 0; i < messages; ++i) {
        const auto draw = [&](int most) { return static_cast<int>(random.below(static_cast<std::uint32_t>(most))); };
        const int sizes[] = {0, 1, 7, 300, 20'000};
        all.push_back({draw(ranks), draw(ranks), draw(3), 1 + sizes[draw(5)], static_cast<std::uint32_t>(i)});
    }
    return all;
}

// What a receive got.
struct Got {
    int from, tag, count;
    std::uint32_t number;
};

// What receives leave open: the same for all of a job, or one could take what only another may.
enum class Open { nothing, source, tag, both };

// Each rank starts its receives and sends in the order of the plan and waits for all: what it got, by its receives.
std::vector<Got> communicate(const std::vector<Planned>& plan, std::uint64_t seed, Open open) {
    const int me = my_rank();
    Random random(seed + static_cast<std::uint64_t>(me));
    std::vector<MPI_Request> sends, receives;
    std::vector<std::vector<std::uint32_t>> out, in;
    for (const Planned& each : plan) {
        if (each.to == me) {
            in.emplace_back(20'001, 0);
            const bool any_source = open == Open::source || open == Open::both;
            const bool any_tag = open == Open::tag || open == Open::both;
            MPI_Request& request = receives.emplace_back();
            MPI_Irecv(in.back().data(), 20'001, MPI_UINT32_T, any_source ? MPI_ANY_SOURCE : each.from,
                      any_tag ? MPI_ANY_TAG : each.tag, MPI_COMM_WORLD, &request);
        }
        if (each.from == me) {
            out.emplace_back(static_cast<std::size_t>(each.count), each.number);
            MPI_Request& request = sends.emplace_back();
            (random.below(4) == 0 ? MPI_Issend : MPI_Isend)(out.back().data(), each.count, MPI_UINT32_T, each.to,
                                                            each.tag, MPI_COMM_WORLD, &request);
        }
        if (random.below(5) == 0) MPI_Wtime();
    }
    std::vector<MPI_Status> statuses(receives.size());
    MPI_Waitall(static_cast<int>(receives.size()), receives.data(), statuses.data());
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    std::vector<Got> got;
    for (std::size_t i = 0; i < in.size(); ++i) {
        int count = -1;
        MPI_Get_count(&statuses[i], MPI_UINT32_T, &count);
        got.push_back({statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, count, in[i].front()});
        EXPECT_EQ(in[i][static_cast<std::size_t>(count - 1)], in[i].front());
    }
    return got;
}

// Exact receives: those of one sender and tag get its messages in their order, so everything is known.
void check_exact(const std::vector<Planned>& plan, int me, const std::vector<Got>& got) {
    std::size_t i = 0;
    for (const Planned& each : plan) {
        if (each.to != me) continue;
        ASSERT_LT(i, got.size());
        EXPECT_EQ(got[i].number, each.number);
        EXPECT_EQ(got[i].from, each.from);
        EXPECT_EQ(got[i].tag, each.tag);
        EXPECT_EQ(got[i].count, each.count);
        ++i;
    }
    EXPECT_EQ(i, got.size());
}

// Any message to any receive, but each once, and those of one sender and tag in their order.
void check_wild(const std::vector<Planned>& plan, int me, const std::vector<Got>& got) {
    std::map<std::pair<int, int>, std::vector<std::uint32_t>> wanted, seen;
    for (const Planned& each : plan)
        if (each.to == me) wanted[{each.from, each.tag}].push_back(each.number);
    for (const Got& each : got) {
        seen[{each.from, each.tag}].push_back(each.number);
        ASSERT_LT(each.number, plan.size());
        EXPECT_EQ(plan[each.number].tag, each.tag);
        EXPECT_EQ(plan[each.number].count, each.count);
    }
    EXPECT_EQ(seen, wanted);
}

TEST(Schedules, EndAsTheStandardSays) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Random random(seed);
        const int count = 1 + static_cast<int>(random.below(9));
        const std::vector<Planned> plan = random_messages(random, count, 5 + static_cast<int>(random.below(60)));
        for (const Open open : {Open::nothing, Open::source, Open::tag, Open::both}) {
            std::vector<std::vector<Got>> got(static_cast<std::size_t>(count));

            const Outcome outcome = play(ranks(static_cast<std::uint32_t>(count)), [&] {
                got[static_cast<std::size_t>(my_rank())] = communicate(plan, seed, open);
            });

            ASSERT_EQ(outcome.failure, "") << seed;
            ASSERT_EQ(outcome.result.state, sim::State::finished)
                << seed << ": " << testing::PrintToString(outcome.result.trouble);
            for (int rank = 0; rank < count; ++rank) {
                if (open == Open::nothing)
                    check_exact(plan, rank, got[static_cast<std::size_t>(rank)]);
                else
                    check_wild(plan, rank, got[static_cast<std::size_t>(rank)]);
            }
            ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", " << static_cast<int>(open);
        }
    }
}

TEST(Schedules, TakeTheSameTimeAgain) {
    Random random(5);
    const std::vector<Planned> plan = random_messages(random, 6, 80);
    const auto once = [&] { return play(ranks(6), [&] { communicate(plan, 9, Open::both); }).result; };

    const twin::Result first = once();

    for (int i = 0; i < 5; ++i) EXPECT_EQ(once().ranks, first.ranks);
}

}  // namespace
}  // namespace loom::twin_mpi
