// Over RoCE, requests that nobody waits for are answered with what goes the other way, or when somebody asks; nothing
// is lost, and no queue fills up for it.
#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

struct Script {
    Meeting meeting;
    Address writer, target;
    std::atomic<std::uint64_t> seen{0};
};

// Numbers written one after the other into a word that the target watches, nobody waiting for a completion.
void write_numbers(Script& script, std::uint64_t count, bool one_by_one) {
    Host host;
    const Node node = host.node();  // 16 requests fit
    Buffer memory = host.buffer(8 * count);
    script.writer = host.address(node, memory);
    script.meeting.meet();
    host.join(node, script.target, very_patient);
    script.meeting.meet();
    auto* numbers = reinterpret_cast<std::uint64_t*>(memory.bytes.data());
    for (std::uint64_t i = 0; i < count; ++i) {
        numbers[i] = i + 1;
        await(
            [&] {
                return Work(IBV_WR_RDMA_WRITE, i, {memory.piece(8 * i, 8)})
                           .to(script.target.memory, script.target.rkey)
                           .flags(0)
                           .post(node) == 0;
            },
            "room in the send queue");
        if (one_by_one) await([&] { return script.seen > i; }, "the write");
    }
    await([&] { return script.seen == count; }, "the last write");
    script.meeting.meet();
}

void watch_numbers(Script& script, std::uint64_t count) {
    Host host(1);
    const Node node = host.node();
    Buffer memory = host.buffer(8);
    script.target = host.address(node, memory);
    script.meeting.meet();
    host.join(node, script.writer, very_patient);
    script.meeting.meet();
    const auto* word = reinterpret_cast<const std::uint64_t*>(memory.bytes.data());
    await(
        [&] {
            const std::uint64_t number = __atomic_load_n(word, __ATOMIC_ACQUIRE);
            EXPECT_GE(number, script.seen) << "an old one came late";
            script.seen = number;
            return number == count;
        },
        "the last number");
    script.meeting.meet();
}

void check_numbers(std::uint64_t count, bool one_by_one, const Environment& environment) {
    Shared<Script> script;
    Company company;
    company.start([&] { write_numbers(*script, count, one_by_one); }, environment);
    company.start([&] { watch_numbers(*script, count); }, environment);
    company.finish();
}

// Until all that was sent is acknowledged; nothing of it fails.
void drain(const Node& node) {
    ibv_qp_attr drain{};
    drain.qp_state = IBV_QPS_SQD;
    ASSERT_EQ(ibv_modify_qp(node.qp.get(), &drain, IBV_QP_STATE), 0);
    await(
        [&] {
            ibv_qp_attr now{};
            ibv_qp_init_attr made{};
            ibv_wc wc{};
            EXPECT_FALSE(poll(node.send_cq, wc));
            EXPECT_EQ(ibv_query_qp(node.qp.get(), &now, IBV_QP_STATE, &made), 0);
            return now.qp_state == IBV_QPS_SQD && now.sq_draining == 0;
        },
        "the queue to drain");
}

TEST(Answers, ThoseThatNobodyWaitsForCostFewPackets) {
    constexpr std::uint64_t writes = 60;
    const Counters counters;

    check_numbers(writes, true, with(counters.environment(), over_roce()));

    // An answer when half of the queue is used, or after some milliseconds, of which a busy machine has more. One for
    // each write would make twice as many packets.
    EXPECT_GE(counters.sum("sent_packets"), writes);
    EXPECT_LE(counters.sum("sent_packets"), writes + writes * 3 / 4);
}

TEST(Answers, AQueueOfRequestsThatNobodyWaitsForEmptiesItself) {
    check_numbers(5000, false, over_roce());
}

// The target has seen the write and goes: whoever wrote must not be told that it failed.
TEST(Answers, WhatCameIsAcknowledgedBeforeItsReceiverGoes) {
    for (const bool resets : {false, true}) {
        Shared<Script> script;
        Company company;
        company.start(
            [&] {
                Host host;
                const Node node = host.node();
                const Buffer memory = host.buffer(8, 1);
                script->writer = host.address(node, memory);
                script->meeting.meet();
                host.join(node, script->target, patient);
                script->meeting.meet();
                ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {memory.all()})
                              .to(script->target.memory, script->target.rkey)
                              .flags(0)
                              .post(node),
                          0);
                script->meeting.meet();  // the target is gone
                drain(node);
            },
            over_roce());
        company.start(
            [&] {
                Host host(1);
                Node node = host.node();
                Buffer memory = host.buffer(8);
                script->target = host.address(node, memory);
                script->meeting.meet();
                host.join(node, script->writer, patient);
                script->meeting.meet();
                await([&] { return __atomic_load_n(&memory.bytes[7], __ATOMIC_ACQUIRE) == 1; }, "the write");
                if (resets) {
                    ibv_qp_attr reset{};
                    reset.qp_state = IBV_QPS_RESET;
                    EXPECT_EQ(ibv_modify_qp(node.qp.get(), &reset, IBV_QP_STATE), 0);
                } else {
                    node.qp.reset();
                }
                script->meeting.meet();
            },
            over_roce());
        company.finish();
    }
}

// Without a timer nobody would ask later.
TEST(Answers, AQueueThatDrainsAsksAtOnce) {
    Shared<Script> script;
    Company company;
    company.start(
        [&] {
            Host host;
            const Node a = host.node(), b = host.node();
            const Buffer memory = host.buffer(16, 1);
            Tuning tuning = patient;
            tuning.timeout = 0;
            host.join(a, host.address(b), tuning);
            host.join(b, host.address(a), tuning);
            for (unsigned i = 0; i < 3; ++i)
                ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {memory.piece(0, 8)}).to(memory, 8).flags(0).post(a), 0);
            drain(a);
        },
        over_roce());
    company.finish();
}

// The last may be lost too: then only a timer asks.
TEST(Answers, WhatIsLostOfRequestsThatNobodyWaitsForIsRepeated) {
    const Counters counters;

    for (unsigned seed = 1; seed <= 5; ++seed)
        check_numbers(20, true,
                      with(with(counters.environment(), over_roce()),
                           {{"LOOM_VERBS_FAULT", "seed=" + std::to_string(seed) + ",drop=0.2"}}));

    EXPECT_GE(counters.sum("dropped"), 5u);
    EXPECT_GE(counters.sum("retransmitted"), 1u);
}

}  // namespace
}  // namespace loom::properties
