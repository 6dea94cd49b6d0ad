// The two-stage broadcast over datagrams: ranks are processes on the software HCA.
#include <gtest/gtest.h>

#include <chrono>
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

// Several at once, of other content each, down the chain 0, 1, 2. Rank 1 begins last: what rank 2 has by then it has
// heard. The number of wrong ones is written down, of those and at the end.
void run_rank(Rank me, const std::string& file) {
    setenv("LOOM_HCA", "soft", 1);
    setenv("LOOM_COLL_PARAMETERS", "assumed", 1);
    setenv("LOOM_PROGRESS", "manual", 1);
    const auto world = World::open();
    const Communicator comm = world->communicator();
    const Communicator signals = comm.duplicate();
    int signal = 0;
    const auto wait_for_last = [&] { signals.broadcast(std::span(&signal, 1), Rank{2}); };
    const Choice choice{"multicast", {}};
    Call call;
    call.what = Collective::broadcast;
    call.bytes = bytes;
    std::vector<std::vector<std::byte>> data(in_flight, std::vector<std::byte>(bytes));
    std::vector<Request> requests(in_flight);
    const auto start = [&] {
        for (std::size_t i = 0; i < in_flight; ++i) {
            if (me == Rank{0}) data[i] = content(i);
            requests[i] = comm.start(call, {nullptr, data[i].data()}, nullptr, &choice);
        }
    };
    const auto wrong = [&] {
        int count = 0;
        for (std::size_t i = 0; i < in_flight; ++i) count += data[i] != content(i);
        return count;
    };
    int wrong_when_heard = 0;
    if (me == Rank{2}) start();
    wait_for_last();  // rank 2 listens
    if (me == Rank{0}) start();
    if (me == Rank{2}) {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (world->fragments_heard() < in_flight * (bytes / 1000) && std::chrono::steady_clock::now() < patience)
            world->progress();
        wrong_when_heard = wrong();
    }
    wait_for_last();  // and has heard all
    if (me == Rank{1}) start();
    for (std::size_t i = in_flight; i-- > 0;) requests[i].wait();
    std::ofstream(file) << wrong_when_heard << " " << wrong();
    world->close();
}

TEST(MulticastBroadcast, keeps_apart_what_is_in_flight_at_once) {
    const test::TemporaryFolder folder;
    const auto file = [&](Rank rank) { return (folder.path() / std::to_string(rank.value)).string(); };
    transport::Launch job;
    job.ranks = 3;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank rank) {
        run_rank(rank, file(rank));
        return 0;
    };

    const int code = transport::launch(job).exit_code();

    ASSERT_EQ(code, 0);
    for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
        int when_heard = -1, at_the_end = -1;
        std::ifstream(file(Rank{rank})) >> when_heard >> at_the_end;
        EXPECT_EQ(when_heard, 0) << rank;
        EXPECT_EQ(at_the_end, 0) << rank;
    }
}

}  // namespace
}  // namespace loom::coll
