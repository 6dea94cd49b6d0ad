// Every collective with types in each of its three forms, on three ranks: what is bound is what was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loom/coll/typed.hpp"

namespace loom::coll {
namespace {

using Numbers = std::vector<int>;
using Sizes = std::vector<std::size_t>;

constexpr std::uint32_t ranks = 3;

// `out` is what it was before each call: an output that nobody writes must stay so, and one in place is an input. A
// persistent operation is started twice.
template <class Block, class Start, class Keep>
void expect_forms(const std::string& name, Numbers& out, const Numbers& expected, Block block, Start start, Keep keep) {
    const Numbers before = out;
    block();
    EXPECT_EQ(out, expected) << name;
    out = before;
    start().wait();
    EXPECT_EQ(out, expected) << "i" << name;
    Persistent kept = keep();
    for (int round = 0; round < 2; ++round) {
        out = before;
        kept.start();
        kept.wait();
        EXPECT_EQ(out, expected) << "persistent_" << name << ", round " << round;
    }
}

#define EXPECT_FORMS(comm, name, out, expected, ...)                                                      \
    expect_forms(                                                                                         \
        #name, out, expected, [&] { comm.name(__VA_ARGS__); }, [&] { return comm.i##name(__VA_ARGS__); }, \
        [&] { return comm.persistent_##name(__VA_ARGS__); })

class Typed : public testing::Test {
protected:
    template <class Body>
    void on_all(Body body) {
        run_local(ranks, [&](World& world) { body(world.communicator(), static_cast<int>(world.rank().value)); });
    }

    // {100 rank, 100 rank + 1, ...}
    static Numbers counted(int rank, std::size_t count) {
        Numbers all(count);
        for (std::size_t i = 0; i < count; ++i) all[i] = 100 * rank + static_cast<int>(i);
        return all;
    }
    // What only rank 1 gets of `there`; at the others nothing is written.
    static Numbers at_one(int me, const Numbers& there) { return me == 1 ? there : Numbers(there.size(), -1); }

    const Sizes counts_{1, 2, 3};  // of ranks
    const Sizes places_{5, 3, 0};  // the last first
    const Rank one_{1};
};

TEST_F(Typed, BarrierAndBroadcast) {
    on_all([&](const Communicator& comm, int me) {
        Numbers none, data(4, me == 1 ? 7 : -1);

        EXPECT_FORMS(comm, barrier, none, Numbers{}, );
        EXPECT_FORMS(comm, broadcast, data, Numbers(4, 7), data, one_);
    });
}

TEST_F(Typed, GatherAndItsKin) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers mine = counted(me, 2), mine_v = counted(me, counts_[static_cast<std::size_t>(me)]);
        const Numbers all{0, 1, 100, 101, 200, 201}, all_v{0, 100, 101, 200, 201, 202};
        const Numbers placed{200, 201, 202, 100, 101, 0};
        Numbers out(6, -1);

        EXPECT_FORMS(comm, gather, out, at_one(me, all), mine, out, one_);
        out.assign(6, -1);
        EXPECT_FORMS(comm, gatherv, out, at_one(me, all_v), mine_v, out, counts_, one_);
        out.assign(6, -1);
        EXPECT_FORMS(comm, gatherv, out, at_one(me, placed), mine_v, out, Layout(counts_, places_), one_);
        out.assign(6, -1);
        EXPECT_FORMS(comm, allgather, out, all, mine, out);
        out.assign(6, -1);
        EXPECT_FORMS(comm, allgatherv, out, all_v, mine_v, out, counts_);
        out.assign(6, -1);
        EXPECT_FORMS(comm, allgatherv, out, placed, mine_v, out, Layout(counts_, places_));
    });
}

TEST_F(Typed, GatherAndItsKinInPlace) {
    on_all([&](const Communicator& comm, int me) {
        const auto rank = static_cast<std::size_t>(me);
        const Numbers mine = counted(me, 2), mine_v = counted(me, counts_[rank]);
        const Numbers all{0, 1, 100, 101, 200, 201}, all_v{0, 100, 101, 200, 201, 202};
        Numbers own(6, -1), own_v(6, -1), empty;
        std::copy(mine.begin(), mine.end(), own.begin() + 2 * me);
        std::copy(mine_v.begin(), mine_v.end(), own_v.begin() + (me == 2 ? 3 : me));

        Numbers out = own;
        EXPECT_FORMS(comm, allgather, out, all, in_place, out);
        out = own_v;
        EXPECT_FORMS(comm, allgatherv, out, all_v, in_place, out, counts_);
        if (me == 1) {
            out = own;
            EXPECT_FORMS(comm, gather, out, all, in_place, out, one_);
            out = own_v;
            EXPECT_FORMS(comm, gatherv, out, all_v, in_place, out, counts_, one_);
        } else {
            EXPECT_FORMS(comm, gather, empty, Numbers{}, mine, empty, one_);
            EXPECT_FORMS(comm, gatherv, empty, Numbers{}, mine_v, empty, counts_, one_);
        }
    });
}

TEST_F(Typed, Scatter) {
    on_all([&](const Communicator& comm, int me) {
        const auto rank = static_cast<std::size_t>(me);
        const Numbers given = counted(me, 6);
        const int first = me == 2 ? 3 : me, placed = static_cast<int>(places_[rank]);
        Numbers equal{100 + 2 * me, 101 + 2 * me}, own, own_placed;
        for (int i = 0; i < static_cast<int>(counts_[rank]); ++i) {
            own.push_back(100 + first + i);
            own_placed.push_back(100 + placed + i);
        }
        Numbers out(2, -1), out_v(own.size(), -1), untouched = given, empty;

        EXPECT_FORMS(comm, scatter, out, equal, given, out, one_);
        EXPECT_FORMS(comm, scatterv, out_v, own, given, counts_, out_v, one_);
        out_v.assign(own.size(), -1);
        EXPECT_FORMS(comm, scatterv, out_v, own_placed, given, Layout(counts_, places_), out_v, one_);
        if (me == 1) {
            EXPECT_FORMS(comm, scatter, untouched, given, untouched, in_place, one_);
            EXPECT_FORMS(comm, scatterv, untouched, given, untouched, counts_, in_place, one_);
        } else {
            out.assign(2, -1), out_v.assign(own.size(), -1);
            EXPECT_FORMS(comm, scatter, out, equal, empty, out, one_);
            EXPECT_FORMS(comm, scatterv, out_v, own, empty, counts_, out_v, one_);
        }
    });
}

TEST_F(Typed, Alltoall) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers given = counted(me, 6);
        const Sizes twos(ranks, 2), turned{4, 2, 0};
        Numbers expected, reversed;
        for (int from = 0; from < 3; ++from)
            for (int i = 0; i < 2; ++i) expected.push_back(100 * from + 2 * me + i);
        for (int from = 2; from >= 0; --from)
            for (int i = 0; i < 2; ++i) reversed.push_back(100 * from + 2 * me + i);
        // Rank r gives r + 1 numbers to each.
        const Sizes to_each(ranks, counts_[static_cast<std::size_t>(me)]);
        const Numbers given_v = counted(me, 3 * to_each[0]);
        Numbers expected_v;
        for (int from = 0; from < 3; ++from)
            for (int i = 0; i <= from; ++i) expected_v.push_back(100 * from + (from + 1) * me + i);
        Numbers out(6, -1);

