// The engine fed with packets by hand: what losses, broken peers and full rings bring about, which no program can ask
// for through the verbs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "hca/engine_bed.hpp"
#include "hca/roce/gid.hpp"

namespace loom::hca {
namespace {

TEST_F(EngineTest, AReadWhoseAnswerWasLostIsAnsweredLate) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_RDMA_READ, 1, piece(4096, 8));
    post(qp, IBV_WR_SEND, 2, piece(0, 8));
    const std::vector<std::uint8_t> answer(8, 0xab);

    arrive(deaf, qp, Op::acknowledge, requester_psn + 1);  // of the send: the answer to the read is missing
    arrive(deaf, qp, Op::read_response_only, requester_psn, answer);
    arrive(deaf, qp, Op::acknowledge, requester_psn + 1);

    ibv_wc wc = next(qp);
    EXPECT_EQ(wc.wr_id, 1u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(memory_[4096], 0xab);
    wc = next(qp);
    EXPECT_EQ(wc.wr_id, 2u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

TEST_F(EngineTest, AMissingAnswerIsAskedForOnceWhateverElseArrives) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_RDMA_READ, 1, piece(4096, 8));
    for (std::uint64_t id = 2; id < 6; ++id) post(qp, IBV_WR_SEND, id, piece(0, 8));
    const auto& counter = counters_of(context_).retransmitted;

    for (std::uint32_t i = 1; i < 5; ++i) arrive(deaf, qp, Op::acknowledge, requester_psn + i);

    EXPECT_EQ(counter.load(), 5u);  // all five once
}

TEST_F(EngineTest, AnAcknowledgementThatWasDelayedEndsTheRepetition) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    qp.rnr_left = qp.attr.rnr_retry = 7;
    post(qp, IBV_WR_SEND, 1, piece(0, 8));
    const std::uint8_t not_ready = syndrome_rnr;  // for 655 ms
    arrive(deaf, qp, Op::acknowledge, requester_psn, {}, not_ready);

    arrive(deaf, qp, Op::acknowledge, requester_psn);  // in the meantime

    ibv_wc wc{};
    ASSERT_TRUE(poll(qp, wc));
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(qp.rnr_until, 0u);
}

TEST_F(EngineTest, AnAnsweredAtomicLeavesNothingInTheWindowOfReads) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, piece(4096, 8));

    arrive(deaf, qp, Op::atomic_acknowledge, requester_psn);

    EXPECT_EQ(next(qp).status, IBV_WC_SUCCESS);
    EXPECT_EQ(qp.read_bytes_out, 0u);
    EXPECT_EQ(qp.reads_out, 0u);
}

TEST_F(EngineTest, ALostMessageLeavesItsReceiveToTheNextOfTheSameQueuePair) {
    share_receives();
    Qp& a = queue_pair(IBV_QPT_UC);
    Qp& b = queue_pair(IBV_QPT_UC);
    for (Qp* qp : {&a, &b}) {
        to_init(*qp);
        to_rtr(*qp, qp->qpn, responder_psn);
    }
    for (std::uint64_t id = 1; id <= 3; ++id) post_receive(a, id, piece(1000 * id, 16));
    const std::vector<std::uint8_t> payload(8, 5);

    arrive(a, a, Op::send_first, responder_psn, payload);
    arrive(b, b, Op::send_only, responder_psn, payload);
    arrive(a, a, Op::send_only, responder_psn + 5, payload);  // the end of the first message was lost
    arrive(b, b, Op::send_only, responder_psn + 1, payload);

    EXPECT_EQ(next(b).wr_id, 2u);
    EXPECT_EQ(next(a).wr_id, 1u);
    EXPECT_EQ(next(b).wr_id, 3u);
}

TEST_F(EngineTest, AReceivePostedMeanwhileDoesNotOverwriteTheOneThatIsKept) {
    Qp& qp = queue_pair(IBV_QPT_UC, 1);
    to_init(qp);
    to_rtr(qp, qp.qpn, responder_psn);
    post_receive(qp, 1, piece(1000, 16));
    const std::vector<std::uint8_t> payload(8, 5);
    arrive(qp, qp, Op::send_first, responder_psn, payload);
    post_receive(qp, 2, piece(2000, 16));

    arrive(qp, qp, Op::send_only, responder_psn + 5, payload);
    arrive(qp, qp, Op::send_only, responder_psn + 6, payload);

    EXPECT_EQ(next(qp).wr_id, 1u);
    EXPECT_EQ(next(qp).wr_id, 2u);
}

