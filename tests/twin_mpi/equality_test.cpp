// A program in MPI and the same in Loomband's own interface take the same time, to the picosecond.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/coll/world.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/routed.hpp"
#include "twin_mpi/play.hpp"

namespace loom::twin_mpi {
namespace {

// Sixteen hosts in two levels, routed by ftree.
struct Tree : routing::RoutedFabric {
    explicit Tree(std::uint32_t ranks) {
        fabric = fabric::pgft(fabric::kary_tree(4, 2));
        routing::open(*this, {.engine = &routing::find_engine("ftree"), .expects_lids = false});
        std::vector<std::string> odd;
        const fabric::Placement all = fabric::place_ranks(fabric, {}, odd);
        placement.hosts.assign(all.hosts.begin(), all.hosts.begin() + ranks);
    }
    fabric::Placement placement;
};

twin::Options at_level(sim::Level level, const Tree& tree, std::uint32_t count) {
    twin::Options options = ranks(count);
    options.level = level;
    if (level != sim::Level::message) options.network = {tree.graph.get(), &tree.tables, tree.placement};
    return options;
}

void ring_in_mpi(std::size_t bytes) {
    std::vector<char> out(bytes), in(bytes);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int me = my_rank(), count = static_cast<int>(bytes);
    for (int round = 0; round < 3; ++round) {
        MPI_Request requests[2];
        MPI_Irecv(in.data(), count, MPI_CHAR, (me + size - 1) % size, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out.data(), count, MPI_CHAR, (me + 1) % size, round, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

void ring_of_ours(const coll::Communicator& all, std::size_t bytes) {
    std::vector<char> out(bytes), in(bytes);
    const std::uint32_t me = all.rank().value, size = all.size();
    for (std::uint32_t round = 0; round < 3; ++round) {
        coll::Request receive = all.ireceive(in, Rank{(me + size - 1) % size}, round);
        coll::Request send = all.isend(out, Rank{(me + 1) % size}, round);
        receive.wait();
        send.wait();
    }
}

void operations_in_mpi(std::size_t count) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto ranks_there = static_cast<std::size_t>(size);
    const int number = static_cast<int>(count);
    std::vector<double> in(count * ranks_there), out(count * ranks_there), sum(count);
    MPI_Allreduce(in.data(), sum.data(), number, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(sum.data(), number, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Alltoall(in.data(), number, MPI_DOUBLE, out.data(), number, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallgather(sum.data(), number, MPI_DOUBLE, out.data(), number, MPI_DOUBLE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void operations_of_ours(const coll::Communicator& all, std::size_t count) {
    std::vector<double> in(count * all.size()), out(count * all.size()), sum(count);
    const std::vector<double> mine(count);
    all.allreduce(mine, sum, std::plus<>{});
    all.broadcast(sum, Rank{1});
    all.alltoall(in, out);
    all.iallgather(sum, out).wait();
}

template <class Ours>
twin::Result ours(const twin::Options& options, Ours body) {
    return twin::run(options, [&](transport::Transport& transport) {
        coll::World world(transport, nullptr);
        body(world.communicator());
        world.close();
    });
}

TEST(Equality, OfMessagesAndOperations) {
    for (const std::uint32_t count : {2u, 5u, 16u}) {
        const Tree tree(count);
        for (const sim::Level level : {sim::Level::message, sim::Level::flow, sim::Level::packet})
            for (const std::size_t size : {1u, 100u, 30'000u}) {
                const twin::Options options = at_level(level, tree, count);

                const Outcome ring = play(options, [&] { ring_in_mpi(size); });
                const Outcome operations = play(options, [&] { operations_in_mpi(size / 8 + 1); });

                ASSERT_EQ(ring.failure + operations.failure, "");
                EXPECT_EQ(ring.result.finish, ours(options, [&](const auto& all) { ring_of_ours(all, size); }).finish)
                    << count << " ranks, " << sim::to_string(level) << ", " << size;
                EXPECT_EQ(operations.result.finish,
                          ours(options, [&](const auto& all) { operations_of_ours(all, size / 8 + 1); }).finish)
                    << count << " ranks, " << sim::to_string(level) << ", " << size;
            }
    }
}

}  // namespace
}  // namespace loom::twin_mpi
