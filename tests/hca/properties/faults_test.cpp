// The fault knobs: the same seed decides the same, RC loses nothing when packets are dropped, requests fail as often as
// asked, and completions come late.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "hca/kit/pattern.hpp"
#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

struct Outcome {
    std::array<std::uint8_t, 1000> failed{};
};

// Which of many requests fail, each on a queue pair that is renewed after a failure.
void send_many(Outcome& outcome) {
    Host host;
    const Buffer memory = host.buffer(4096);
    std::size_t at = 0;
    while (at < outcome.failed.size()) {
        const Node a = host.node(), b = host.node();
        host.join(a, host.address(b));
        host.join(b, host.address(a));
        while (at < outcome.failed.size()) {
            ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, at, {memory.piece(0, 64)}).to(memory, 128).post(a), 0);
            const ibv_wc wc = next(a.send_cq);
            ASSERT_EQ(wc.wr_id, at);
            outcome.failed[at++] = wc.status != IBV_WC_SUCCESS ? 1 : 0;
            if (wc.status == IBV_WC_SUCCESS) continue;
            EXPECT_STATUS(wc, IBV_WC_GENERAL_ERR);
            EXPECT_EQ(a.state(), IBV_QPS_ERR);
            break;
        }
    }
}

TEST(Faults, RequestsFailAsOftenAsAskedAndBySeed) {
    Shared<Outcome> first, again, other;
    Company company;

    company.start([&] { send_many(*first); }, {{"LOOM_VERBS_FAULT", "seed=3,error=0.1"}});
    company.start([&] { send_many(*again); }, {{"LOOM_VERBS_FAULT", "seed=3,error=0.1"}});
    company.start([&] { send_many(*other); }, {{"LOOM_VERBS_FAULT", "seed=4,error=0.1"}});
    company.finish();

    EXPECT_EQ(first->failed, again->failed);
    EXPECT_NE(first->failed, other->failed);
    const auto failed = std::count(first->failed.begin(), first->failed.end(), 1);
    EXPECT_GT(failed, 60);  // 100 expected, with a deviation of 9.5
    EXPECT_LT(failed, 140);
}

// A list that is posted at once: the one that fails is in its middle, those before it are done, the rest is flushed.
TEST(Faults, AFailureWaitsForItsTurn) {
    Company company;

    company.start(
        [&] {
            Host host;
            const Buffer memory = host.buffer(4096);
            std::set<unsigned> places;
            for (unsigned round = 0; round < 100; ++round) {
                NodeOptions options;
                options.signal_all = true;
                const Node a = host.node(options), b = host.node(options);
                host.join(a, host.address(b));
                host.join(b, host.address(a));
                for (unsigned i = 0; i < 10; ++i) ASSERT_EQ(post_receive(b, i, {memory.piece(2048, 64)}), 0);
                for (unsigned i = 0; i < 10; ++i) ASSERT_EQ(Work(IBV_WR_SEND, i, {memory.piece(0, 64)}).post(a), 0);
                bool failed = false;
                for (unsigned i = 0; i < 10; ++i) {
                    const ibv_wc wc = next(a.send_cq);
                    ASSERT_EQ(wc.wr_id, i);
                    if (failed) {
                        EXPECT_STATUS(wc, IBV_WC_WR_FLUSH_ERR);
                    } else if (wc.status != IBV_WC_SUCCESS) {
                        EXPECT_STATUS(wc, IBV_WC_GENERAL_ERR);
                        failed = true;
                        places.insert(i);
                    }
                }
            }
            EXPECT_GT(places.size(), 3u);
        },
        {{"LOOM_VERBS_FAULT", "seed=5,error=0.1"}});

    company.finish();
}

struct Stream {
    Meeting meeting;
    Address one, other;
};

// Messages of many sizes, some by send, some written and read, all checked where they come out.
void exchange(Stream& stream, bool sender, int device, unsigned count, std::uint32_t largest) {
    Host host(device);
    NodeOptions options;
    options.send_wr = options.recv_wr = 16;
    const Node node = host.node(options);
    Buffer memory = host.buffer(std::size_t{largest} * 2);
    (sender ? stream.one : stream.other) = host.address(node, memory);
    stream.meeting.meet();
    const Address theirs = sender ? stream.other : stream.one;
    host.join(node, theirs, host.port.link_layer == IBV_LINK_LAYER_ETHERNET ? very_patient : patient);
    Random random(9);
    for (unsigned message = 0; message < count; ++message) {
        const std::uint32_t size = 1 + random.below(largest);
        const kit::Pattern pattern(1, message);
        std::memset(memory.bytes.data(), 0, memory.bytes.size());
        if (!sender) {
            ASSERT_EQ(post_receive(node, message, {memory.piece(0, largest)}), 0);
        }
        stream.meeting.meet();
        if (sender) {
            pattern.fill({memory.bytes.data(), size}, 0);
            ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, size)}).post(node), 0);
            ASSERT_EQ(
                Work(IBV_WR_RDMA_WRITE, 2, {memory.piece(0, size)}).to(theirs.memory + largest, theirs.rkey).post(node),
                0);
            ASSERT_EQ(Work(IBV_WR_RDMA_READ, 3, {memory.piece(largest, size)})
                          .to(theirs.memory + largest, theirs.rkey)
                          .post(node),
                      0);
            for (std::uint64_t id = 1; id <= 3; ++id) {
                const ibv_wc wc = next(node.send_cq);
                ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS)) << "message " << message;
                ASSERT_EQ(wc.wr_id, id);
            }
            ASSERT_EQ(pattern.differs({memory.bytes.data() + largest, size}, 0), size) << "read, message " << message;
        } else {
            const ibv_wc wc = next(node.recv_cq);
            ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS)) << "message " << message;
            ASSERT_EQ(wc.byte_len, size);
            ASSERT_EQ(pattern.differs({memory.bytes.data(), size}, 0), size) << "sent, message " << message;
        }
        stream.meeting.meet();
        // Others' writes are the adapter's: a call orders them before what this program does next.
        ibv_wc none{};
        EXPECT_FALSE(poll(node.recv_cq, none));
        if (!sender) {
            ASSERT_EQ(pattern.differs({memory.bytes.data() + largest, size}, 0), size) << "written";
        }
    }
    stream.meeting.meet();
}

