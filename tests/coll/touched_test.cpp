#include "coll/touched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "coll/world_state.hpp"
#include "coll/wrapped.hpp"
#include "loom/base/copy.hpp"
#include "loom/base/huge_pages.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/typed.hpp"
#include "loom/transport/open.hpp"

namespace loom::coll {
namespace {

constexpr std::array<std::uint32_t, 4> one_host{0, 0, 0, 0}, two_hosts{0, 0, 1, 1};

std::uint64_t together(Collective what, std::uint32_t me, std::span<const std::uint32_t> hosts) {
    Call call;
    call.what = what;
    call.bytes = 100;
    call.root = Rank{1};
    return touched_together({4, Rank{me}, hosts}, call);
}

TEST(TouchedTogether, counts_the_buffers_of_all_ranks_of_the_host) {
    EXPECT_EQ(together(Collective::barrier, 0, one_host), 0u);
    EXPECT_EQ(together(Collective::broadcast, 0, one_host), 4 * 100u);
    EXPECT_EQ(together(Collective::allreduce, 0, one_host), 4 * 200u);
    EXPECT_EQ(together(Collective::allgather, 2, one_host), 4 * 500u);
    EXPECT_EQ(together(Collective::alltoall, 3, one_host), 4 * 800u);
    EXPECT_EQ(together(Collective::alltoall, 3, two_hosts), 2 * 800u);
}

TEST(TouchedTogether, counts_what_is_in_place_once) {
    Call call;
    call.what = Collective::allreduce;
    call.bytes = 100;
    call.in_place = true;
    EXPECT_EQ(touched_together({4, Rank{0}, one_host}, call), 4 * 100u);
    // What is said of an input that is none is not looked at.
    const std::array<std::uint64_t, 4> bytes{10, 10, 10, 10}, at{0, 10, 20, 30};
    call.what = Collective::alltoallv;
    call.received = {bytes, at};
    call.sent = {bytes, {}};
    EXPECT_EQ(touched_together({4, Rank{0}, one_host}, call), 4 * 40u);
}

// Four blocks at the root and one at each rank, whoever counts them.
TEST(TouchedTogether, counts_what_the_root_alone_has_once) {
    for (const Collective what : {Collective::gather, Collective::scatter})
        for (const std::uint32_t me : {0u, 2u, 3u}) EXPECT_EQ(together(what, me, one_host), 8 * 100u);
    for (const Collective what : {Collective::gather, Collective::scatter})
        EXPECT_EQ(together(what, 1, one_host), 2 * 500u);
}

// Blocks that all caches together do not hold are copied another way, and the buffers, used again and again, are moved.
TEST(PastCaches, an_alltoall_beyond_the_caches_is_right_again_and_again) {
    constexpr std::uint32_t ranks = 4;
    const std::size_t block = last_caches_bytes() / (2 * ranks * ranks) / 8 + 513;
    run_local(ranks, [&](World& world) {
        const Communicator comm = world.communicator();
        std::vector<std::uint64_t> in(ranks * block), out(ranks * block);
        const std::uint64_t me = world.rank().value;
        for (std::uint64_t round = 0; round < 5; ++round) {
            for (std::size_t i = 0; i < in.size(); ++i) in[i] = me << 48 | round << 40 | i;
            comm.alltoall(in, out);
            std::size_t wrong = 0;
            for (std::uint64_t from = 0; from < ranks; ++from)
                for (std::size_t i = 0; i < block; ++i)
                    wrong += out[from * block + i] != (from << 48 | round << 40 | (me * block + i));
            EXPECT_EQ(wrong, 0u) << "in round " << round;
        }
    });
}

// What it was told of the messages that it sent.
class Hinted final : public Wrapped {
public:
    explicit Hinted(transport::Transport& inner, bool likes_huge_pages) : Wrapped(inner), likes_(likes_huge_pages) {}
    std::uint32_t sends = 0, past_caches = 0, huge_pages = 0;

    bool likes_huge_pages() const override { return likes_; }
    bool send(Rank to, transport::Tag tag, std::span<const std::byte> data, transport::Message& message) override {
        ++sends;
        if (message.past_caches) ++past_caches;
        if (message.huge_pages) ++huge_pages;
        return Wrapped::send(to, tag, data, message);
    }

private:
    bool likes_;
};

void exchange(transport::Transport& transport, std::size_t bytes, std::uint32_t rounds) {
    World world(transport, nullptr);
    world.set_progress(Progress::manual);
    const Communicator comm = world.communicator();
    std::vector<std::byte> in(2 * bytes, std::byte{1}), out(2 * bytes);
    for (std::uint32_t round = 0; round < rounds; ++round) comm.alltoall(in, out);
    world.close();
}

TEST(Hints, tell_of_what_is_more_than_the_caches_hold) {
    transport::run_local(2, [](transport::Transport& local) {
        Hinted small(local, false);
        exchange(small, 65536, 4);
        EXPECT_GE(small.sends, 4u);
        EXPECT_EQ(small.past_caches, 0u);
        Hinted large(local, false);
        exchange(large, last_caches_bytes() / 8 + 4096, 4);
        EXPECT_GE(large.past_caches, 4u);
        EXPECT_EQ(large.huge_pages, 0u);
    });
}

TEST(Hints, tell_of_huge_pages_once_buffers_were_used_often) {
    setenv("LOOM_HUGE_PAGES", "soon", 1);
    transport::run_local(2, [](transport::Transport& local) {
        Hinted liking(local, true), other(local, false);
        exchange(other, 4 << 20, 40);
        EXPECT_EQ(other.huge_pages, 0u);
        exchange(liking, 4 << 20, 250);
        EXPECT_EQ(liking.huge_pages > 0, may_use_huge_pages());
        EXPECT_LT(liking.huge_pages, liking.sends);
    });
    unsetenv("LOOM_HUGE_PAGES");
}

}  // namespace
}  // namespace loom::coll
