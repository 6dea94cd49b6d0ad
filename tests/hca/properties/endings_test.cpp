// Peers that stop, leave or die, and rings that fill up: calls return, nothing is lost, and the end is told.
#include <arpa/inet.h>
#include <sys/wait.h>

#include <csignal>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

struct Pair {
    Meeting meeting;
    Address one, other;
    std::atomic<bool> begun{false};
    std::atomic<bool> refused{false};
    std::atomic<std::uint32_t> taken{0};
};

constexpr std::uint32_t depth = 4096;

// Takes messages that are numbered from 0, in order, without ever posting less than all that may come.
void take_numbered(Pair& pair, std::uint32_t count) {
    Host host;
    NodeOptions options;
    options.recv_wr = depth;
    options.cqe = depth;
    const Node node = host.node(options);
    const Buffer memory = host.buffer(8192);
    pair.other = host.address(node, memory);
    EXPECT_EQ(conformance::to_init(node, IBV_QPT_RC), 0);
    for (std::uint32_t i = 0; i < depth; ++i) ASSERT_EQ(post_receive(node, i, {memory.piece(0, 4096)}), 0);
    pair.meeting.meet();
    EXPECT_EQ(conformance::to_rtr(node, IBV_QPT_RC, host.path(pair.one), pair.one.qpn, pair.one.psn, patient), 0);
    EXPECT_EQ(conformance::to_rts(node, IBV_QPT_RC, patient), 0);
    pair.meeting.meet();
    for (std::uint32_t i = 0; i < count; ++i) {
        ibv_wc wc{};
        await([&] { return poll(node.recv_cq, wc); }, "a message", std::chrono::seconds(60));
        ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS));
        ASSERT_EQ(ntohl(wc.imm_data), i);
        ASSERT_EQ(post_receive(node, wc.wr_id, {memory.piece(0, 4096)}), 0);
        pair.taken.fetch_add(1);
    }
    pair.meeting.meet();
}

// The peer is stopped while messages are under way: every call returns, the queue fills up to its length and no
// further, and afterwards every message arrives, once and in order.
void check_stopped_peer(std::uint32_t size) {
    const std::uint32_t queue = 3000;
    Shared<Pair> shared;
    Company company;
    std::uint32_t more = 500;
    const pid_t peer = company.start([&] { take_numbered(*shared, queue + 1 + more); });
    company.start([&] {
        Host host;
        NodeOptions options;
        options.send_wr = queue;
        options.cqe = static_cast<int>(queue) + 1;
        const Node node = host.node(options);
        const Buffer memory = host.buffer(4096);
        shared->one = host.address(node);
        shared->meeting.meet();
        host.join(node, shared->other, patient);
        shared->meeting.meet();
        std::uint32_t sent = 0;
        const auto post = [&] {
            return Work(IBV_WR_SEND_WITH_IMM, sent, {memory.piece(0, size)}).immediate(sent).post(node);
        };
        ASSERT_EQ(post(), 0);
        ++sent;
        EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
        await([&] { return shared->taken.load() == 1; }, "the first message to be taken");

        ASSERT_EQ(kill(peer, SIGSTOP), 0);
        int error = 0;
        while (sent <= queue && (error = post()) == 0) ++sent;
        if (error == 0 && (error = post()) == 0) ++sent;
        ibv_wc wc{};
        std::uint32_t completed = 0;
        // The stop may come late: what was taken in before it is completed, and makes room.
        while (poll(node.send_cq, wc)) ++completed;
        if (completed == 0) {
            EXPECT_EQ(error, ENOMEM);
            EXPECT_EQ(sent, queue + 1);
        }
        // Other calls on the connection return too.
        EXPECT_EQ(node.state(), IBV_QPS_RTS);
        const Buffer other = host.buffer(4096);
        EXPECT_NE(other.mr->lkey, memory.mr->lkey);

        ASSERT_EQ(kill(peer, SIGCONT), 0);
        std::uint32_t known = 1 + completed;
        const auto take = [&] {
            while (poll(node.send_cq, wc)) {
                EXPECT_STATUS(wc, IBV_WC_SUCCESS);
                ++known;
            }
        };
        const std::uint32_t all = queue + 1 + more;
        await(
            [&] {
                take();
                while (sent < all && post() == 0) ++sent;
                return known == all;
            },
            "everything to arrive", std::chrono::seconds(60));
        shared->meeting.meet();
    });

    company.finish();
}

TEST(StoppedPeer, ShortMessages) {
    check_stopped_peer(16);
}
TEST(StoppedPeer, MessagesThroughTheRingOfBytes) {
    check_stopped_peer(4096);
}

