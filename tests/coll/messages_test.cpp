#include "coll/message_workout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <tuple>

#include "coll/world_state.hpp"

namespace loom::coll {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using transport::RankLost;

class MessagesOnThreads : public testing::TestWithParam<std::tuple<std::uint32_t, Progress>> {};

TEST_P(MessagesOnThreads, arrive_whole_and_in_order_beside_collectives) {
    const auto [ranks, progress] = GetParam();
    std::mutex mutex;
    std::vector<std::string> troubles;

    run_local(ranks, [&, progress = progress](World& world) {
        world.set_progress(progress);
        const auto found = exchange_messages(world, {.seed = 3 + world.size()});
        const std::lock_guard lock(mutex);
        troubles.insert(troubles.end(), found.begin(), found.end());
    });

    EXPECT_THAT(troubles, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, MessagesOnThreads,
                         testing::Combine(testing::Values(1u, 2u, 3u, 4u, 5u),
                                          testing::Values(Progress::manual, Progress::thread)),
                         [](const auto& each) {
                             return std::string(std::get<1>(each.param) == Progress::manual ? "manual" : "thread") +
                                    "_ranks_" + std::to_string(std::get<0>(each.param));
                         });

TEST(Messages, pass_a_word_round_a_ring_of_blocking_calls) {
    run_local(5, [](World& world) {
        const Communicator comm = world.communicator();
        const std::uint32_t me = comm.rank().value;
        const Rank before{(me + 4) % 5}, behind{(me + 1) % 5};
        std::uint32_t word = 100;

        if (me == 0) comm.send(word + 1, behind);
        comm.receive(word, before);
        if (me != 0) comm.send(word + 1, behind);

        EXPECT_EQ(word, me == 0 ? 105u : 100 + me);
    });
}

TEST(Messages, are_told_apart_by_tag_in_any_order_and_by_order_within_a_tag) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        if (comm.rank() == Rank{0}) {
            for (int i = 0; i < 10; ++i) comm.send(i, Rank{1}, i % 2 == 0 ? 5 : 6);
        } else {
            std::vector<int> even(5), odd(5);
            for (int& number : odd) comm.receive(number, Rank{0}, 6);
            for (int& number : even) comm.receive(number, Rank{0}, 5);
            EXPECT_EQ(odd, (std::vector<int>{1, 3, 5, 7, 9}));
            EXPECT_EQ(even, (std::vector<int>{0, 2, 4, 6, 8}));
        }
    });
}

// A large operation may be left to the progress thread, and a small one not: messages would pass each other.
TEST(Messages, are_never_left_to_the_thread) {
    run_local(1, [](World& world) {
        world.set_progress(Progress::thread);
        world.state().spare_core = true;
        const Communicator comm = world.communicator();
        const std::vector<int> large(100'000, 7);
        const int small = 8;
        std::vector<int> first(large.size());
        int second = 0;

        Request sends[]{comm.isend(large, Rank{0}), comm.isend(small, Rank{0})};
        comm.receive(first, Rank{0});
        comm.receive(second, Rank{0});
        for (Request& send : sends) send.wait();

        EXPECT_EQ(world.state().left_to_thread, 0u);
        EXPECT_EQ(first, large);
        EXPECT_EQ(second, small);
    });
}

TEST(Messages, of_another_length_than_expected_end_with_an_error) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        const Rank other{1 - comm.rank().value};
        std::vector<int> data(100'000);

        if (comm.rank() == Rank{0})
            EXPECT_THAT([&] { comm.send(data, other); }, ThrowsMessage<Error>(HasSubstr("not as long as expected")));
        else
            EXPECT_THAT([&] { comm.receive(std::span(data).first(10), other); },
                        ThrowsMessage<Error>(HasSubstr("not as long as expected")));

        comm.barrier();
        if (comm.rank() == Rank{0}) comm.send(4, other);
        if (comm.rank() == Rank{1}) comm.receive(data[0], other);
        EXPECT_EQ(data[0], comm.rank() == Rank{0} ? 0 : 4);
    });
}

TEST(Messages, need_a_rank_and_a_tag_that_there_are) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        int word = 0;

        EXPECT_THAT([&] { comm.send(word, Rank{2}); },
                    ThrowsMessage<UsageError>(HasSubstr("rank 2 of a communicator with 2 ranks")));
        EXPECT_THAT([&] { comm.receive(word, Rank{0}, Communicator::tags); },
                    ThrowsMessage<UsageError>(HasSubstr("must be less than 16777216")));
    });
}

TEST(Messages, fail_when_a_rank_of_their_communicator_is_lost) {
    std::atomic<int> told = 0, refused = 0, worked = 0;

    const auto job = [&] {
        run_local(3, [&](World& world) {
            const Communicator all = world.communicator();
            const std::uint32_t me = all.rank().value;
            const Communicator pair = all.split(me == 2 ? 1 : 0, 0).value();
            if (me == 2) throw UsageError("enough");
            const Rank other{1 - me};
            int word = 0;
            try {
                all.receive(word, Rank{2}, 9);
            } catch (const RankLost& lost) {
                if (lost.rank == Rank{2}) ++told;
            }
            for (int i = 0; i < 3; ++i) try {
                    all.send(word, other);
                } catch (const RankLost&) {
                    ++refused;
                }
            Request sent = pair.isend(me, other);
            std::uint32_t heard = 7;
            pair.receive(heard, other);
            sent.wait();
            worked += heard == other.value;
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(told, 2);
    EXPECT_EQ(refused, 6);
    EXPECT_EQ(worked, 2);
}

TEST(Messages, have_a_sequence_number_that_no_operation_gets) {
    run_local(1, [](World& world) {
        Communicator::State& state = *world.state().everyone;

        state.sequence[3] = sequences - 1;
        state.persistent_sequence = persistent_sequences - 1;

        for (int i = 0; i < 3; ++i) EXPECT_NE(state.next_tag(static_cast<Series>(3)), state.message_tag());
        EXPECT_NE(state.next_persistent_tag(), state.message_tag());
        EXPECT_EQ(state.next_persistent_tag() >> 24 & 0xfffff, first_persistent);
    });
}

// A thousand at once, and again: their programs are used again.
TEST(Messages, are_as_many_as_wanted) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        const Rank other{1 - comm.rank().value};
        std::vector<int> out(1000), in(1000);
        std::iota(out.begin(), out.end(), 0);

        for (int round = 0; round < 3; ++round) {
            std::fill(in.begin(), in.end(), -1);
            std::vector<Request> requests;
            for (std::size_t i = 0; i < out.size(); ++i)
                requests.push_back(comm.isend(out[i], other, static_cast<std::uint32_t>(i)));
            for (std::size_t i = out.size(); i-- > 0;)
                requests.push_back(comm.ireceive(in[i], other, static_cast<std::uint32_t>(i)));
            for (Request& request : requests) request.wait();
            EXPECT_EQ(in, out);
        }
    });
}

}  // namespace
}  // namespace loom::coll
