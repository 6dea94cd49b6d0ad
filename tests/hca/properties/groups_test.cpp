// Multicast between processes of a host.
#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

struct Group {
    Meeting meeting;
    std::atomic<std::uint32_t> sender{0};
    std::atomic<bool> heard{false};
};

ibv_gid name_of_group() {
    ibv_gid gid{};
    gid.raw[0] = 0xff;
    gid.raw[1] = 0x12;
    gid.raw[15] = 42;
    return gid;
}

// A queue pair for datagrams, ready to send.
Node datagrams(Host& host) {
    NodeOptions options;
    options.type = IBV_QPT_UD;
    Node node = host.node(options);
    EXPECT_EQ(conformance::to_init(node, IBV_QPT_UD), 0);
    EXPECT_EQ(conformance::to_rtr(node, IBV_QPT_UD, {}, 0, 0), 0);
    EXPECT_EQ(conformance::to_rts(node, IBV_QPT_UD), 0);
    return node;
}

ibv_ah_attr to_group() {
    ibv_ah_attr to{};
    to.port_num = conformance::port_number;
    to.dlid = 0xc001;
    to.is_global = 1;
    to.grh.dgid = name_of_group();
    to.grh.hop_limit = 1;
    return to;
}

TEST(Groups, HaveMembersInOtherProcesses) {
    Shared<Group> shared;
    Company company;

    company.start([&] {
        Host host;
        const Buffer target = host.buffer(64);
        const Node node = datagrams(host);
        const ibv_gid group = name_of_group();
        ASSERT_EQ(post_receive(node, 1, {target.all()}), 0);
        ASSERT_EQ(ibv_attach_mcast(node.qp.get(), &group, 0xc001), 0);
        shared->meeting.meet();
        const ibv_wc wc = next(node.recv_cq);
        EXPECT_EQ(wc.byte_len, 40u + 8u);
        EXPECT_EQ(wc.src_qp, shared->sender.load());
        EXPECT_EQ(target.bytes[40], 7);
        shared->heard = true;
        EXPECT_EQ(ibv_detach_mcast(node.qp.get(), &group, 0xc001), 0);
    });
    company.start([&] {
        Host host;
        const Buffer source = host.buffer(8, 7);
        const Node node = datagrams(host);
        shared->sender = node.qp->qp_num;
        ibv_ah_attr to = to_group();
        const Ah ah(ibv_create_ah(host.pd.get(), &to));
        shared->meeting.meet();
        // Datagrams may be lost while the two processes meet.
        await(
            [&] {
                if (shared->heard) return true;
                EXPECT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).datagram(ah.get(), 0xffffff).post(node), 0);
                EXPECT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
                return false;
            },
            "the member's word");
    });

    company.finish();
}

// It may be a member, so the first datagram waits for its word; another's stopped process must not cost more than that.
TEST(Groups, WaitOnceForAProcessThatDoesNotAnswer) {
    Shared<Group> shared;
    Company company;

    const pid_t silent = company.start([&] {
        Host host;
        shared->meeting.meet();
        await([&] { return shared->heard.load(); }, "the end");
    });
    company.start([&] {
        shared->meeting.meet();
        ASSERT_EQ(kill(silent, SIGSTOP), 0);
        const auto stopped = [&] {
            std::ifstream stat("/proc/" + std::to_string(silent) + "/stat");
            std::string text((std::istreambuf_iterator<char>(stat)), {});
            return text.find(") T ") != std::string::npos;
        };
        await(stopped, "the other to stop");
        Host host;
        const Buffer source = host.buffer(8, 7);
        const Node node = datagrams(host);
        ibv_ah_attr to = to_group();
        const Ah ah(ibv_create_ah(host.pd.get(), &to));
        const auto send = [&](int count) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < count; ++i) {
                EXPECT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).datagram(ah.get(), 0xffffff).post(node), 0);
                EXPECT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
            }
            return std::chrono::steady_clock::now() - begin;
        };

        const auto first = send(1), more = send(10);

        EXPECT_LT(more, first);
        EXPECT_EQ(kill(silent, SIGCONT), 0);
        shared->heard = true;
    });

    company.finish();
}

}  // namespace
}  // namespace loom::properties