        EXPECT_FORMS(comm, alltoall, out, expected, given, out);
        out.assign(6, -1);
        EXPECT_FORMS(comm, alltoallv, out, expected_v, given_v, to_each, out, counts_);
        out.assign(6, -1);
        EXPECT_FORMS(comm, alltoallv, out, reversed, given, twos, out, Layout(twos, turned));
        out = given;
        EXPECT_FORMS(comm, alltoall, out, expected, in_place, out);
        out = given;
        EXPECT_FORMS(comm, alltoallv, out, expected, in_place, twos, out, twos);
    });
}

TEST_F(Typed, ReduceAndAllreduce) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers given = counted(me, 3), sums{300, 303, 306};
        const int modulus = 1000;
        const auto modular = [modulus](int a, int b) { return (a * 7 + b * 7) % modulus; };  // of two alone
        const auto backwards = ordered([](int a, int b) { return b < 0 ? a : b; });          // the last rank's
        Numbers out(3, -1), empty;

        EXPECT_FORMS(comm, reduce, out, at_one(me, sums), given, out, std::plus<>{}, one_);
        out.assign(3, -1);
        EXPECT_FORMS(comm, allreduce, out, sums, given, out, std::plus<>{});
        out.assign(3, -1);
        EXPECT_FORMS(comm, allreduce, out, counted(2, 3), given, out, backwards);
        out = given;
        EXPECT_FORMS(comm, allreduce, out, sums, in_place, out, std::plus<>{});
        out = given;
        if (me == 1)
            EXPECT_FORMS(comm, reduce, out, sums, in_place, out, std::plus<>{}, one_);
        else
            EXPECT_FORMS(comm, reduce, empty, Numbers{}, given, empty, std::plus<>{}, one_);
        const Communicator pair = comm.split(me == 2 ? 1 : 0, 0).value();
        out.assign(3, -1);
        EXPECT_FORMS(pair, allreduce, out, me == 2 ? given : (Numbers{700, 714, 728}), given, out, modular);
    });
}

