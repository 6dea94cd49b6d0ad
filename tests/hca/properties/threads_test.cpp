// Many threads, queue pairs, devices and processes at once: nothing is lost, and each queue pair keeps its order.
#include <arpa/inet.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>

#include "hca/properties/stage.hpp"
#include "loom/base/random.hpp"

namespace loom::properties {
namespace {

struct Threads {
    Meeting meeting;
    std::array<Address, 8> one{}, other{};
    std::atomic<std::uint32_t> taken{0};
};

// A queue pair whose completions go to queues that others use too.
Node sharing(Host& host, const Cq& send, const Cq& receive) {
    Node node;
    ibv_qp_init_attr attributes{};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = send.get();
    attributes.recv_cq = receive.get();
    attributes.sq_sig_all = 1;
    attributes.cap = {64, 256, 1, 1, 64};
    node.qp.reset(ibv_create_qp(host.pd.get(), &attributes));
    if (!node.qp) throw std::runtime_error("ibv_create_qp");
    node.psn = node.qp->qp_num & 0xffffff;
    return node;
}

// Threads that make and take down objects of their own all the while.
class Unrest {
public:
    explicit Unrest(Host& host) {
        threads_.emplace_back([this, &host] {
            while (goes_on()) {
                const Buffer memory = host.buffer(64 * 1024);
                EXPECT_NE(memory.mr->rkey, 0u);
            }
        });
        threads_.emplace_back([this, &host] {
            while (goes_on()) {
                const Node a = host.node(), b = host.node();
                host.join(a, host.address(b));
                host.join(b, host.address(a));
                EXPECT_EQ(conformance::to_state(a, IBV_QPS_ERR), 0);
            }
        });
        threads_.emplace_back([this] {
            while (goes_on()) {
                const Host another;
                EXPECT_NE(another.port.lid, 0);
            }
        });
    }
    ~Unrest() {
        over_.store(true);
        for (std::thread& thread : threads_) thread.join();
    }
    Unrest(const Unrest&) = delete;
    Unrest& operator=(const Unrest&) = delete;

private:
    // Now and then: the engine has one lock, and whoever holds it keeps the others from their work.
    [[nodiscard]] bool goes_on() const {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        return !over_.load();
    }

    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

constexpr unsigned senders = 4;

// Each of four threads sends on two queue pairs; their completions come to two queues, which two threads poll.
TEST(Threads, SendOnManyQueuePairsAndPollSharedQueues) {
    const std::uint32_t messages = rounds(2000);
    Shared<Threads> shared;
    Company company;

    company.start([&] {
        Host host;
        const Cq send(ibv_create_cq(host.context.get(), 4096, nullptr, nullptr, 0));
        const Cq unused(ibv_create_cq(host.context.get(), 16, nullptr, nullptr, 0));
        std::vector<Node> nodes;
        for (unsigned i = 0; i < 2 * senders; ++i) nodes.push_back(sharing(host, send, unused));
        for (unsigned i = 0; i < 2 * senders; ++i) shared->one[i] = host.address(nodes[i]);
        shared->meeting.meet();
        for (unsigned i = 0; i < 2 * senders; ++i) host.join(nodes[i], shared->other[i], patient);
        shared->meeting.meet();
        const Unrest unrest(host);
        std::atomic<std::uint32_t> completed{0};
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < senders; ++t)
            threads.emplace_back([&, t] {
                Buffer memory = host.buffer(64);
                for (std::uint32_t message = 0; message < messages; ++message)
                    for (const unsigned i : {2 * t, 2 * t + 1}) {
                        std::memcpy(memory.bytes.data(), &message, sizeof message);
                        Work work(IBV_WR_SEND_WITH_IMM, message, {memory.piece(0, 8)});
                        work.immediate(message).flags(IBV_SEND_INLINE);
                        int error = 0;
                        await([&] { return (error = work.post(nodes[i])) != ENOMEM; }, "room in the queue");
                        ASSERT_EQ(error, 0);
                    }
            });
        for (unsigned t = 0; t < 2; ++t)
            threads.emplace_back([&] {
                await(
                    [&] {
                        ibv_wc wc[64];
                        const int count = ibv_poll_cq(send.get(), 64, wc);
                        for (int i = 0; i < count; ++i) EXPECT_STATUS(wc[i], IBV_WC_SUCCESS);
                        return (completed += static_cast<std::uint32_t>(count)) >= messages * 2 * senders;
                    },
                    "all completions", std::chrono::seconds(60));
            });
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(completed.load(), messages * 2 * senders);
        shared->meeting.meet();
    });
    company.start([&] {
        Host host;
        const Channel channel(ibv_create_comp_channel(host.context.get()));
        const Cq unused(ibv_create_cq(host.context.get(), 16, nullptr, nullptr, 0));
        const Buffer memory = host.buffer(64);
        std::vector<Cq> queues;
        std::vector<Node> nodes;
        for (unsigned i = 0; i < 2 * senders; ++i) {
            queues.emplace_back(ibv_create_cq(host.context.get(), 1024, nullptr, channel.get(), 0));
            nodes.push_back(sharing(host, unused, queues.back()));
            shared->other[i] = host.address(nodes[i]);
            EXPECT_EQ(conformance::to_init(nodes[i], IBV_QPT_RC), 0);
            for (unsigned r = 0; r < 256; ++r) EXPECT_EQ(post_receive(nodes[i], r, {memory.piece(0, 8)}), 0);
        }
        shared->meeting.meet();
        for (unsigned i = 0; i < 2 * senders; ++i) {
            EXPECT_EQ(conformance::to_rtr(nodes[i], IBV_QPT_RC, host.path(shared->one[i]), shared->one[i].qpn,
                                          shared->one[i].psn, patient),
                      0);
            EXPECT_EQ(conformance::to_rts(nodes[i], IBV_QPT_RC, patient), 0);
        }
        for (const Cq& cq : queues) EXPECT_EQ(ibv_req_notify_cq(cq.get(), 0), 0);
        shared->meeting.meet();
        const Unrest unrest(host);
        std::array<std::uint32_t, 2 * senders> expected{};
        std::uint32_t left = messages * 2 * senders;
        while (left > 0) {
            pollfd waiting{channel->fd, POLLIN, 0};
            ASSERT_EQ(::poll(&waiting, 1, 30'000), 1) << "no event, " << left << " messages left";
            ibv_cq* cq = nullptr;
            void* cq_context = nullptr;
            ASSERT_EQ(ibv_get_cq_event(channel.get(), &cq, &cq_context), 0);
            ibv_ack_cq_events(cq, 1);
            ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
            ibv_wc wc{};
            while (ibv_poll_cq(cq, 1, &wc) == 1) {
                ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS));
                unsigned i = 0;
                while (nodes[i].qp->qp_num != wc.qp_num) ++i;
                ASSERT_EQ(ntohl(wc.imm_data), expected[i]++) << "of queue pair " << i;
                ASSERT_EQ(post_receive(nodes[i], wc.wr_id, {memory.piece(0, 8)}), 0);
                --left;
            }
        }
        shared->meeting.meet();
    });