TEST_F(EngineTest, ARefusalWaitsForRoomInTheRing) {
    Qp& responder = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(responder);
    post(qp, IBV_WR_SEND, 1, piece(0, 8));  // nobody listens yet
    to_init(responder);
    to_rtr(responder, qp.qpn, requester_psn);
    Engine& a = *engine();
    Packet request;
    request.op = Op::send_only;
    request.src_qpn = qp.qpn;
    request.dest_qpn = responder.qpn;
    request.psn = requester_psn;
    {
        const Guard guard(a);
        Packet nothing;
        while (a.ring.write(a.peers.self(), nothing, *qp.path, {})) continue;

        a.responder.on_packet({request, {}, &a.peers.self()});
    }

    EXPECT_EQ(next(qp).status, IBV_WC_RNR_RETRY_EXC_ERR);
}

// Acknowledgements may wait for company, but not longer than their queue pair lives.
TEST_F(EngineTest, WhatWasReceivedIsAcknowledgedBeforeTheQueuePairGoes) {
    for (const bool destroyed : {true, false}) {
        Qp& responder = queue_pair(IBV_QPT_RC);
        Qp& qp = requester(responder);
        post(qp, IBV_WR_SEND, 1, piece(0, 8));  // nobody listens yet
        to_init(responder);
        to_rtr(responder, qp.qpn, requester_psn);
        post_receive(responder, 2, piece(4096, 64));
        Engine& a = *engine();
        {
            const Guard guard(a);
            ServiceProbe(a).attending = true;
            Packet request;
            request.op = Op::send_only;
            request.src_qpn = qp.qpn;
            request.dest_qpn = responder.qpn;
            request.psn = requester_psn;
            request.ack_request = true;
            a.responder.on_packet({request, {}, &a.peers.self()});
            a.responder.settle(Acks::may_wait);
        }

        if (destroyed) {
            std::erase(qps_, &responder.abi.qp_base);
            ASSERT_EQ(api::destroy_qp(&responder.abi.qp_base), 0);
        } else {
            ibv_qp_attr attr{};
            attr.qp_state = IBV_QPS_ERR;
            ASSERT_EQ(api::modify_qp(&responder.abi.qp_base, &attr, IBV_QP_STATE), 0);
        }

        EXPECT_EQ(next(qp).status, IBV_WC_SUCCESS);
    }
}

TEST_F(EngineTest, NothingHappensToAQueuePairWhoseDestructionWaits) {
    Qp& sender = queue_pair(IBV_QPT_RC);
    Qp& qp = queue_pair(IBV_QPT_RC);
    to_init(qp);
    to_rtr(qp, sender.qpn, responder_psn);
    arrive(sender, qp, Op::send_only, responder_psn);
    ibv_async_event event{};
    ASSERT_EQ(api::get_async_event(context_, &event), 0);
    ASSERT_EQ(event.event_type, IBV_EVENT_COMM_EST);
    std::erase(qps_, &qp.abi.qp_base);
    std::thread destruction([&] { EXPECT_EQ(api::destroy_qp(&qp.abi.qp_base), 0); });
    Engine& a = *engine();
    const auto known = [&] {
        const Guard guard(a);
        return a.queue_pairs.find(qp.qpn) != nullptr;
    };
    for (int i = 0; i < 1000 && known(); ++i) usleep(1000);

    arrive(sender, qp, Op::write_middle, responder_psn + 1);  // would be refused, with an event

    api::ack_async_event(&event);
    destruction.join();
    EXPECT_TRUE(context_.async.waiting.empty());
}

TEST_F(EngineTest, AClosedDeviceLeavesNothingThatCanBeReached) {
    Context other;
    other.verbs.context.num_comp_vectors = 1;
    ASSERT_EQ(api::open(other, config().hcas.front()), 0);
    const std::unique_ptr<Pd> pd(&Pd::of(api::alloc_pd(other)));
    const std::unique_ptr<Cq> cq(api::create_cq(other, 16, nullptr, nullptr, 0));
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = attr.recv_cq = reinterpret_cast<ibv_cq*>(&cq->abi);
    const std::unique_ptr<Qp> qp(api::create_qp(&pd->abi, &attr));
    const std::unique_ptr<Mr> mr(&Mr::of(api::reg_mr(&pd->abi, memory_.data(), 64, 0, IBV_ACCESS_REMOTE_READ)));

    ASSERT_EQ(api::close(other), 0);

    Engine& a = *engine();
    const std::uint32_t index = index_of(qp->qpn);
    EXPECT_EQ(a.queue_pairs.find(qp->qpn), nullptr);
    EXPECT_EQ(a.home.directory->qps[index].what.load(), 0u);
    EXPECT_EQ(a.memory.at(mr->index), nullptr);
    EXPECT_EQ(a.home.directory->mrs[mr->index].key.load(), 0u);
}

