// Unreliable datagrams: address handles, Q_Keys, the 40 bytes before every message, multicast.
#include <arpa/inet.h>
#include <unistd.h>

#include <cstring>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

constexpr std::size_t grh = 40;

class Datagrams : public Bed {
protected:
    Datagrams() : a(datagram_node()), b(datagram_node()), ah(address_handle()) {}

    Node datagram_node() {
        NodeOptions options;
        options.type = IBV_QPT_UD;
        Node result = node(options);
        ready(result);
        return result;
    }
    [[nodiscard]] std::size_t mtu() const { return std::size_t{128} << port.active_mtu; }

    // Sends to b and waits until the sender is done.
    void send(const Buffer& memory, std::size_t length, std::uint32_t key = qkey) {
        ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, length)}).datagram(ah.get(), b.qp->qp_num, key).post(a), 0);
        ASSERT_EQ(next(a.send_cq).status, IBV_WC_SUCCESS);
    }
    // What was dropped before cannot come any more once something sent later has come.
    void expect_only(std::uint64_t id, const Buffer& memory, std::size_t length) {
        send(memory, length);
        const ibv_wc wc = next(b.recv_cq);
        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.wr_id, id);
        EXPECT_EQ(wc.byte_len, length + grh);
    }

    Node a, b;
    Ah ah;
};

TEST_F(Datagrams, LeaveRoomForAGlobalRouteHeader) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(256, 2);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);

    send(source, 64);

    const ibv_wc wc = next(b.recv_cq);
    EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 64 + grh);
    EXPECT_EQ(wc.src_qp, a.qp->qp_num);
    EXPECT_EQ(wc.qp_num, b.qp->qp_num);
    EXPECT_EQ(wc.slid, port.lid);
    EXPECT_EQ(std::memcmp(target.bytes.data() + grh, source.bytes.data(), 64), 0);
    EXPECT_EQ(target.bytes[grh + 64], 2);
}

TEST_F(Datagrams, CarryImmediateData) {
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(256, 2);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);

    ASSERT_EQ(
        Work(IBV_WR_SEND_WITH_IMM, 1, {source.all()}).datagram(ah.get(), b.qp->qp_num).immediate(0x01020304).post(a),
        0);

    const ibv_wc wc = next(b.recv_cq);
    EXPECT_TRUE((wc.wc_flags & IBV_WC_WITH_IMM) != 0);
    EXPECT_EQ(be32toh(wc.imm_data), 0x01020304u);
}

TEST_F(Datagrams, OfAWrongQKeyAreDroppedWithoutAWord) {
    const Buffer memory = buffer(256);
    ASSERT_EQ(post_receive(b, 7, {memory.all()}), 0);

    send(memory, 8, qkey + 1);

    expect_only(7, memory, 16);
    EXPECT_EQ(b.state(), IBV_QPS_RTS);
}

TEST_F(Datagrams, WithAPrivilegedQKeyUseTheSendersOwn) {
    const Buffer memory = buffer(256);
    ASSERT_EQ(post_receive(b, 7, {memory.all()}), 0);

    send(memory, 8, 0x80000000u);

    EXPECT_EQ(next(b.recv_cq).byte_len, 8 + grh);
}

TEST_F(Datagrams, WithoutAReceiveAreDroppedWithoutAWord) {
    const Buffer memory = buffer(256);

    send(memory, 8);
    ASSERT_EQ(post_receive(b, 7, {memory.all()}), 0);

    expect_only(7, memory, 16);
}

TEST_F(Datagrams, ToNobodyAreSentAllTheSame) {
    const Buffer memory = buffer(64);
    const std::uint32_t nobody = b.qp->qp_num;
    b.qp.reset();

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).datagram(ah.get(), nobody).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(a.state(), IBV_QPS_RTS);
}

