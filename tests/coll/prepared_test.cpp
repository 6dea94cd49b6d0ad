#include "coll/prepared.hpp"

#include <gtest/gtest.h>

#include "coll/world_state.hpp"
#include "loom/coll/typed.hpp"

namespace loom::coll {
namespace {

TEST(PlanCache, serves_the_same_plan_for_the_same_shape_and_only_for_it) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        Call call;
        call.what = Collective::allgatherv;
        const std::vector<std::uint64_t> bytes{8, 16}, at{0, 8}, other_at{16, 0};
        call.received = {bytes, at};
        const Choice ring{"ring", {}};

        const auto first = comm.plan(call);
        const std::vector<std::uint64_t> copy = bytes;
        call.received.bytes = copy;
        const auto again = comm.plan(call);
        const auto by_ring = comm.plan(call, &ring);
        call.received.at = other_at;
        const auto elsewhere = comm.plan(call);

        EXPECT_EQ(first, again);
        EXPECT_NE(first, by_ring);
        EXPECT_NE(first, elsewhere);
    });
}

// The cache finds by hash, which hides what the comparison leaves out until two calls have one place in it.
TEST(Shape, is_that_of_a_call_alike_in_everything_and_of_no_other) {
    const std::vector<std::uint64_t> bytes{8, 16}, other_bytes{8, 17}, at{0, 8}, other_at{16, 0}, one{8};
    Call call;
    call.what = Collective::alltoallv;
    call.bytes = 24;
    call.element = 8;
    call.sent = call.received = {bytes, at};
    const Choice choice{"linear", {4096, 2}};
    std::vector<Call> others(12, call);
    others[0].what = Collective::allgatherv;
    others[1].root = Rank{1};
    others[2].bytes = 32;
    others[3].element = 4;
    others[4].commutative = !call.commutative;
    others[5].in_place = !call.in_place;
    others[6].sent.bytes = other_bytes;
    others[7].sent.at = other_at;
    others[8].received.bytes = other_bytes;
    others[9].received.at = other_at;
    others[10].sent = {};
    others[11].received = {one, one};
    const Choice other_choices[] = {{"pairwise", {4096, 2}}, {"linear", {8192, 2}}, {"linear", {4096, 3}}};

    const Shape shape(call, &choice), unchosen(call, nullptr);

    EXPECT_TRUE(shape.is(call, &choice));
    EXPECT_TRUE(unchosen.is(call, nullptr));
    EXPECT_FALSE(shape.is(call, nullptr));
    EXPECT_FALSE(unchosen.is(call, &choice));
    for (std::size_t i = 0; i < others.size(); ++i) {
        EXPECT_FALSE(shape.is(others[i], &choice)) << i;
        EXPECT_FALSE(unchosen.is(others[i], nullptr)) << i;
    }
    for (const Choice& other : other_choices) EXPECT_FALSE(shape.is(call, &other)) << other.algorithm;
}

TEST(PlanCache, is_bounded_and_keeps_what_is_in_use) {
    run_local(2, [](World& world) {
        const Communicator comm = world.communicator();
        std::vector<std::byte> data(5000);
        std::vector<int> in(3, 2), out(3);
        Persistent kept = comm.persistent_allreduce(in, out, std::multiplies<>{});

        for (std::uint64_t bytes = 0; bytes < 1500; ++bytes) {
            Call call;
            call.what = Collective::broadcast;
            call.bytes = bytes;
            comm.start(call, {nullptr, data.data()}).wait();
        }
        kept.start();
        kept.wait();

        EXPECT_LE(world.state().everyone->plans.size(), PlanCache::most);
        EXPECT_GE(world.state().everyone->plans.size(), PlanCache::most / 4);
        EXPECT_EQ(out, std::vector<int>(3, 4));
    });
}

TEST(Program, has_the_operations_and_edges_of_the_schedule) {
    Writer writer(3, Rank{1});
    const Place room = writer.take_scratch(8);
    const auto received = writer.receive(Rank{0}, room, 8, {}, 5);
    const auto copied = writer.copy(input(), output(), 8);
    const auto reduced = writer.reduce(room, output(), 8, {received, copied});
    writer.send(Rank{2}, output(), 8, {reduced}, 6);
    const Plan plan = writer.finish();

    const Program program = compile(plan, std::vector<Rank>{Rank{7}, Rank{8}, Rank{9}});

    ASSERT_EQ(program.steps.size(), plan.schedule.size());
    for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
        EXPECT_EQ(program.steps[i].kind, plan.schedule.op(i).kind);
        EXPECT_EQ(program.steps[i].bytes, plan.schedule.op(i).amount);
        EXPECT_EQ(program.steps[i].tag, plan.schedule.op(i).tag);
        EXPECT_EQ(program.waits[i], plan.schedule.waits_for(i));
        EXPECT_EQ(program.steps[i].successors, plan.schedule.successors(i).size());
    }
    EXPECT_EQ(program.steps[0].peer, 7u);
    EXPECT_EQ(program.steps[3].peer, 9u);
    EXPECT_EQ(program.ready, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(program.reduces);
    EXPECT_EQ(program.messages, 2u);
    EXPECT_EQ(program.moved, 24u);  // copied, reduced and sent; what is received is moved by others
}

// A long message waits for its receiver, so everybody says first what it is ready for; a short one leaves at once.
TEST(Program, begins_with_receives_where_messages_are_long_and_with_sends_where_they_are_short) {
    const auto ready = [](std::uint64_t bytes) {
        Writer writer(3, Rank{0});
        writer.copy(input(), output(), 8);         // 0
        writer.send(Rank{1}, input(), 8);          // 1
        writer.receive(Rank{1}, output(), bytes);  // 2
        writer.send(Rank{2}, input(), bytes);      // 3
        writer.receive(Rank{2}, output(), 8);      // 4
        const Plan plan = writer.finish();
        return compile(plan, std::vector<Rank>{Rank{0}, Rank{1}, Rank{2}}).ready;
    };

    EXPECT_EQ(ready(100), (std::vector<std::uint32_t>{1, 3, 2, 4, 0}));
    EXPECT_EQ(ready(100'000), (std::vector<std::uint32_t>{2, 4, 1, 3, 0}));
}

}  // namespace
}  // namespace loom::coll
