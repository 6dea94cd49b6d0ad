#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "coll/talk.hpp"
#include "coll/world_state.hpp"
#include "loom/coll/typed.hpp"

namespace loom::coll {
namespace {

constexpr std::uint32_t rank_counts[] = {1, 2, 3, 5, 8};

TEST(Engine, an_allreduce_gives_the_sum_everywhere_at_every_number_of_ranks_and_size) {
    for (const std::uint32_t ranks : rank_counts) {
        run_local(ranks, [&](World& world) {
            const Communicator comm = world.communicator();
            for (const std::size_t count : {0u, 1u, 7u, 1000u, 100'000u}) {
                std::vector<std::int64_t> in(count), out(count), expected(count);
                for (std::size_t i = 0; i < count; ++i) {
                    in[i] = static_cast<std::int64_t>(i + world.rank().value);
                    expected[i] = static_cast<std::int64_t>(i * ranks + ranks * (ranks - 1) / 2);
                }

                auto request = comm.iallreduce(in, out, std::plus<>{});
                request.wait();

                EXPECT_EQ(out, expected);
                EXPECT_TRUE(request.finished());
            }
        });
    }
}

TEST(Engine, many_in_flight_end_in_any_order) {
    run_local(3, [&](World& world) {
        const Communicator comm = world.communicator();
        constexpr std::size_t many = 40;
        std::vector<std::vector<double>> data(many);
        std::vector<Request> requests(many);
        for (std::size_t i = 0; i < many; ++i) {
            data[i].assign(i * 100, world.rank() == Rank{1} ? static_cast<double>(i) : -1.0);
            requests[i] = comm.ibroadcast(data[i], Rank{1});
        }
        const std::size_t started = world.pending();

        for (std::size_t i = many; i-- > 0;) requests[i].wait();

        EXPECT_LE(started, many);
        EXPECT_EQ(world.pending(), 0u);
        for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(data[i], std::vector<double>(i * 100, static_cast<double>(i)));
    });
}

TEST(Engine, a_persistent_operation_starts_again_on_what_its_buffers_hold_then) {
    run_local(4, [&](World& world) {
        const Communicator comm = world.communicator();
        std::vector<int> in(3), out(3);
        Persistent sum = comm.persistent_allreduce(in, out, std::plus<>{});
        Persistent largest = comm.persistent_allreduce(in, out, maximum);

        for (int round = 0; round < 50; ++round) {
            in.assign(3, round + static_cast<int>(world.rank().value));
            sum.start();
            sum.wait();
            EXPECT_EQ(out, std::vector<int>(3, 4 * round + 6));
            largest.start();
            while (!largest.test()) {
            }
            EXPECT_EQ(out, std::vector<int>(3, round + 3));
        }
    });
}

TEST(Engine, memory_of_the_communicator_is_a_range_like_others) {
    run_local(3, [&](World& world) {
        const Communicator comm = world.communicator();
        auto in = comm.allocate<double>(1000);
        auto out = comm.allocate<double>(1000);
        const bool zeroed = std::all_of(in.begin(), in.end(), [](double x) { return x == 0; });
        std::fill(in.begin(), in.end(), 1.5);

        comm.allreduce(in, out, std::plus<>{});
        auto moved = std::move(out);

        EXPECT_TRUE(zeroed);
        EXPECT_EQ(moved.size(), 1000u);
        EXPECT_EQ(moved[999], 4.5);
    });
}

TEST(Engine, communicators_are_split_duplicated_and_given_neighbours) {
    run_local(6, [&](World& world) {
        const Communicator comm = world.communicator();
        const std::uint32_t me = world.rank().value;

        const Communicator twin = comm.duplicate();
        const auto half = comm.split(me % 2, 10 - me);
        const auto none = comm.split(me == 0 ? std::nullopt : std::optional<std::uint32_t>(1), 0);
        const Communicator grid = comm.cartesian(std::vector<std::uint32_t>{2, 3}, {true, false});
        Neighbours ring;
        ring.sources = {Rank{(me + 5) % 6}};
        ring.destinations = {Rank{(me + 1) % 6}};
        const Communicator graph = comm.graph(ring);

        EXPECT_EQ(twin.size(), 6u);
        ASSERT_TRUE(half.has_value());
        EXPECT_EQ(half->size(), 3u);
        EXPECT_EQ(half->rank().value, 2 - me / 2);
        EXPECT_EQ(none.has_value(), me != 0);
        std::vector<std::uint32_t> in{me}, all(3), four(4, 99), one(1);
        half->allgather(in, all);
        EXPECT_EQ(all, (std::vector<std::uint32_t>{4 + me % 2, 2 + me % 2, me % 2}));
        grid.neighbour_allgather(in, four);
        const std::uint32_t row = me / 3, column = me % 3;
        EXPECT_EQ(four, (std::vector<std::uint32_t>{(1 - row) * 3 + column, (1 - row) * 3 + column,
                                                    column > 0 ? me - 1 : 99, column < 2 ? me + 1 : 99}));
        graph.neighbour_allgather(in, one);
        EXPECT_EQ(one[0], (me + 5) % 6);
    });
}

// Ranks of a communicator are not those of the world, and what is made of it must not take them for those.
TEST(Engine, communicators_are_made_out_of_others) {
    run_local(6, [&](World& world) {
        const std::uint32_t me = world.rank().value;
        const std::vector<std::uint32_t> backwards{5, 4, 3, 2, 1, 0};
        const Communicator turned = world.communicator().renumbered(backwards);

        const Communicator half = turned.split(turned.rank().value / 3, 0).value();  // 5 4 3 and 2 1 0
        const Communicator third = half.split(half.rank().value == 1 ? 1 : 0, half.rank().value).value();
        const Communicator twin = half.duplicate();
        const Communicator again = half.renumbered(std::vector<std::uint32_t>{1, 2, 0});

        const std::uint32_t first = me < 3 ? 2 : 5;  // of the half, in the world
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(half.world_rank(Rank{rank}).value, first - rank);
            EXPECT_EQ(twin.world_rank(Rank{rank}).value, first - rank);
            EXPECT_EQ(again.world_rank(Rank{rank}).value, first - (rank + 1) % 3);
        }
        EXPECT_EQ(third.size(), me == first - 1 ? 1u : 2u);
        const std::vector<std::uint32_t> in{me};
        std::vector<std::uint32_t> of_half(3), of_third(third.size());
        again.allgather(in, of_half);
        third.allgather(in, of_third);
        EXPECT_EQ(of_half, (std::vector<std::uint32_t>{first - 1, first - 2, first}));
        EXPECT_EQ(of_third, me == first - 1 ? std::vector<std::uint32_t>{first - 1}
                                            : (std::vector<std::uint32_t>{first, first - 2}));
        EXPECT_THROW((void)half.world_rank(Rank{3}), UsageError);
    });
}

// What ranks say to each other before there are collectives has tags of those.
TEST(Engine, communicators_never_have_a_context_that_is_reserved) {
    run_local(2, [&](World& world) {
        std::vector<Communicator> twins;
        const std::vector<Rank> everyone{Rank{0}, Rank{1}};

        for (int i = 0; i < 20; ++i) twins.push_back(world.communicator().duplicate());

        const std::multiset<std::uint32_t>& used = world.state().contexts_in_use;
        EXPECT_EQ(used.size(), 21u);
        EXPECT_EQ(*used.begin(), 0u);
        EXPECT_GE(*std::next(used.begin()), Communicator::first_context);
        for (const std::uint32_t reserved : {0u, Talk::context, Communicator::contexts})
            EXPECT_THROW((void)Communicator::with_context(world, everyone, reserved), UsageError) << reserved;
    });
}

TEST(Engine, an_operation_that_does_not_commute_is_applied_in_the_order_of_ranks) {
    // Affine maps x -> a x + b, composed.
    struct Map {
        std::uint32_t a, b;
        bool operator==(const Map&) const = default;
    };
    const auto compose = ordered([](const Map& f, const Map& g) { return Map{f.a * g.a, g.a * f.b + g.b}; });
    for (const std::uint32_t ranks : rank_counts) {
        run_local(ranks, [&](World& world) {
            const std::uint32_t me = world.rank().value;
            const std::vector<Map> in(5, Map{me + 2, 3 * me + 1});
            std::vector<Map> out(5);
            Map expected{2, 1};
            for (std::uint32_t rank = 1; rank < ranks; ++rank)
                expected = compose(expected, Map{rank + 2, 3 * rank + 1});

            world.communicator().allreduce(in, out, compose);

            EXPECT_EQ(out, std::vector<Map>(5, expected));
        });
    }
}

}  // namespace
}  // namespace loom::coll