TEST_F(Typed, ReduceScatter) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers given = counted(me, 6);
        const int first = me == 2 ? 3 : me;
        const Numbers block{300 + 6 * me, 303 + 6 * me};
        Numbers mine;
        for (int i = 0; i <= me; ++i) mine.push_back(300 + 3 * (first + i));
        Numbers out(2, -1), out_v(mine.size(), -1);

        EXPECT_FORMS(comm, reduce_scatter_block, out, block, given, out, std::plus<>{});
        EXPECT_FORMS(comm, reduce_scatter, out_v, mine, given, out_v, counts_, std::plus<>{});

        // In place the result is at the beginning; of the rest nothing is promised.
        for (const bool blocks : {true, false}) {
            Numbers whole = given;
            if (blocks)
                comm.reduce_scatter_block(in_place, whole, std::plus<>{});
            else
                comm.reduce_scatter(in_place, whole, counts_, std::plus<>{});
            const Numbers& expected = blocks ? block : mine;
            whole.resize(expected.size());
            EXPECT_EQ(whole, expected);
        }
    });
}

TEST_F(Typed, ScanAndExscan) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers given = counted(me, 2);
        const Numbers sums[]{{0, 1}, {100, 102}, {300, 303}};
        Numbers out(2, -1);

        EXPECT_FORMS(comm, scan, out, sums[me], given, out, std::plus<>{});
        out.assign(2, -1);
        EXPECT_FORMS(comm, exscan, out, me == 0 ? out : sums[me - 1], given, out, std::plus<>{});
        out = given;
        EXPECT_FORMS(comm, scan, out, sums[me], in_place, out, std::plus<>{});
        out = given;
        EXPECT_FORMS(comm, exscan, out, me == 0 ? given : sums[me - 1], in_place, out, std::plus<>{});
    });
}

// On a ring each has one before and one behind; the first block is for the one before.
TEST_F(Typed, NeighbourCollectives) {
    on_all([&](const Communicator& comm, int me) {
        const Communicator ring = comm.cartesian({ranks}, {true});
        const int before = (me + 2) % 3, behind = (me + 1) % 3;
        const Numbers mine = counted(me, 2), blocks = counted(me, 4);
        const Numbers heard{100 * before, 100 * before + 1, 100 * behind, 100 * behind + 1};
        const Numbers turned{100 * behind, 100 * behind + 1, 100 * before, 100 * before + 1};
        const Numbers given{100 * before + 2, 100 * before + 3, 100 * behind, 100 * behind + 1};
        const Sizes twos(2, 2), behind_first{2, 0};
        Numbers out(4, -1);

        EXPECT_FORMS(ring, neighbour_allgather, out, heard, mine, out);
        out.assign(4, -1);
        EXPECT_FORMS(ring, neighbour_allgatherv, out, heard, mine, out, twos);
        out.assign(4, -1);
        EXPECT_FORMS(ring, neighbour_allgatherv, out, turned, mine, out, Layout(twos, behind_first));
        out.assign(4, -1);
        EXPECT_FORMS(ring, neighbour_alltoall, out, given, blocks, out);
        out.assign(4, -1);
        EXPECT_FORMS(ring, neighbour_alltoallv, out, given, blocks, twos, out, twos);
    });
}

TEST_F(Typed, VariablesAreOneElement) {
    on_all([&](const Communicator& comm, int me) {
        const std::size_t mine = static_cast<std::size_t>(me);
        const std::vector<double> scattered{0.5, 1.5, 2.5};
        const double given = scattered[mine];
        double value = me == 1 ? 0.25 : 0, sum = 0, combined = 0, prefix = 0, before = -1, part = 0;
        std::vector<double> gathered(3), gathered_v(3), known(3), known_v(3), row(3);

        comm.broadcast(value, one_);
        comm.allreduce(given, sum, std::plus<>{});
        comm.reduce(given, combined, std::plus<>{}, one_);
        comm.scan(given, prefix, std::plus<>{});
        comm.exscan(given, before, std::plus<>{});
        comm.scatter(scattered, part, one_);
        comm.gather(given, gathered, one_);
        comm.gatherv(given, gathered_v, {{1, 1, 1}}, one_);
        comm.allgather(given, known);
        comm.allgatherv(given, known_v, {{1, 1, 1}, {2, 1, 0}});
        comm.reduce_scatter_block(known, value, loom::coll::maximum);

        EXPECT_EQ(sum, 4.5);
        EXPECT_EQ(combined, me == 1 ? 4.5 : 0);
        EXPECT_EQ(prefix, (std::vector<double>{0.5, 2, 4.5}[mine]));
        EXPECT_EQ(before, (std::vector<double>{-1, 0.5, 2}[mine]));
        EXPECT_EQ(part, given);
        EXPECT_EQ(gathered, me == 1 ? scattered : std::vector<double>(3));
        EXPECT_EQ(gathered_v, gathered);
        EXPECT_EQ(known, scattered);
        EXPECT_EQ(known_v, (std::vector<double>{2.5, 1.5, 0.5}));
        EXPECT_EQ(value, given);
    });
}

