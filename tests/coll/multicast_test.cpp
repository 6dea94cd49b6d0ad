// Broadcasts whose first stage are datagrams: what comes late, or for others, must not be taken for one's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/transport/launch.hpp"

namespace loom::coll {
namespace {

constexpr std::size_t bytes = 20'000;
const Choice multicast{"multicast", {}};

// The body returns how often it was wrong.
void on_ranks(std::uint32_t ranks, const std::function<int(World&)>& body) {
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank rank) {
        setenv("LOOM_HCA", "soft", 1);
        setenv("LOOM_COLL_PARAMETERS", "assumed", 1);
        setenv("LOOM_PROGRESS", "manual", 1);
        try {
            const auto world = World::open();
            const int wrong = body(*world);
            world->close();
            return wrong == 0 ? 0 : 3;
        } catch (const Error& error) {
            std::fprintf(stderr, "rank %u: %s\n", rank.value, error.what());
            return 1;
        }
    };

    EXPECT_EQ(transport::launch(job).exit_code(), 0);
}

Call broadcast() {
    Call call;
    call.what = Collective::broadcast;
    call.bytes = bytes;
    call.element = 1;
    return call;
}

bool is_all(const std::vector<std::byte>& data, std::byte value) {
    return std::all_of(data.begin(), data.end(), [&](std::byte each) { return each == value; });
}

TEST(MulticastBroadcast, StartedAgainTakesNothingOfAnEarlierStart) {
    on_ranks(3, [](World& world) {
        const Communicator comm = world.communicator();
        std::vector<std::byte> data(bytes);
        Persistent kept = comm.prepare(broadcast(), {data.data(), data.data()}, nullptr, &multicast);
        int wrong = 0;
        for (int round = 0; round < 250; ++round) {
            const auto value = static_cast<std::byte>(round % 250 + 1);
            std::fill(data.begin(), data.end(), comm.rank() == Rank{0} ? value : std::byte{0});
            kept.start();
            kept.wait();
            wrong += is_all(data, value) ? 0 : 1;
        }
        return wrong;
    });
}

// The parts of a group that was split use the same tags.
TEST(MulticastBroadcast, OfOnePartOfAGroupIsNotTakenForAnothers) {
    on_ranks(6, [](World& world) {
        const Communicator all = world.communicator();
        const std::uint32_t colour = all.rank().value % 2;
        const std::optional<Communicator> part = all.split(colour, 0);
        std::vector<std::byte> data(bytes);
        int wrong = 0;
        for (int round = 0; round < 100; ++round) {
            const auto value = static_cast<std::byte>(2 * (round % 100) + static_cast<int>(colour) + 1);
            std::fill(data.begin(), data.end(), part->rank() == Rank{0} ? value : std::byte{0});
            part->start(broadcast(), {data.data(), data.data()}, nullptr, &multicast).wait();
            wrong += is_all(data, value) ? 0 : 1;
        }
        return wrong;
    });
}

TEST(Memory, OfMoreBytesThanThereAreIsRefused) {
    on_ranks(2, [](World& world) {
        const Communicator comm = world.communicator();
        int refused = 0;
        for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 8 + 2, (SIZE_MAX >> 3) - 7}) try {
                (void)comm.allocate<double>(count);
            } catch (const Error&) {
                ++refused;
            }
        const auto still = comm.allocate<double>(100);
        return refused == 3 && still.size() == 100 ? 0 : 1;
    });
}

}  // namespace
}  // namespace loom::coll