    company.finish();
}

// One queue pair for several threads: each message once, those of a thread in its order.
TEST(Threads, ShareAQueuePair) {
    const std::uint32_t messages = rounds(3000);
    Shared<Threads> shared;
    Company company;

    company.start([&] {
        Host host;
        const Cq send(ibv_create_cq(host.context.get(), 4096, nullptr, nullptr, 0));
        const Node node = sharing(host, send, send);
        shared->one[0] = host.address(node);
        shared->meeting.meet();
        host.join(node, shared->other[0], patient);
        shared->meeting.meet();
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < senders; ++t)
            threads.emplace_back([&, t] {
                const Buffer memory = host.buffer(64);
                for (std::uint32_t message = 0; message < messages; ++message) {
                    Work work(IBV_WR_SEND_WITH_IMM, message, {memory.piece(0, 8)});
                    work.immediate(t << 24 | message);
                    await(
                        [&] {
                            ibv_wc wc{};
                            while (poll(send, wc)) EXPECT_STATUS(wc, IBV_WC_SUCCESS);
                            return work.post(node) == 0;
                        },
                        "room in the queue");
                }
            });
        for (std::thread& thread : threads) thread.join();
        await([&] { return shared->taken.load() == messages * senders; }, "the other to take all");
        shared->meeting.meet();
    });
    company.start([&] {
        Host host;
        NodeOptions options;
        options.recv_wr = 512;
        options.cqe = 512;
        const Node node = host.node(options);
        const Buffer memory = host.buffer(64);
        shared->other[0] = host.address(node);
        EXPECT_EQ(conformance::to_init(node, IBV_QPT_RC), 0);
        for (unsigned r = 0; r < 512; ++r) EXPECT_EQ(post_receive(node, r, {memory.piece(0, 8)}), 0);
        shared->meeting.meet();
        EXPECT_EQ(conformance::to_rtr(node, IBV_QPT_RC, host.path(shared->one[0]), shared->one[0].qpn,
                                      shared->one[0].psn, patient),
                  0);
        shared->meeting.meet();
        std::array<std::uint32_t, senders> expected{};
        for (std::uint32_t i = 0; i < messages * senders; ++i) {
            const ibv_wc wc = next(node.recv_cq);
            ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS));
            const std::uint32_t word = ntohl(wc.imm_data);
            ASSERT_EQ(word & 0xffffff, expected.at(word >> 24)++) << "of thread " << (word >> 24);
            ASSERT_EQ(post_receive(node, wc.wr_id, {memory.piece(0, 8)}), 0);
            shared->taken.fetch_add(1);
        }
        shared->meeting.meet();
    });

    company.finish();
}