// The owner of memory does not wait for ever for a process that was stopped in the middle of anything.
TEST(StoppedPeer, DoesNotKeepMemoryFromBeingDeregistered) {
    constexpr std::size_t size = 4 << 20;
    Shared<Pair> shared;
    Company company;
    const pid_t writer = company.start([&] {
        Host host;
        const Node node = host.node();
        const Buffer memory = host.buffer(size);
        shared->other = host.address(node);
        shared->meeting.meet();
        host.join(node, shared->one, patient);
        shared->meeting.meet();
        shared->begun.store(true);
        ibv_wc_status status = IBV_WC_SUCCESS;
        while (status == IBV_WC_SUCCESS) {
            Work work(IBV_WR_RDMA_WRITE, 1, {memory.all()});
            ASSERT_EQ(work.to(shared->one.memory, shared->one.rkey).post(node), 0);
            status = next(node.send_cq).status;
        }
        shared->refused.store(true);
    });
    const pid_t owner = company.start([&] {
        Host host;
        const Node node = host.node();
        Buffer memory = host.buffer(size);
        shared->one = host.address(node, memory);
        shared->meeting.meet();
        host.join(node, shared->other, patient);
        shared->meeting.meet();
        await([&] { return shared->begun.load(); }, "the writer");
        usleep(2000);
        ASSERT_EQ(kill(writer, SIGSTOP), 0);
        const auto began = std::chrono::steady_clock::now();
        memory.mr.reset();
        EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
        std::fill(memory.bytes.begin(), memory.bytes.end(), std::uint8_t{0xa5});
        ASSERT_EQ(kill(writer, SIGCONT), 0);
        await([&] { return shared->refused.load(); }, "the writer's last word");
        EXPECT_EQ(std::count(memory.bytes.begin(), memory.bytes.end(), 0xa5), static_cast<std::ptrdiff_t>(size));
    });

    EXPECT_EQ(company.wait(owner), 0);
    EXPECT_EQ(company.wait(writer), 0);
}

enum class End : std::uint8_t { in_order, killed };

// What the one that stays sees of a peer's end: with a request under way and with none.
void check_end(End end) {
    Shared<Pair> shared;
    Company company;
    const pid_t peer = company.start([&] {
        Host host;
        const Node idle = host.node(), busy = host.node();
        shared->other = host.address(idle);
        shared->meeting.meet();
        host.join(idle, shared->one, patient);
        shared->meeting.meet();
        if (end == End::in_order) return;
        raise(SIGKILL);
    });
    company.start([&] {
        Host host;
        const Node node = host.node();
        const Buffer memory = host.buffer(4096);
        shared->one = host.address(node);
        shared->meeting.meet();
        host.join(node, shared->other, patient);
        ASSERT_EQ(post_receive(node, 7, {memory.piece(0, 64)}), 0);
        shared->meeting.meet();
        await([&] { return kill(peer, 0) != 0; }, "its end");  // reaped, so that nothing of it is left
        if (end == End::killed) {
            // Nobody must wait for it: the receive comes back.
            const ibv_wc wc = next(node.recv_cq);
            EXPECT_EQ(wc.wr_id, 7u);
            EXPECT_STATUS(wc, IBV_WC_WR_FLUSH_ERR);
            EXPECT_EQ(node.state(), IBV_QPS_ERR);
        } else {
            EXPECT_EQ(node.state(), IBV_QPS_RTS) << "as an adapter, which learns nothing of it";
            ASSERT_EQ(Work(IBV_WR_SEND, 8, {memory.piece(0, 64)}).post(node), 0);
            EXPECT_STATUS(next(node.send_cq), IBV_WC_RETRY_EXC_ERR);
            EXPECT_EQ(node.state(), IBV_QPS_ERR);
            EXPECT_STATUS(next(node.recv_cq), IBV_WC_WR_FLUSH_ERR);
        }
        // The adapter goes on.
        const Node a = host.node(), b = host.node();
        host.join(a, host.address(b));
        host.join(b, host.address(a));
        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 9, {memory.piece(0, 64)}).to(memory, 1024).post(a), 0);
        EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    });

    const int status = company.wait(peer);
    EXPECT_TRUE(end == End::killed ? WIFSIGNALED(status) : status == 0);
    company.finish();
}

TEST(EndOfPeer, InOrder) {
    check_end(End::in_order);
}
TEST(EndOfPeer, Killed) {
    check_end(End::killed);
}

}  // namespace
}  // namespace loom::properties
