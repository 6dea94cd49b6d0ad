// The engine fed with packets by hand: rules of both halves that a program inside one host seldom brings into play.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "hca/engine_bed.hpp"
#include "hca/roce/gid.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {
namespace {

// Nothing else in the process answers or repeats meanwhile.
class EngineRules : public EngineTest {
protected:
    Qp& responder(const Qp& from, ibv_qp_type type = IBV_QPT_RC) {
        Qp& qp = queue_pair(type);
        to_init(qp);
        to_rtr(qp, from.qpn, responder_psn);
        return qp;
    }
    void refused(const Qp& from, Qp& qp, Psn psn, std::uint8_t syndrome) {
        arrive(from, qp, Op::acknowledge, psn, {}, syndrome);
    }
    static void drop_all(Qp& qp) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        ASSERT_EQ(api::modify_qp(&qp.abi.qp_base, &attr, IBV_QP_STATE), 0);
    }
    Packet atomic(const Qp& from, const Qp& to, Psn psn, std::uint64_t& word, std::uint32_t rkey) {
        Packet packet;
        packet.op = Op::fetch_add;
        packet.src_qpn = from.qpn;
        packet.dest_qpn = to.qpn;
        packet.psn = psn;
        packet.remote_address = reinterpret_cast<std::uint64_t>(&word);
        packet.rkey = rkey;
        packet.swap_or_add = 5;
        return packet;
    }
    static void take(const Packet& packet) {
        Engine& a = *engine();
        const Guard guard(a);
        a.responder.on_packet({packet, {}, &a.peers.self()});
        a.responder.settle(Acks::now);
    }
};

TEST_F(EngineRules, AnAnswerToWhatWasNeverSentIsNone) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_SEND, 1, piece(0, 8));

    arrive(deaf, qp, Op::acknowledge, requester_psn + 1);

    ibv_wc wc{};
    EXPECT_FALSE(poll(qp, wc));
    arrive(deaf, qp, Op::acknowledge, requester_psn);
    EXPECT_EQ(next(qp).status, IBV_WC_SUCCESS);
}

TEST_F(EngineRules, AReceiverThatIsNotReadyIsLeftAloneForTheTimeItNames) {
    struct Code {
        std::uint8_t code;
        std::uint64_t ns;
    };
    for (const Code known : {Code{1, 10'000}, Code{20, 10'240'000}, Code{31, 491'520'000}, Code{0, 655'360'000}}) {
        Qp& deaf = queue_pair(IBV_QPT_RC);
        Qp& qp = requester(deaf);
        qp.rnr_left = qp.attr.rnr_retry = 7;
        post(qp, IBV_WR_SEND, 1, piece(0, 8));
        Packet packet;
        packet.op = Op::acknowledge;
        packet.dest_qpn = qp.qpn;
        packet.psn = requester_psn;
        packet.syndrome = static_cast<std::uint8_t>(syndrome_rnr | known.code);
        Engine& a = *engine();
        const Guard guard(a);
        const std::uint64_t before = now_ns();

        a.responder.on_packet({packet, {}, &a.peers.self()});

        EXPECT_GE(qp.rnr_until, before + known.ns);
        EXPECT_LE(qp.rnr_until, now_ns() + known.ns);
    }
}

TEST_F(EngineRules, AReceiverThatIsNotReadyIsAskedAsOftenAsAgreed) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    qp.rnr_left = qp.attr.rnr_retry = 1;
    post(qp, IBV_WR_SEND, 1, piece(0, 8));
    refused(deaf, qp, requester_psn, syndrome_rnr);
    ASSERT_EQ(qp.state(), IBV_QPS_RTS) << "once more";
    {
        Engine& a = *engine();
        const Guard guard(a);
        a.requester.run_timers(qp.rnr_until);
    }

    refused(deaf, qp, requester_psn, syndrome_rnr);

    EXPECT_EQ(next(qp).status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(EngineRules, WhatHasNoAnswerIsSentAsOftenAsAgreed) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    qp.retries_left = qp.attr.retry_cnt = 1;
    qp.attr.timeout = 20;  // 4 s: the test is the clock
    post(qp, IBV_WR_SEND, 1, piece(0, 8));
    Engine& a = *engine();
    const auto over = [&] {
        const Guard guard(a);
        a.ring.drain_self();
        const std::uint64_t before = a.peers.self().tail;
        a.requester.timed_out(qp, qp.retry_at);
        return a.peers.self().tail - before;
    };

    EXPECT_EQ(over(), 1u) << "sent again";
    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    EXPECT_EQ(over(), 0u);

    EXPECT_EQ(next(qp).status, IBV_WC_RETRY_EXC_ERR);
}

TEST_F(EngineRules, WhatTheOtherHasNotComeToIsNotLost) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    qp.attr.timeout = 20;
    post(qp, IBV_WR_SEND, 1, piece(0, 8));
    Engine& a = *engine();
    const Guard guard(a);
    qp.wire_position = a.peers.self().tail + 1;

    for (int i = 0; i < 10; ++i) a.requester.timed_out(qp, now_ns());

    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    qp.wire_position = 0;
}

TEST_F(EngineRules, AReadGoesOnWhereItsAnswerStopped) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    const std::vector<std::uint8_t> packet(ring_mtu, 7);
    post(qp, IBV_WR_RDMA_READ, 1, piece(0, 2 * ring_mtu + 100));
    arrive(deaf, qp, Op::read_response_first, requester_psn, packet);

    arrive(deaf, qp, Op::read_response_last, requester_psn + 2, std::span(packet).first(100));  // the second was lost

    EXPECT_EQ(last_sent().op, static_cast<std::uint8_t>(Op::read_request));
    EXPECT_EQ(Psn(last_sent().psn), requester_psn + 1);
    std::uint64_t address = 0;
    std::memcpy(&address, last_sent().small, sizeof address);
    EXPECT_EQ(address, reinterpret_cast<std::uint64_t>(memory_.data()) + ring_mtu);
}