TEST(Threads, OpenAndCloseDevicesAgainAndAgain) {
    Company company;

    company.start(
        [&] {
            std::vector<std::thread> threads;
            for (int device = 0; device < 3; ++device)
                threads.emplace_back([device] {
                    for (unsigned i = 0; i < rounds(100); ++i) {
                        Host host(device), second(device);
                        EXPECT_EQ(host.port.lid, device + 1);
                        const Node a = host.node(), b = second.node();
                        const Buffer from = host.buffer(64, 1), to = second.buffer(64, 2);
                        host.join(a, second.address(b));
                        second.join(b, host.address(a));
                        ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {from.all()}).to(to).post(a), 0);
                        EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
                        EXPECT_EQ(to.bytes, from.bytes);
                    }
                });
            for (std::thread& thread : threads) thread.join();
        },
        {{"LOOM_VERBS_HCAS", "3"}});

    company.finish();
}

constexpr unsigned crowd = sanitized ? 5 : 16, many = 120;

struct Crowd {
    Meeting meeting;
    std::array<std::array<Address, crowd>, crowd> addresses{};  // [whose][towards]
};

// Every process sends to every other and writes into its memory; each message and each byte is there at the end.
TEST(Processes, AllTalkToAll) {
    Shared<Crowd> shared;
    Company company;

    for (unsigned me = 0; me < crowd; ++me)
        company.start(
            [&, me] {
                constexpr unsigned messages = 20;
                Host host(static_cast<int>(me % 3));
                Buffer memory = host.buffer(4096);
                std::vector<Node> nodes;
                for (unsigned peer = 0; peer < crowd; ++peer) {
                    NodeOptions options;
                    options.recv_wr = options.send_wr = 2 * messages;
                    nodes.push_back(host.node(options));
                    shared->addresses[me][peer] = host.address(nodes.back(), memory);
                    EXPECT_EQ(conformance::to_init(nodes[peer], IBV_QPT_RC), 0);
                    for (unsigned i = 0; i < messages; ++i)
                        EXPECT_EQ(post_receive(nodes[peer], i, {memory.piece(2048, 8)}), 0);
                }
                shared->meeting.meet(crowd);
                for (unsigned peer = 0; peer < crowd; ++peer) {
                    const Address& theirs = shared->addresses[peer][me];
                    EXPECT_EQ(conformance::to_rtr(nodes[peer], IBV_QPT_RC, host.path(theirs), theirs.qpn, theirs.psn,
                                                  patient),
                              0);
                    EXPECT_EQ(conformance::to_rts(nodes[peer], IBV_QPT_RC, patient), 0);
                }
                shared->meeting.meet(crowd);
                std::memset(memory.bytes.data() + 1024, static_cast<int>(me + 1), 8);
                for (unsigned i = 0; i < messages; ++i)
                    for (unsigned peer = 0; peer < crowd; ++peer) {
                        const Address& theirs = shared->addresses[peer][me];
                        Work send(IBV_WR_SEND_WITH_IMM, i, {memory.piece(1024, 8)});
                        ASSERT_EQ(send.immediate(me << 8 | i).post(nodes[peer]), 0);
                        Work write(IBV_WR_RDMA_WRITE, i, {memory.piece(1024, 8)});
                        ASSERT_EQ(write.to(theirs.memory + me * 8, theirs.rkey).post(nodes[peer]), 0);
                    }
                for (unsigned peer = 0; peer < crowd; ++peer)
                    for (unsigned i = 0; i < messages; ++i) {
                        EXPECT_STATUS(next(nodes[peer].send_cq), IBV_WC_SUCCESS);
                        EXPECT_STATUS(next(nodes[peer].send_cq), IBV_WC_SUCCESS);
                        const ibv_wc wc = next(nodes[peer].recv_cq);
                        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
                        EXPECT_EQ(ntohl(wc.imm_data), peer << 8 | i);
                    }
                shared->meeting.meet(crowd);
                for (unsigned peer = 0; peer < crowd; ++peer) EXPECT_EQ(memory.bytes[peer * 8 + 7], peer + 1);
                shared->meeting.meet(crowd);
            },
            {{"LOOM_VERBS_HCAS", "3"}});

    company.finish();
}