TEST_F(EngineTest, AGroupHearsEachDatagramOnce) {
    Qp& qp = queue_pair(IBV_QPT_UD);
    qp.attr.qkey = 5;
    qp.abi.qp_base.state = IBV_QPS_RTR;
    for (std::uint64_t id = 1; id <= 3; ++id) post_receive(qp, id, piece(1000 * id, 64));
    ibv_gid group{};
    group.raw[0] = 0xff;
    group.raw[15] = 9;
    ASSERT_EQ(api::attach_mcast(&qp.abi.qp_base, &group, 0), 0);
    Gid name;
    std::memcpy(name.data(), group.raw, 16);
    const Gid address = roce::multicast_ip(name, roce::Family::ipv4);
    const Gid here = roce::parse_address("127.0.0.1")->ip, elsewhere = roce::parse_address("192.0.2.1")->ip;
    Packet packet;
    packet.op = Op::send_only;
    packet.service = Service::ud;
    packet.dest_qpn = multicast_qpn;
    packet.src_qpn = qp.qpn;
    packet.qkey = 5;
    Engine& a = *engine();
    {
        const Guard guard(a);

        a.responder.on_packet({packet, {}, nullptr, 0, 0, 0, &elsewhere, &address});
        a.responder.on_packet({packet, {}, &a.peers.self(), 0, 0, 0, &here, &name});
        a.responder.on_packet(
            {packet, {}, nullptr, 0, 0, 0, &here, &address});  // the same once more, from the loop of the host
    }

    EXPECT_EQ(next(qp).wr_id, 1u);
    EXPECT_EQ(next(qp).wr_id, 2u);
    ibv_wc wc{};
    EXPECT_FALSE(poll(qp, wc));
    EXPECT_EQ(api::detach_mcast(&qp.abi.qp_base, &group, 0), 0);
}

TEST_F(EngineTest, WhatWasPlacedCarriesNothing) {
    Qp& qp = queue_pair(IBV_QPT_RC);
    to_init(qp);
    to_rtr(qp, qp.qpn, responder_psn);
    to_rts(qp, requester_psn);
    Packet packet;
    packet.op = Op::write_only;
    packet.src_qpn = packet.dest_qpn = qp.qpn;
    packet.psn = responder_psn;
    packet.remote_address = reinterpret_cast<std::uint64_t>(memory_.data());
    packet.rkey = mr_->rkey;
    packet.dma_length = 4;
    const std::vector<std::uint8_t> payload(64, 9);
    Engine& a = *engine();
    {
        const Guard guard(a);

        ASSERT_TRUE(a.ring.write(a.peers.self(), packet, *qp.path, {{}, 0, 64, Entry::placed, payload.data()}));
        a.ring.drain(a.peers.self());
    }

    EXPECT_EQ(memory_[4], 0) << "beyond what the request names";
}

TEST_F(EngineTest, ASendQueueIsDrainedWhenWhatIsRepeatedIsAcknowledged) {
    Qp& deaf = queue_pair(IBV_QPT_RC);
    Qp& qp = requester(deaf);
    post(qp, IBV_WR_SEND, 1, piece(0, 8));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_SQD;
    ASSERT_EQ(api::modify_qp(&qp.abi.qp_base, &attr, IBV_QP_STATE), 0);
    const std::uint8_t out_of_sequence = syndrome_nak;
    const auto& packets = counters_of(context_).sent_packets;
    const std::uint64_t before = packets.load();

    arrive(deaf, qp, Op::acknowledge, requester_psn, {}, out_of_sequence);

    EXPECT_EQ(packets.load(), before + 1) << "sent again";
    ibv_qp_init_attr init{};
    ASSERT_EQ(api::query_qp(&qp.abi.qp_base, &attr, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attr.sq_draining, 1);
    arrive(deaf, qp, Op::acknowledge, requester_psn);
    EXPECT_EQ(next(qp).wr_id, 1u);
}

}  // namespace
}  // namespace loom::hca
