// What the tests of the engine stand on: queue pairs of one process, and packets made by hand.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

constexpr Psn requester_psn{0xfffffe}, responder_psn{77};  // the first numbers wrap around soon

// What the service knows of who serves.
struct ServiceProbe {
    explicit ServiceProbe(Engine& a)
        : waited_for(a.service.waited_for_),
          attending(a.service.attending_),
          served(a.service.served_),
          served_since(a.service.served_since_),
          served_until(a.service.served_until_),
          stands_by_for_good(a.service.stands_by_for_good_),
          stand_in(a.service.stand_in_),
          bell(a.service.bell_),
          hushed(a.service.hushed_) {}
    Channel*& waited_for;
    std::atomic<bool>&attending, &served;
    std::uint64_t &served_since, &served_until;
    bool& stands_by_for_good;
    std::condition_variable_any& stand_in;
    int bell;
    std::uint32_t& hushed;
};

class EngineTest : public testing::Test {
protected:
    EngineTest() {
        context_.verbs.context.num_comp_vectors = 1;
        EXPECT_EQ(api::open(context_, config().hcas.front()), 0);
        pd_ = api::alloc_pd(context_);
        memory_.resize(64 * 1024);
        mr_ = api::reg_mr(pd_, memory_.data(), memory_.size(), reinterpret_cast<std::uint64_t>(memory_.data()),
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    }
    ~EngineTest() override {
        for (ibv_qp* qp : qps_) EXPECT_EQ(api::destroy_qp(qp), 0);
        for (ibv_cq* cq : cqs_) EXPECT_EQ(api::destroy_cq(cq), 0);
        EXPECT_EQ(api::dereg_mr(mr_), 0);
        if (srq_ != nullptr) {
            EXPECT_EQ(api::destroy_srq(srq_), 0);
        }
        EXPECT_EQ(api::dealloc_pd(pd_), 0);
        EXPECT_EQ(api::close(context_), 0);
    }

    Qp& queue_pair(ibv_qp_type type, std::uint32_t receives = 4) {
        auto* cq = reinterpret_cast<ibv_cq*>(&api::create_cq(context_, 16, nullptr, nullptr, 0)->abi);
        cqs_.push_back(cq);
        ibv_qp_init_attr attr{};
        attr.qp_type = type;
        attr.send_cq = attr.recv_cq = cq;
        attr.srq = srq_;
        attr.cap = {8, receives, 1, 1, 0};
        Qp* qp = api::create_qp(pd_, &attr);
        qps_.push_back(&qp->abi.qp_base);
        return *qp;
    }

    static void to_init(Qp& qp) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        ASSERT_EQ(api::modify_qp(&qp.abi.qp_base, &attr,
                                 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                  0);
    }
    void to_rtr(Qp& qp, QpNumber peer, Psn psn) const {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = peer.value;
        attr.rq_psn = psn.value();
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.dlid = context_.hca->lid;
        const int reliable =
            qp.type() == IBV_QPT_RC ? static_cast<int>(IBV_QP_MAX_DEST_RD_ATOMIC) | IBV_QP_MIN_RNR_TIMER : 0;
        ASSERT_EQ(
            api::modify_qp(&qp.abi.qp_base, &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | reliable),
            0);
    }
    // Nothing is repeated by a timer: what these tests see is due to the packets alone.
    static void to_rts(Qp& qp, Psn psn) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTS;
        attr.sq_psn = psn.value();
        attr.max_rd_atomic = 4;
        const int reliable = qp.type() == IBV_QPT_RC ? static_cast<int>(IBV_QP_TIMEOUT) | IBV_QP_RETRY_CNT |
                                                           IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                                                     : 0;
        ASSERT_EQ(api::modify_qp(&qp.abi.qp_base, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | reliable), 0);
    }
    // A requester whose packets fall on deaf ears, so that the test can answer them.
    Qp& requester(Qp& deaf) {
        Qp& qp = queue_pair(IBV_QPT_RC);
        to_init(qp);
        to_rtr(qp, deaf.qpn, responder_psn);
        to_rts(qp, requester_psn);
        return qp;
    }

    ibv_sge piece(std::size_t offset, std::uint32_t length) {
        return {reinterpret_cast<std::uint64_t>(memory_.data() + offset), length, mr_->lkey};
    }
    void post(Qp& qp, ibv_wr_opcode opcode, std::uint64_t id, ibv_sge sge, unsigned flags = 0) {
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED | flags;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(memory_.data());
        wr.wr.rdma.rkey = mr_->rkey;
        ASSERT_EQ(api::post_send(&qp.abi.qp_base, &wr, &bad), 0);
    }
    void post_receive(Qp& qp, std::uint64_t id, ibv_sge sge) {
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ASSERT_EQ(srq_ != nullptr ? api::post_srq_recv(srq_, &wr, &bad) : api::post_recv(&qp.abi.qp_base, &wr, &bad),
                  0);
    }

    // A packet as it would come from queue pair `from` of this process.
    void arrive(const Qp& from, const Qp& to, Op op, Psn psn, std::span<const std::uint8_t> payload = {},
                std::uint8_t syndrome = syndrome_ack) {
        Packet packet;
        packet.op = op;
        packet.service = to.type() == IBV_QPT_RC ? Service::rc : Service::uc;
        packet.src_qpn = from.qpn;
        packet.dest_qpn = to.qpn;
        packet.psn = psn;
        packet.ack_request = true;
        packet.syndrome = syndrome;
        Engine& a = *engine();
        const Guard guard(a);
        a.responder.on_packet({packet, payload, &a.peers.self()});
        a.responder.settle(Acks::now);
    }

    // The packet that the engine sent last, and how many it has sent to this process: its ring keeps them.
    static const Entry& last_sent() {
        const Peer& self = engine()->peers.self();
        return self.out->entries[(self.tail - 1) % ring_entries];
    }
    static std::uint64_t sent() { return engine()->peers.self().tail; }

    static bool poll(const Qp& qp, ibv_wc& wc) {
        return api::poll_cq(reinterpret_cast<ibv_cq*>(&qp.send_cq->abi), 1, &wc) == 1;
    }
    static ibv_wc next(const Qp& qp) {
        ibv_wc wc{};
        for (int i = 0; i < 1'000'000; ++i)
            if (poll(qp, wc)) return wc;
        ADD_FAILURE() << "no completion";
        wc.wr_id = ~0ull;
        return wc;
    }

    void share_receives() {
        ibv_srq_init_attr attr{};
        attr.attr = {8, 1, 0};
        srq_ = api::create_srq(pd_, &attr);
    }

    Context context_;
    ibv_pd* pd_ = nullptr;
    ibv_srq* srq_ = nullptr;
    std::vector<std::uint8_t> memory_;
    ibv_mr* mr_ = nullptr;
    std::vector<ibv_cq*> cqs_;
    std::vector<ibv_qp*> qps_;
};

}  // namespace loom::hca
