#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <bit>
#include <set>
#include <thread>

#include "coll/world_state.hpp"
#include "loom/base/random.hpp"
#include "loom/coll/typed.hpp"

namespace loom::coll {
namespace {

using testing::HasSubstr;
using transport::RankLost;

class LostRank : public testing::TestWithParam<Progress> {};

TEST_P(LostRank, fails_all_operations_of_communicators_with_it_and_no_others) {
    std::atomic<int> told = 0, worked = 0, ready = 0;
    // Outlive the ranks: after a failure others may still read what was sent.
    std::vector<std::vector<int>> in(5, std::vector<int>(50'000, 1)), out = in;

    const auto job = [&] {
        run_local(5, [&](World& world) {
            world.set_progress(GetParam());
            const std::uint32_t me = world.rank().value;
            const Communicator all = world.communicator();
            const Communicator pair = all.split(me < 2 ? 0 : 1, 0).value();
            ++ready;
            while (ready != 5) std::this_thread::yield();
            if (me == 4) throw UsageError("rank 4 has had enough");
            try {
                all.allreduce(in[me], out[me], std::plus<>{});
            } catch (const RankLost& lost) {
                EXPECT_STREQ(lost.what(), "rank 4 is gone: it ended with an exception");
                if (lost.rank == Rank{4}) ++told;
            }
            if (me >= 2) return;
            int one = 1, two = 0;
            pair.allreduce(std::span(&one, 1), std::span(&two, 1), std::plus<>{});
            worked += two;
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 4);
    EXPECT_EQ(worked, 4);
}

TEST_P(LostRank, is_found_by_those_who_never_talk_to_it) {
    std::atomic<int> told = 0;

    const auto job = [&] {
        run_local(8, [&](World& world) {
            world.set_progress(GetParam());
            if (world.rank() == Rank{7}) throw UsageError("enough");
            int word = 1;
            const Choice chain{"chain", {}};
            Call call;
            call.what = Collective::broadcast;
            call.root = Rank{7};
            call.bytes = sizeof word;
            try {
                world.communicator()
                    .start(call, {nullptr, reinterpret_cast<std::byte*>(&word)}, nullptr, &chain)
                    .wait();
            } catch (const RankLost& lost) {
                if (lost.rank == Rank{7}) ++told;
            }
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 7);
}

// The first loss is one of strangers; the second is ours, but those whom we talk to live on and say nothing.
TEST_P(LostRank, is_found_when_it_is_not_the_first) {
    std::atomic<int> told = 0, ready = 0;

    const auto job = [&] {
        run_local(5, [&](World& world) {
            world.set_progress(GetParam());
            const std::uint32_t me = world.rank().value;
            const Communicator four = world.communicator().split(me == 4 ? 1 : 0, 0).value();
            ++ready;
            while (ready != 5) std::this_thread::yield();
            if (me == 4) throw UsageError("enough");
            while (!world.transport().lost()) std::this_thread::yield();
            if (me == 3) throw UsageError("enough as well");
            int word = 1;
            const Choice chain{"chain", {}};
            Call call;
            call.what = Collective::broadcast;
            call.root = Rank{3};
            call.bytes = sizeof word;
            try {
                four.start(call, {nullptr, reinterpret_cast<std::byte*>(&word)}, nullptr, &chain).wait();
            } catch (const RankLost& lost) {
                if (lost.rank == Rank{3}) ++told;
            }
            while (told != 3) std::this_thread::yield();
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 3);
}

// Ranks that know of a loss start nothing: others would take what they send for their own next operation.
TEST_P(LostRank, nothing_is_sent_after_it) {
    std::atomic<int> told = 0, ready = 0;
    std::atomic<bool> known = false;
    std::string wrong;

    const auto job = [&] {
        run_local(3, [&](World& world) {
            world.set_progress(GetParam());
            const Communicator all = world.communicator();
            Call barrier;
            barrier.what = Collective::barrier;
            Persistent kept = all.prepare(barrier, {});
            ++ready;
            while (ready != 3) std::this_thread::yield();
            if (world.rank() == Rank{2}) throw UsageError("enough");
            if (world.rank() == Rank{0}) {  // knows, and goes on with something else
                while (!world.transport().lost()) std::this_thread::yield();
                std::vector<double> in(1000), out(1000);
                EXPECT_THROW((void)all.iallreduce(in, out, std::plus<>{}), RankLost);
                EXPECT_THROW(kept.start(), RankLost);
                known = true;
                return;
            }
            while (!known) std::this_thread::yield();
            int one = 1, two = 0;
            try {
                all.allreduce(std::span(&one, 1), std::span(&two, 1), std::plus<>{});
            } catch (const RankLost&) {
                ++told;
            } catch (const std::exception& error) {
                wrong = error.what();
            }
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 1) << wrong;
}

// Every step ends with an agreement, so that all who are left take the same way, also in the last step.
TEST_P(LostRank, is_left_behind_by_a_smaller_communicator) {
    constexpr std::uint32_t steps = 20;
    std::atomic<int> went_on = 0;

    const auto job = [&] {
        run_local(7, [&](World& world) {
            world.set_progress(GetParam());
            Communicator all = world.communicator();
            const std::uint32_t me = world.rank().value;
            const std::uint32_t dies_in = me == 4 ? 3 : me == 1 ? 7 : me == 6 ? steps - 1 : steps;
            std::vector<int> in{1}, out{0};
            for (std::uint32_t step = 0; step < steps;) {
                if (step == dies_in) throw UsageError("enough");
                bool well = true;
                try {
                    all.allreduce(in, out, std::plus<>{});
                } catch (const RankLost&) {
                    well = false;
                }
                if (all.agree(well ? 1 : 0) != 0)
                    ++step;
                else
                    all = all.shrink();
            }
            EXPECT_EQ(all.size(), 4u);
            EXPECT_EQ(out[0], 4);
            ++went_on;
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(went_on, 4);
}

// What was said in one agreement is heard in no other: neither in the next one on the same communicator, nor on another
// that gets its context.
TEST(Agreement, LeavesNothingBehind) {
    run_local(5, [](World& world) {
        const std::uint64_t mine = std::uint64_t{1} << world.rank().value;
        for (int round = 0; round < 50; ++round) {
            const Communicator all = world.communicator().duplicate();
            EXPECT_EQ(all.agree(~mine), ~std::uint64_t{31});
            EXPECT_EQ(all.agree(mine | 64), 64u);
            EXPECT_EQ(all.shrink().size(), 5u);
            EXPECT_TRUE(all.lost().empty());
        }
    });
}

INSTANTIATE_TEST_SUITE_P(, LostRank, testing::Values(Progress::manual, Progress::thread),
                         [](const auto& each) { return each.param == Progress::manual ? "manual" : "thread"; });

TEST(Request, that_is_forgotten_is_waited_for_and_said_so) {
    testing::internal::CaptureStderr();
    std::vector<int> received(10, 0);

    run_local(2, [&](World& world) {
        world.set_progress(Progress::manual);
        std::vector<int> sent(10, 5);
        const bool root = world.rank() == Rank{0};
        Request request = world.communicator().ibroadcast(root ? sent : received, Rank{0});
        if (root) request.wait();
    });

    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("destroyed while its operation was pending"));
    EXPECT_EQ(received, std::vector<int>(10, 5));
}

TEST(Request, that_is_detached_goes_on_by_itself) {
    testing::internal::CaptureStderr();
    std::vector<int> received(10, 0);

    run_local(2, [&](World& world) {
        std::vector<int> sent(10, 5);
        const bool root = world.rank() == Rank{0};
        world.communicator().ibroadcast(root ? sent : received, Rank{0}).detach();
        while (world.pending() != 0) world.progress();
    });

    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(received, std::vector<int>(10, 5));
}

TEST(Request, outlives_the_handle_of_its_communicator) {
    run_local(3, [&](World& world) {
        std::vector<int> in(10, 1), out(10);
        Request request = world.communicator().duplicate().iallreduce(in, out, std::plus<>{});

        request.wait();

        EXPECT_EQ(out, std::vector<int>(10, 3));
    });
}

TEST(Request, of_an_operation_that_throws_throws_it) {
    run_local(1, [&](World& world) {
        std::vector<int> in(10, 1), out(10);
        Writer writer(1, Rank{0});
        writer.reduce(input(), output(), 40);
        const auto plan = std::make_shared<const Plan>(writer.finish());
        const auto refuse = [](int, int) -> int { throw UsageError("not these"); };
        const Reduction reduction = reduction_of<int>(refuse);

        Request request = world.communicator().start(
            plan, {std::as_bytes(std::span(in)).data(), std::as_writable_bytes(std::span(out)).data()}, &reduction);

        EXPECT_THROW(request.wait(), UsageError);
    });
}

TEST(Persistent, cannot_be_started_while_it_is_pending) {
    std::barrier both(2);
    run_local(2, [&](World& world) {
        world.set_progress(Progress::manual);
        std::vector<int> data(10, 1);
        Persistent kept = world.communicator().persistent_broadcast(data, Rank{0});
        if (world.rank() == Rank{1}) {
            kept.start();
            EXPECT_THROW(kept.start(), UsageError);
            both.arrive_and_wait();
        } else {
            both.arrive_and_wait();
            kept.start();
        }
        kept.wait();
        EXPECT_TRUE(kept.finished());
    });
}

TEST(Persistent, that_failed_tells_so_when_it_is_started_again) {
    std::atomic<int> told = 0;
    std::atomic<bool> started = false;

    const auto job = [&] {
        run_local(2, [&](World& world) {
            std::vector<int> data(10, 1);
            Persistent kept = world.communicator().persistent_broadcast(data, Rank{1});
            while (world.rank() == Rank{1} && !started) std::this_thread::yield();
            if (world.rank() == Rank{1}) throw UsageError("enough");
            kept.start();
            started = true;
            EXPECT_THROW(kept.wait(), RankLost);
            EXPECT_THROW(kept.start(), RankLost);
            EXPECT_EQ(world.pending(), 0u);
            ++told;
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 1);
}

// Between the agreement and the communicator another thread may agree on one for another communicator.
TEST(Communicator, s_context_is_in_use_from_the_agreement_on) {
    run_local(2, [&](World& world) {
        Communicator::State& all = *world.state().everyone;

        const std::uint32_t first = all.agree_on_context(), second = all.agree_on_context();

        EXPECT_NE(first, second);
        all.world.give_up_context(first);
        all.world.give_up_context(second);
        EXPECT_EQ(all.agree_on_context(), first);
    });
}

// Each rank knows what it uses itself, and no other's.
TEST(Communicator, s_context_is_one_that_nobody_uses) {
    run_local(3, [&](World& world) {
        World::State& state = world.state();
        Communicator::State& all = *state.everyone;
        Random common(7);
        for (int round = 0; round < 20; ++round) {
            std::set<std::uint32_t> used[3];
            for (auto& of_rank : used)
                for (int i = 0; i < 6; ++i) of_rank.insert(1 + common.below(8));
            const std::set<std::uint32_t>& mine = used[world.rank().value];
            state.contexts_in_use.insert(mine.begin(), mine.end());

            const std::uint32_t agreed = all.agree_on_context();

            for (const auto& of_rank : used) EXPECT_FALSE(of_rank.contains(agreed)) << agreed;
            all.world.give_up_context(agreed);
            for (const std::uint32_t number : mine) state.contexts_in_use.erase(state.contexts_in_use.find(number));
        }
    });
}

TEST(Communicator, s_persistent_operations_have_tags_of_their_own) {
    run_local(1, [&](World& world) {
        Communicator::State& all = *world.state().everyone;
        std::set<std::uint64_t> tags;
        for (int i = 0; i < 1000; ++i) {
            for (const Series series : {Series::first, Series::second, Series::third})
                EXPECT_TRUE(tags.insert(all.next_tag(series)).second);
            EXPECT_TRUE(tags.insert(all.next_persistent_tag()).second);
        }
    });
}

// Whether the message comes before its receive or after; small, so that the sender is done with it.
TEST(Call, whose_size_is_another_at_its_ranks_is_an_error_where_that_shows) {
    for (const bool receive_first : {true, false}) {
        std::barrier both(2);
        run_local(2, [&](World& world) {
            world.set_progress(Progress::manual);
            std::vector<std::byte> data(64);
            Call call;
            call.what = Collective::broadcast;
            const Choice linear{"linear", {}};
            const bool root = world.rank() == Rank{0};
            call.bytes = root ? 16 : 24;
            if (root == receive_first) both.arrive_and_wait();

            Request request = world.communicator().start(call, {nullptr, data.data()}, nullptr, &linear);
            if (root != receive_first) both.arrive_and_wait();

            if (root)
                EXPECT_NO_THROW(request.wait());
            else
                EXPECT_THROW(request.wait(), Error);
            EXPECT_EQ(world.pending(), 0u);
        });
    }
}

TEST(Reduction, of_elements_without_bytes_is_refused) {
    run_local(1, [&](World& world) {
        int in = 1, out = 0;
        Writer writer(1, Rank{0});
        writer.reduce(input(), output(), sizeof in);
        const auto plan = std::make_shared<const Plan>(writer.finish());
        Reduction none = reduction_of<int>(std::plus<>{});
        none.element = 0;

        EXPECT_THROW((void)world.communicator().start(
                         plan, {reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out)}, &none),
                     UsageError);
    });
}

TEST(Call, that_cannot_be_is_refused_before_anything_is_sent) {
    run_local(2, [&](World& world) {
        const Communicator comm = world.communicator();
        std::vector<int> one(1), two(2), three(3);
        const std::vector<std::size_t> counts{1, 1, 1}, far{1, 7};

        EXPECT_THROW(comm.broadcast(one, Rank{2}), UsageError);
        EXPECT_THROW(comm.allgather(two, three), UsageError);
        EXPECT_THROW(comm.allgatherv(one, three, counts), UsageError);
        EXPECT_THROW(comm.allgatherv(one, three, Layout(far)), UsageError);
        EXPECT_THROW(comm.allreduce(three, two, std::plus<>{}), UsageError);
        EXPECT_THROW(comm.neighbour_allgather(one, two), UsageError);
        EXPECT_THROW((void)comm.cartesian(std::vector<std::uint32_t>{3}, {true}), UsageError);
        comm.allreduce(one, two, std::plus<>{});
        EXPECT_EQ(world.pending(), 0u);
    });
}

}  // namespace
}  // namespace loom::coll