TEST(Faults, DroppedPacketsLoseNothingOverRoce) {
    Shared<Stream> stream;
    const Counters counters;
    const Environment environment =
        with(with(counters.environment(), over_roce()), {{"LOOM_VERBS_FAULT", "seed=2,drop=0.02"}});
    Company company;

    company.start([&] { exchange(*stream, true, 0, rounds(100), 300'000); }, environment);
    company.start([&] { exchange(*stream, false, 1, rounds(100), 300'000); }, environment);
    company.finish();

    EXPECT_GT(counters.sum("dropped"), rounds(100));
    EXPECT_GE(counters.sum("retransmitted"), 1u);
    EXPECT_GT(counters.sum("sent_bytes", "roce"), 100'000u);
    EXPECT_EQ(counters.sum("sent_bytes", "direct") + counters.sum("sent_bytes", "target"), 0u);
}

TEST(Faults, DroppedPacketsLoseNothingInsideAHost) {
    Shared<Stream> stream;
    const Counters counters;
    const Environment environment = with(counters.environment(), {{"LOOM_VERBS_FAULT", "seed=2,drop=0.05"}});
    Company company;

    company.start([&] { exchange(*stream, true, 0, 100, 300'000); }, environment);
    company.start([&] { exchange(*stream, false, 0, 100, 300'000); }, environment);
    company.finish();

    EXPECT_GE(counters.sum("dropped"), 1u);
    EXPECT_GE(counters.sum("retransmitted"), 1u);
}

TEST(Faults, DroppedPacketsLoseNothingWhereCopiesAreDenied) {
    Shared<Stream> stream;
    const Counters counters;
    const Environment environment = with(counters.environment(), {{"LOOM_VERBS_FAULT", "seed=2,drop=0.02"}});
    Company company;

    for (const bool sender : {true, false})
        company.start(
            [&] {
                deny_process_copies();
                exchange(*stream, sender, 0, rounds(100), 300'000);
            },
            environment);
    company.finish();

    EXPECT_GE(counters.sum("retransmitted"), 1u);
    EXPECT_GT(counters.sum("sent_bytes", "target"), 100'000u);
}

// Completions come late, in order, and the knob does nothing else.
void check_delay(Environment environment, int other_device) {
    constexpr std::int64_t delay_us = 3000;
    Shared<Stream> stream;
    Company company;
    environment = with(environment, {{"LOOM_VERBS_FAULT", "delay=3ms"}});

    company.start(
        [&] {
            Host host;
            const Node node = host.node();
            const Buffer memory = host.buffer(8192, 5);
            stream->one = host.address(node);
            stream->meeting.meet();
            host.join(node, stream->other, very_patient);
            stream->meeting.meet();
            for (unsigned i = 0; i < 20; ++i) {
                const std::int64_t began = now_us();
                ASSERT_EQ(Work(IBV_WR_SEND, i, {memory.piece(0, 8192 >> (i % 14))}).post(node), 0);
                EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
                EXPECT_GE(now_us() - began, delay_us);
            }
            for (unsigned i = 0; i < 16; ++i)
                ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, i, {memory.piece(0, 64)}).immediate(i).post(node), 0);
            for (unsigned i = 0; i < 16; ++i) EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
            stream->meeting.meet();
        },
        environment);
    company.start(
        [&] {
            Host host(other_device);
            NodeOptions options;
            options.recv_wr = 64;
            const Node node = host.node(options);
            const Buffer memory = host.buffer(8192);
            stream->other = host.address(node);
            stream->meeting.meet();
            host.join(node, stream->one, very_patient);
            for (unsigned i = 0; i < 36; ++i) ASSERT_EQ(post_receive(node, i, {memory.all()}), 0);
            stream->meeting.meet();
            for (unsigned i = 0; i < 36; ++i) {
                const ibv_wc wc = next(node.recv_cq);
                EXPECT_STATUS(wc, IBV_WC_SUCCESS);
                EXPECT_EQ(wc.wr_id, i);
            }
            stream->meeting.meet();
        },
        environment);

    company.finish();
}

TEST(Faults, CompletionsComeLateInsideAHost) {
    check_delay({}, 0);
}

TEST(Faults, CompletionsComeLateOverRoce) {
    check_delay(over_roce(), 1);
}

}  // namespace
}  // namespace loom::properties