TEST_F(EngineRules, AFencedRequestWaitsForTheAnswersBeforeIt) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_RDMA_READ, 1, piece(4096, 8));
    const std::uint64_t before = sent();

    post(qp, IBV_WR_SEND, 2, piece(4096, 8), IBV_SEND_FENCE);

    EXPECT_EQ(sent(), before);
    arrive(deaf, qp, Op::read_response_only, requester_psn, std::vector<std::uint8_t>(8, 3));
    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(last_sent().op, static_cast<std::uint8_t>(Op::send_only));
    EXPECT_EQ(last_sent().small[0], 3) << "what the read has fetched";
}

// A write changes memory at once; what was sent before it must have been taken in by then.
TEST_F(EngineRules, AWriteDoesNotOvertakeASend) {
    Qp& target = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(target);
    memory_[4096] = 9;
    post(qp, IBV_WR_SEND, 1, piece(4096, 8));  // not answered
    to_init(target);
    to_rtr(target, qp.qpn, requester_psn);

    post(qp, IBV_WR_RDMA_WRITE, 2, piece(4096, 8));

    EXPECT_EQ(memory_[0], 0);
    arrive(target, qp, Op::acknowledge, requester_psn);
    EXPECT_EQ(memory_[0], 9);
}

TEST_F(EngineRules, AnUnreliableWriteDoesNotOvertakeASend) {
    Qp& target = queue_pair(IBV_QPT_UC);
    Qp& qp = queue_pair(IBV_QPT_UC);
    for (Qp* end : {&target, &qp}) {
        to_init(*end);
        to_rtr(*end, end == &qp ? target.qpn : qp.qpn, responder_psn);
    }
    to_rts(qp, responder_psn);
    memory_[4096] = 9;
    Engine& a = *engine();
    {
        const Guard guard(a);
        qp.wire_position = ~0ull;  // the other has not come to it
    }

    post(qp, IBV_WR_RDMA_WRITE, 1, piece(4096, 8));

    const Guard guard(a);
    EXPECT_EQ(memory_[0], 0);
    qp.wire_position = a.peers.self().tail;
    a.requester.run(qp);
    EXPECT_EQ(memory_[0], 9);
}

