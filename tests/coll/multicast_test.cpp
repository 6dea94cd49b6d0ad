// Broadcasts whose first stage are datagrams: what comes late, or for others, must not be taken for one's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "loom/coll/typed.hpp"
#include "loom/transport/held.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"

namespace loom::coll {
namespace {

constexpr std::size_t bytes = 20'000;
const Choice multicast{"multicast", {}};

// The body returns how often it was wrong. What it starts while the transport holds waits for messages in vain.
void on_held_ranks(std::uint32_t ranks, const std::function<int(World&, transport::HeldTransport&)>& body) {
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.body = [&](Rank rank) {
        setenv("LOOM_HCA", "soft", 1);
        setenv("LOOM_COLL_PARAMETERS", "assumed", 1);
        setenv("LOOM_PROGRESS", "manual", 1);
        try {
            const auto bootstrap = transport::find_bootstrap();
            const auto opened = transport::open_transport(*bootstrap);
            transport::HeldTransport held(*opened);
            World world(held, bootstrap.get());
            const int wrong = body(world, held);
            world.close();
            return wrong == 0 ? 0 : 3;
        } catch (const Error& error) {
            std::fprintf(stderr, "rank %u: %s\n", rank.value, error.what());
            return 1;
        }
    };

    EXPECT_EQ(transport::launch(job).exit_code(), 0);
}

void on_ranks(std::uint32_t ranks, const std::function<int(World&)>& body) {
    on_held_ranks(ranks, [&](World& world, transport::HeldTransport&) { return body(world); });
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

// A fragment that is there by multicast is the caller's and the next rank's, whatever has become of the chain.
TEST(MulticastBroadcast, GoesOnByWhatWasHeardWhileTheChainIsHeldBack) {
    on_held_ranks(4, [](World& world, transport::HeldTransport& chain) {
        const Communicator comm = world.communicator(), other = comm.duplicate();
        const auto barrier = [&] { other.start(Call{}, {}).wait(); };
        const bool root = comm.rank() == Rank{0}, last = comm.rank().value + 1 == comm.size();
        Call call = broadcast();
        call.bytes = 900;  // one datagram
        bool went_on = root, done = false;
        // The first datagrams find nobody: a group forms when adapters have met.
        for (int tries = 0; !done && tries < 300; ++tries) {
            const auto value = static_cast<std::byte>(tries % 250 + 1);
            std::vector<std::byte> data(900, root ? value : std::byte{0});
            Request request;
            chain.hold();
            if (!root) request = comm.start(call, {nullptr, data.data()}, nullptr, &multicast);
            chain.hold_no_more();
            barrier();
            if (root) request = comm.start(call, {nullptr, data.data()}, nullptr, &multicast);
            barrier();
            for (int looks = 0; looks < 50; ++looks) (void)world.transport().progress();
            went_on |= is_all(data, value) && (last || chain.passed_on() == 1);
            barrier();
            chain.let_go();
            request.wait();
            if (!is_all(data, value)) return 1;
            const std::vector<std::uint32_t> mine{went_on ? 1u : 0u};
            std::vector<std::uint32_t> ranks(1);
            other.allreduce(mine, ranks, std::plus<>{});
            done = ranks[0] == comm.size();
        }
        return done ? 0 : 1;
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