// An adapter may complete the receive with a length error or drop the message; it may not write beyond.
TEST_F(Datagrams, ThatDoNotFitTouchNothingBeyondTheReceive) {
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(256, 2);
    ASSERT_EQ(post_receive(b, 1, {target.piece(0, grh + 63)}), 0);
    ASSERT_EQ(post_receive(b, 2, {target.piece(128, 128)}), 0);

    send(source, 64);
    send(source, 32);

    ibv_wc wc = next(b.recv_cq);
    EXPECT_EQ(wc.wr_id, 1u);
    if (wc.status != IBV_WC_SUCCESS) {
        EXPECT_STATUS(wc, IBV_WC_LOC_LEN_ERR);
    } else {
        EXPECT_EQ(wc.byte_len, 32 + grh);
    }
    for (std::size_t i = grh + 63; i < 128; ++i) EXPECT_EQ(target.bytes[i], 2) << i;
}

TEST_F(Datagrams, AreAtMostOnePacketLong) {
    const Buffer memory = buffer(2 * 4096 + 2 * grh);
    ASSERT_EQ(post_receive(b, 1, {memory.piece(4096, 4096 + grh)}), 0);

    send(memory, mtu());
    EXPECT_EQ(next(b.recv_cq).byte_len, mtu() + grh);
    const int refused = Work(IBV_WR_SEND, 2, {memory.piece(0, mtu() + 1)}).datagram(ah.get(), b.qp->qp_num).post(a);

    if (refused == 0) {
        EXPECT_STATUS(next(a.send_cq), IBV_WC_LOC_LEN_ERR);
    } else {
        EXPECT_EQ(refused, EINVAL);
    }
}

TEST_F(Datagrams, ReachTheirSenderToo) {
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(a, 3, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).datagram(ah.get(), a.qp->qp_num).post(a), 0);

    EXPECT_EQ(next(a.recv_cq).src_qp, a.qp->qp_num);
    EXPECT_EQ(target.bytes[grh], 1);
}

TEST_F(Datagrams, ByGidSayThatTheyHaveARouteHeader) {
    ibv_ah_attr attributes = path();
    attributes.is_global = 1;
    attributes.grh.hop_limit = 5;
    ASSERT_EQ(ibv_query_gid(context.get(), port_number, 0, &attributes.grh.dgid), 0);
    const Ah global(ibv_create_ah(pd.get(), &attributes));
    ASSERT_NE(global, nullptr);
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 3, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).datagram(global.get(), b.qp->qp_num).post(a), 0);

    const ibv_wc wc = next(b.recv_cq);
    EXPECT_TRUE((wc.wc_flags & IBV_WC_GRH) != 0);
    ibv_grh header{};
    std::memcpy(&header, target.bytes.data(), sizeof header);
    EXPECT_EQ(std::memcmp(&header.sgid, &attributes.grh.dgid, 16), 0) << "the port's own";
    EXPECT_EQ(std::memcmp(&header.dgid, &attributes.grh.dgid, 16), 0);
}

TEST_F(Datagrams, CanBeAnsweredFromTheirCompletion) {
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 3, {target.all()}), 0);
    ASSERT_EQ(post_receive(a, 4, {target.all()}), 0);
    send(source, 16);
    ibv_wc wc = next(b.recv_cq);
    ibv_grh header{};
    std::memcpy(&header, target.bytes.data(), sizeof header);

    const Ah back(ibv_create_ah_from_wc(pd.get(), &wc, &header, port_number));
    ASSERT_NE(back, nullptr);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.piece(0, 5)}).datagram(back.get(), wc.src_qp).post(b), 0);

    EXPECT_EQ(next(a.recv_cq).byte_len, 5 + grh);
}