TEST_F(EngineRules, AWriteReachesNobodyWhoTalksToAnother) {
    Qp& another = queue_pair(IBV_QPT_RC);
    Qp& target = responder(another);
    Qp& qp = requester(target);
    memory_[4096] = 9;

    post(qp, IBV_WR_RDMA_WRITE, 1, piece(4096, 8));

    EXPECT_EQ(memory_[0], 0);
}

TEST_F(EngineRules, ARefusalOfOrderNamesThePacketThatIsMissing) {
    Qp& from = queue_pair(IBV_QPT_RC);
    Qp& qp = responder(from);

    arrive(from, qp, Op::send_only, responder_psn + 2);

    EXPECT_EQ(last_sent().op, static_cast<std::uint8_t>(Op::acknowledge));
    EXPECT_EQ(last_sent().syndrome, syndrome_nak);
    EXPECT_EQ(Psn(last_sent().psn), responder_psn);
}

TEST_F(EngineRules, ARefusalForWantOfAReceiveNamesItsTime) {
    Qp& from = queue_pair(IBV_QPT_RC);
    Qp& qp = responder(from);
    qp.attr.min_rnr_timer = 14;

    arrive(from, qp, Op::send_only, responder_psn);

    EXPECT_EQ(last_sent().syndrome, syndrome_rnr | 14);
    EXPECT_EQ(Psn(last_sent().psn), responder_psn);
}

TEST_F(EngineRules, ASendThatComesAgainIsAcknowledgedAgainAndReceivedOnce) {
    Qp& from = queue_pair(IBV_QPT_RC);
    Qp& qp = responder(from);
    for (std::uint64_t id = 1; id <= 2; ++id) post_receive(qp, id, piece(0, 16));
    arrive(from, qp, Op::send_only, responder_psn);
    const std::uint64_t before = sent();

    arrive(from, qp, Op::send_only, responder_psn);

    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(last_sent().op, static_cast<std::uint8_t>(Op::acknowledge));
    EXPECT_EQ(Psn(last_sent().psn), responder_psn);
    EXPECT_EQ(next(qp).wr_id, 1u);
    ibv_wc wc{};
    EXPECT_FALSE(poll(qp, wc));
}

