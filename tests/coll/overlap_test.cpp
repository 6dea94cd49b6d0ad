// Input and output that share memory are refused before anything is sent, whatever the operation and the size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "loom/coll/typed.hpp"

namespace loom::coll {
namespace {

constexpr std::uint32_t ranks = 3;

struct Case {
    const char* name;
    std::function<void(const Communicator&, std::span<int> in, std::span<int> out)> call;
};

void PrintTo(const Case& each, std::ostream* out) {
    *out << each.name;
}

class Overlap : public testing::TestWithParam<Case> {};

constexpr std::size_t few = 6;  // elements: a block of two for each rank

TEST_P(Overlap, is_refused_and_apart_is_not) {
    run_local(ranks, [&](World& world) {
        const Communicator comm = world.communicator().cartesian(std::vector<std::uint32_t>{ranks}, {true});
        for (const std::size_t length : {few, std::size_t{6000}}) {
            std::vector<int> shared(2 * ranks * length, 1);
            const auto piece = [&](std::size_t from) { return std::span(shared).subspan(from, length); };

            EXPECT_THROW(GetParam().call(comm, piece(0), piece(0)), UsageError);
            EXPECT_THROW(GetParam().call(comm, piece(1), piece(0)), UsageError);
            EXPECT_THROW(GetParam().call(comm, piece(0), piece(1)), UsageError);
            EXPECT_NO_THROW(GetParam().call(comm, piece(0), piece(ranks * length)));
            EXPECT_NO_THROW(GetParam().call(comm, piece(ranks * length), piece(0)));
        }
    });
}

std::vector<std::size_t> thirds(std::span<const int> all) {
    return std::vector<std::size_t>(ranks, all.size() / ranks);
}

INSTANTIATE_TEST_SUITE_P(
    , Overlap,
    testing::Values(
        Case{"allreduce", [](auto& comm, auto in, auto out) { comm.allreduce(in, out, std::plus<>{}); }},
        Case{"scan", [](auto& comm, auto in, auto out) { comm.scan(in, out, std::plus<>{}); }},
        Case{"exscan", [](auto& comm, auto in, auto out) { comm.exscan(in, out, std::plus<>{}); }},
        Case{"reduce_scatter_block",
             [](auto& comm, auto in, auto out) { comm.reduce_scatter_block(in, out, std::plus<>{}); }},
        Case{"reduce_scatter",
             [](auto& comm, auto in, auto out) { comm.reduce_scatter(in, out, thirds(in), std::plus<>{}); }},
        Case{"alltoall", [](auto& comm, auto in, auto out) { comm.alltoall(in, out); }},
        Case{"alltoallv", [](auto& comm, auto in, auto out) { comm.alltoallv(in, thirds(in), out, thirds(out)); }},
        Case{"allgather", [](auto& comm, auto in, auto out) { comm.allgather(in.first(in.size() / ranks), out); }},
        Case{"allgatherv",
             [](auto& comm, auto in, auto out) { comm.allgatherv(in.first(in.size() / ranks), out, thirds(out)); }},
        Case{"neighbour_alltoall", [](auto& comm, auto in, auto out) { comm.neighbour_alltoall(in, out); }},
        Case{"neighbour_allgather",
             [](auto& comm, auto in, auto out) { comm.neighbour_allgather(in.first(in.size() / 2), out); }},
        Case{"persistent_allreduce",
             [](auto& comm, auto in, auto out) { (void)comm.persistent_allreduce(in, out, std::plus<>{}); }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(OverlapAtTheRoot, is_refused_there_alone) {
    run_local(1, [](World& world) {
        const Communicator comm = world.communicator();
        std::vector<int> a(8, 1);

        EXPECT_THROW(comm.reduce(a, a, std::plus<>{}, Rank{0}), UsageError);
        EXPECT_THROW(comm.gather(a, a, Rank{0}), UsageError);
        EXPECT_THROW(comm.scatter(a, a, Rank{0}), UsageError);
        EXPECT_THROW(comm.gatherv(a, a, std::vector<std::size_t>{8}, Rank{0}), UsageError);
        EXPECT_THROW(comm.scatterv(a, std::vector<std::size_t>{8}, a, Rank{0}), UsageError);
    });
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        std::vector<int> a(8, 1), sum(8);
        const bool root = comm.rank() == Rank{0};

        comm.reduce(a, root ? std::span(sum) : std::span(a), std::plus<>{}, Rank{0});  // the output counts at the root

        EXPECT_EQ(sum, std::vector<int>(8, root ? 2 : 0));
    });
}

// A halo in the array of the data it belongs to.
TEST(Blocks, of_one_array_may_lie_between_each_other) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        const int me = static_cast<int>(comm.rank().value);
        std::vector<int> field{10 * me, -1, 10 * me + 1, -1};
        const std::vector<std::size_t> one_each{1, 1}, sent_at{0, 2}, received_at{1, 3}, shifted{1, 2};

        comm.alltoallv(field, Layout(one_each, sent_at), field, Layout(one_each, received_at));

        EXPECT_EQ(field, (std::vector<int>{10 * me, me, 10 * me + 1, 10 + me}));
        EXPECT_THROW(comm.alltoallv(field, Layout(one_each, sent_at), field, Layout(one_each, shifted)), UsageError);
    });
}

}  // namespace
}  // namespace loom::coll
