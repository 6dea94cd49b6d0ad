// The two-stage broadcast over datagrams: ranks are processes on the software HCA.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/transport/launch.hpp"
#include "support/process.hpp"

namespace loom::coll {
namespace {

constexpr std::size_t in_flight = 8, bytes = 5000;

std::vector<std::byte> content(std::size_t which) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + which * 31);
    return data;
}

// Several at once, of other content each; the wrong ones are counted. 1 fragment at least must come as a datagram.
int run_rank(Rank me, const std::string& file) {
    setenv("LOOM_HCA", "soft", 1);
    setenv("LOOM_COLL_PARAMETERS", "assumed", 1);
    setenv("LOOM_PROGRESS", "manual", 1);
    const auto world = World::open();
    const Communicator comm = world->communicator();
    const Choice choice{"multicast", {}};
    Call call;
    call.what = Collective::broadcast;
    call.bytes = bytes;
    int wrong = 0;
    for (int round = 0; round < 20; ++round) {
        std::vector<std::vector<std::byte>> data(in_flight, std::vector<std::byte>(bytes));
        std::vector<Request> requests(in_flight);
        if (round > 0) comm.barrier();  // all listen by then
        for (std::size_t i = 0; i < in_flight; ++i) {
            if (me == Rank{0}) data[i] = content(i);
            requests[i] = comm.start(call, {nullptr, data[i].data()}, nullptr, &choice);
        }
        for (std::size_t i = in_flight; i-- > 0;) requests[i].wait();
        for (std::size_t i = 0; i < in_flight; ++i) wrong += data[i] != content(i);
    }
    std::ofstream(file) << wrong << " " << world->fragments_heard();
    world->close();
    return 0;
}

TEST(MulticastBroadcast, keeps_apart_what_is_in_flight_at_once) {
    const test::TemporaryFolder folder;
    const auto file = [&](Rank rank) { return (folder.path() / std::to_string(rank.value)).string(); };
    transport::Launch job;
    job.ranks = 3;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank rank) { return run_rank(rank, file(rank)); };

    const int code = transport::launch(job).exit_code();

    ASSERT_EQ(code, 0);
    for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
        int wrong = -1, heard = -1;
        std::ifstream(file(Rank{rank})) >> wrong >> heard;
        EXPECT_EQ(wrong, 0) << rank;
        EXPECT_GT(heard, rank == 0 ? -1 : 0) << rank;
    }
}

}  // namespace
}  // namespace loom::coll