struct Bundle {
    Meeting meeting;
    std::array<Address, many> one{}, other{};
};

TEST(Processes, KeepManyQueuePairsBetweenThem) {
    Shared<Bundle> shared;
    Company company;

    for (const bool first : {true, false})
        company.start([&, first] {
            Host host;
            const Buffer memory = host.buffer(64);
            std::vector<Node> nodes;
            for (unsigned i = 0; i < many; ++i) {
                nodes.push_back(host.node());
                (first ? shared->one : shared->other)[i] = host.address(nodes[i]);
                EXPECT_EQ(conformance::to_init(nodes[i], IBV_QPT_RC), 0);
                for (unsigned r = 0; r < 4; ++r) EXPECT_EQ(post_receive(nodes[i], r, {memory.piece(0, 64)}), 0);
            }
            shared->meeting.meet();
            for (unsigned i = 0; i < many; ++i) {
                const Address& theirs = (first ? shared->other : shared->one)[i];
                EXPECT_EQ(conformance::to_rtr(nodes[i], IBV_QPT_RC, host.path(theirs), theirs.qpn, theirs.psn, patient),
                          0);
                EXPECT_EQ(conformance::to_rts(nodes[i], IBV_QPT_RC, patient), 0);
            }
            shared->meeting.meet();
            for (unsigned r = 0; r < 4; ++r)
                for (unsigned i = 0; i < many; ++i)
                    ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, r, {memory.piece(0, 64)}).immediate(i << 8 | r).post(nodes[i]),
                              0);
            for (unsigned i = 0; i < many; ++i)
                for (unsigned r = 0; r < 4; ++r) {
                    EXPECT_STATUS(next(nodes[i].send_cq), IBV_WC_SUCCESS);
                    const ibv_wc wc = next(nodes[i].recv_cq);
                    EXPECT_STATUS(wc, IBV_WC_SUCCESS);
                    EXPECT_EQ(ntohl(wc.imm_data), i << 8 | r);
                }
            shared->meeting.meet();
        });

    company.finish();
}

}  // namespace
}  // namespace loom::properties