TEST_F(Typed, VariablesInAllForms) {
    struct Extent {
        int first, last;
        bool operator==(const Extent&) const = default;
    };
    on_all([&](const Communicator& comm, int me) {
        const auto around = [](const Extent& a, const Extent& b) {
            return Extent{std::min(a.first, b.first), std::max(a.last, b.last)};
        };
        const Extent mine{10 - me, 20 + me};
        Extent all{}, in_one{mine};

        comm.iallreduce(mine, all, around).wait();
        comm.allreduce(in_place, in_one, around);

        EXPECT_EQ(all, (Extent{8, 22}));
        EXPECT_EQ(in_one, all);
        Persistent kept = comm.persistent_allreduce(mine, all, around);
        for (int round = 0; round < 2; ++round) {
            all = {};
            kept.start();
            kept.wait();
            EXPECT_EQ(all, (Extent{8, 22}));
        }
    });
}

TEST_F(Typed, CallsThatWaitTakeTemporariesAsTheirInput) {
    on_all([&](const Communicator& comm, int me) {
        int sum = 0;
        Numbers sums(2), parts(1);

        comm.allreduce(me + 1, sum, std::plus<>{});
        comm.allreduce(counted(me, 2), sums, std::plus<>{});
        comm.scatter(counted(me, 3), parts, one_);

        EXPECT_EQ(sum, 6);
        EXPECT_EQ(sums, (Numbers{300, 303}));
        EXPECT_EQ(parts, Numbers{100 + me});
    });
}

TEST_F(Typed, BracesStandForCountsPlacesAndGrids) {
    on_all([&](const Communicator& comm, int me) {
        const Numbers mine = counted(me, counts_[static_cast<std::size_t>(me)]), given = counted(me, 6);
        Numbers in_order(6), placed(6), sums(mine.size());

        comm.allgatherv(mine, in_order, {{1, 2, 3}});
        comm.allgatherv(mine, placed, {{1, 2, 3}, {5, 3, 0}});
        comm.reduce_scatter(given, sums, {1, 2, 3}, std::plus<>{});
        const Communicator ring = comm.cartesian({3, 1}, {true, false});

        EXPECT_EQ(in_order, (Numbers{0, 100, 101, 200, 201, 202}));
        EXPECT_EQ(placed, (Numbers{200, 201, 202, 100, 101, 0}));
        EXPECT_EQ(sums, (std::vector<Numbers>{{300}, {303, 306}, {309, 312, 315}}[static_cast<std::size_t>(me)]));
        EXPECT_EQ(ring.group().grid->dims, (std::vector<std::uint32_t>{3, 1}));
        EXPECT_EQ(ring.group().grid->periodic, (std::vector<bool>{true, false}));
    });
}

// What has no name is kept, also in copies; what has one is not copied.
TEST(Layout, OutlivesTheTemporariesItIsMadeFrom) {
    const auto vector = [] { return Sizes{1, 2, 3}; };
    const auto array = [] { return std::array<std::size_t, 3>{5, 3, 0}; };
    const auto list = [](const Counts& counts) { return Sizes(counts.span().begin(), counts.span().end()); };

    auto made = std::make_unique<Layout>(vector(), array());
    const Layout copy = *made, braces{{7, 8}, {9, 10}}, one{{4}};
    const Layout moved = std::move(*made);
    made.reset();

    for (const Layout* layout : {&copy, &moved}) {
        EXPECT_EQ(list(layout->counts), vector());
        EXPECT_EQ(list(layout->places), (Sizes{5, 3, 0}));
    }
    EXPECT_EQ(list(braces.counts), (Sizes{7, 8}));
    EXPECT_EQ(list(braces.places), (Sizes{9, 10}));
    EXPECT_EQ(list(one.counts), Sizes{4});
    EXPECT_EQ(one.places.span().size(), 0u);
    const Sizes named = vector();
    EXPECT_EQ(Layout(named).counts.span().data(), named.data());
    EXPECT_EQ(Layout(std::span(named)).counts.span().data(), named.data());
}

}  // namespace
}  // namespace loom::coll