TEST_F(EngineRules, AnAtomicThatComesAgainIsAnsweredAgainAndDoneOnce) {
    Qp& from = queue_pair(IBV_QPT_RC);
    Qp& qp = responder(from);
    qp.attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    alignas(8) std::uint64_t word = 37;
    ibv_mr* mr = api::reg_mr(pd_, &word, 8, reinterpret_cast<std::uint64_t>(&word),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    const Packet packet = atomic(from, qp, responder_psn, word, mr->rkey);
    take(packet);
    ASSERT_EQ(word, 42u);
    const std::uint64_t before = sent();

    take(packet);

    EXPECT_EQ(word, 42u);
    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(last_sent().op, static_cast<std::uint8_t>(Op::atomic_acknowledge));
    std::uint64_t original = 0;
    std::memcpy(&original, last_sent().small + 16, sizeof original);
    EXPECT_EQ(original, 37u);

    // In another life the same number means something else.
    drop_all(qp);
    to_init(qp);
    to_rtr(qp, from.qpn, responder_psn + 1);
    take(packet);
    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(api::dereg_mr(mr), 0);
}

TEST_F(EngineRules, AConnectionListensToItsPartnerAlone) {
    Qp& from = queue_pair(IBV_QPT_UC);
    Qp& stranger = queue_pair(IBV_QPT_UC);
    Qp& qp = responder(from, IBV_QPT_UC);
    for (std::uint64_t id = 1; id <= 3; ++id) post_receive(qp, id, piece(0, 16));
    Engine& a = *engine();
    Packet packet;
    packet.op = Op::send_only;
    packet.service = Service::uc;
    packet.src_qpn = from.qpn;
    packet.dest_qpn = qp.qpn;
    packet.psn = responder_psn;
    const Gid partner = roce::parse_address("192.0.2.1")->ip, other = roce::parse_address("192.0.2.2")->ip;
    const std::uint16_t lid = context_.hca->lid;
    ibv_wc wc{};

    arrive(stranger, qp, Op::send_only, responder_psn);
    EXPECT_FALSE(poll(qp, wc)) << "another queue pair";
    const Guard guard(a);
    const auto completions = [&] { return qp.recv_cq->waiting(); };
    a.responder.on_packet({packet, {}, &a.peers.self(), lid, static_cast<std::uint16_t>(lid + 1)});
    EXPECT_EQ(completions(), 0u) << "for another port";
    a.responder.on_packet({packet, {}, &a.peers.self(), lid, lid});
    EXPECT_EQ(completions(), 1u);
    qp.path->wire = engine()->roce.get();
    qp.path->dgid = partner;
    packet.psn = packet.psn + 1;
    a.responder.on_packet({packet, {}, nullptr, 0, 0, 0, &other, &other});
    EXPECT_EQ(completions(), 1u) << "from another host";
    a.responder.on_packet({packet, {}, nullptr, 0, 0, 0, &partner, &other});
    EXPECT_EQ(completions(), 2u);
}

TEST_F(EngineRules, WhatWasAskedBeforeARefusedRequestIsStillAnswered) {
    Qp& target = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(target);
    post(qp, IBV_WR_RDMA_READ, 1, piece(4096, 8));  // nobody listens yet
    post(qp, IBV_WR_SEND, 2, piece(0, 8));
    to_init(target);
    to_rtr(target, qp.qpn, requester_psn);
    ibv_sge nowhere = piece(0, 8);
    nowhere.lkey = ~nowhere.lkey;
    post_receive(target, 3, nowhere);
    Packet read, send;
    read.op = Op::read_request;
    send.op = Op::send_only;
    read.src_qpn = send.src_qpn = qp.qpn;
    read.dest_qpn = send.dest_qpn = target.qpn;
    read.psn = requester_psn;
    send.psn = requester_psn + 1;
    read.remote_address = reinterpret_cast<std::uint64_t>(memory_.data());
    read.rkey = mr_->rkey;
    read.dma_length = 8;
    Engine& a = *engine();
    {
        const Guard guard(a);
        Packet nothing;
        while (a.ring.write(a.peers.self(), nothing, *qp.path, {})) continue;  // no room for answers now

        a.responder.on_packet({read, {}, &a.peers.self()});
        a.responder.on_packet({send, {}, &a.peers.self()});
    }

    ibv_wc wc = next(qp);
    EXPECT_EQ(wc.wr_id, 1u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(next(qp).status, IBV_WC_REM_OP_ERR);
}

TEST_F(EngineRules, AReceiveThatIsKeptIsFlushedFirstAndForgottenByAReset) {
    for (const bool reset_it : {false, true}) {
        Qp& qp = queue_pair(IBV_QPT_UC);
        to_init(qp);
        to_rtr(qp, qp.qpn, responder_psn);
        for (std::uint64_t id = 1; id <= 2; ++id) post_receive(qp, id, piece(1000 * id, 16));
        arrive(qp, qp, Op::send_first, responder_psn, std::vector<std::uint8_t>(8, 5));
        arrive(qp, qp, Op::send_middle, responder_psn + 5, std::vector<std::uint8_t>(8, 5));  // the end was lost

        if (reset_it) {
            drop_all(qp);
            to_init(qp);
            to_rtr(qp, qp.qpn, responder_psn);
            post_receive(qp, 9, piece(0, 16));
            arrive(qp, qp, Op::send_only, responder_psn);
            EXPECT_EQ(next(qp).wr_id, 9u);
        } else {
            ibv_qp_attr attr{};
            attr.qp_state = IBV_QPS_ERR;
            ASSERT_EQ(api::modify_qp(&qp.abi.qp_base, &attr, IBV_QP_STATE), 0);
            for (std::uint64_t id = 1; id <= 2; ++id) {
                const ibv_wc wc = next(qp);
                EXPECT_EQ(wc.wr_id, id);
                EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
            }
        }
    }
}

}  // namespace
}  // namespace loom::hca