TEST_F(Datagrams, NeedAnAddressThatMakesSense) {
    ibv_ah_attr attributes = path();
    attributes.port_num = 2;

    errno = 0;
    EXPECT_EQ(ibv_create_ah(pd.get(), &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(Datagrams, FromMemoryThatIsNotOursStopTheSendQueueAlone) {
    const Buffer memory = buffer(64);
    ASSERT_EQ(post_receive(a, 9, {memory.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {{memory.address(), 8, memory.mr->lkey ^ 0x7700}})
                  .datagram(ah.get(), b.qp->qp_num)
                  .post(a),
              0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.piece(0, 8)}).datagram(ah.get(), b.qp->qp_num).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_LOC_PROT_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_SQE);
    ASSERT_EQ(Work(IBV_WR_SEND, 3, {memory.piece(0, 8)}).datagram(ah.get(), a.qp->qp_num).post(b), 0);
    EXPECT_EQ(next(a.recv_cq).wr_id, 9u) << "it still receives";
    ASSERT_EQ(to_state(a, IBV_QPS_RTS), 0);
    send(memory, 8);
}

class Multicast : public Datagrams {
protected:
    Multicast() {
        inet_pton(AF_INET6, "ff12:401b:ffff::77", group.raw);
        const pid_t own = getpid();  // others run these tests at the same time
        std::memcpy(group.raw + 8, &own, sizeof own);
        ibv_ah_attr attributes{};
        attributes.port_num = port_number;
        attributes.dlid = lid;
        attributes.is_global = 1;
        attributes.grh.dgid = group;
        attributes.grh.hop_limit = 1;
        to_group.reset(ibv_create_ah(pd.get(), &attributes));
    }

    void send_to_group(const Buffer& memory, std::size_t length) {
        ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, length)}).datagram(to_group.get(), 0xffffff).post(a), 0);
        ASSERT_EQ(next(a.send_cq).status, IBV_WC_SUCCESS);
    }

    static constexpr std::uint16_t lid = 0xc077;
    ibv_gid group{};
    Ah to_group;
};

TEST_F(Multicast, ReachesEveryMemberOfTheGroup) {
    Node c = datagram_node();
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(256, 2);
    ASSERT_NE(to_group, nullptr);
    ASSERT_EQ(ibv_attach_mcast(b.qp.get(), &group, lid), 0);
    ASSERT_EQ(ibv_attach_mcast(c.qp.get(), &group, lid), 0);
    ASSERT_EQ(post_receive(b, 1, {target.piece(0, 64)}), 0);
    ASSERT_EQ(post_receive(c, 2, {target.piece(64, 64)}), 0);

    send_to_group(source, 16);

    EXPECT_EQ(next(b.recv_cq).byte_len, 16 + grh);
    EXPECT_EQ(next(c.recv_cq).byte_len, 16 + grh);
    EXPECT_EQ(target.bytes[grh], 1);
    EXPECT_EQ(target.bytes[64 + grh], 1);
    EXPECT_EQ(ibv_detach_mcast(b.qp.get(), &group, lid), 0);
    EXPECT_EQ(ibv_detach_mcast(c.qp.get(), &group, lid), 0);
}

TEST_F(Multicast, DoesNotReachWhoHasLeftOrNeverCame) {
    Node c = datagram_node();
    const Buffer memory = buffer(256, 2);
    ASSERT_EQ(ibv_attach_mcast(b.qp.get(), &group, lid), 0);
    ASSERT_EQ(ibv_detach_mcast(b.qp.get(), &group, lid), 0);
    ASSERT_EQ(post_receive(b, 1, {memory.piece(0, 64)}), 0);
    ASSERT_EQ(post_receive(c, 2, {memory.piece(64, 64)}), 0);

    send_to_group(memory, 16);

    EXPECT_TRUE(stays_empty(b.recv_cq));
    EXPECT_TRUE(stays_empty(c.recv_cq));
}

TEST_F(Multicast, IsForDatagramsAlone) {
    const Node rc = node();

    EXPECT_EQ(ibv_attach_mcast(rc.qp.get(), &group, lid), EINVAL);
}

TEST_F(Multicast, NeedsAGroupsAddress) {
    ibv_gid own{};
    ASSERT_EQ(ibv_query_gid(context.get(), port_number, 0, &own), 0);

    EXPECT_EQ(ibv_attach_mcast(b.qp.get(), &own, lid), EINVAL);
}

TEST_F(Multicast, CannotBeLeftByWhoIsNoMember) {
    EXPECT_NE(ibv_detach_mcast(b.qp.get(), &group, lid), 0);
}

}  // namespace
}  // namespace loom::conformance
