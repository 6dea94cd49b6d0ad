// Work requests from the program into its queues.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"

namespace loom::hca {

namespace {

bool supported(ibv_qp_type type, ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
            return true;
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return type != IBV_QPT_UD;
        case IBV_WR_RDMA_READ:
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            return type == IBV_QPT_RC;
        default:
            return false;
    }
}

// Copies one work request into the send queue. 0 or errno.
int take_send(Engine& a, Qp& qp, const ibv_send_wr& wr) {
    if (qp.sq_used() >= qp.init.cap.max_send_wr) return ENOMEM;
    if (!supported(qp.type(), wr.opcode) || wr.num_sge < 0 ||
        static_cast<std::uint32_t>(wr.num_sge) > qp.init.cap.max_send_sge)
        return EINVAL;
    const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
    std::uint64_t length = 0;
    for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
    if (length > api::max_message) return EINVAL;
    if (inlined && (length > qp.init.cap.max_inline_data || wr.opcode == IBV_WR_RDMA_READ ||
                    wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP))
        return EINVAL;
    SendWqe& w = qp.wqe(qp.sq_tail);
    w.wr_id = wr.wr_id;
    w.opcode = wr.opcode;
    w.flags = wr.send_flags;
    w.length = static_cast<std::uint32_t>(length);
    w.imm = wr.imm_data;
    w.sges = static_cast<std::uint32_t>(wr.num_sge);
    w.inlined = inlined;
    w.translated = w.begun = false;
    w.sent = w.packets = 0;
    switch (wr.opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
        case IBV_WR_RDMA_READ:
            w.remote_address = wr.wr.rdma.remote_addr;
            w.rkey = wr.wr.rdma.rkey;
            break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            w.remote_address = wr.wr.atomic.remote_addr;
            w.rkey = wr.wr.atomic.rkey;
            w.compare = wr.wr.atomic.compare_add;
            w.swap_or_add = wr.wr.atomic.swap;
            break;
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            w.remote_address = wr.wr.atomic.remote_addr;
            w.rkey = wr.wr.atomic.rkey;
            w.compare = 0;
            w.swap_or_add = wr.wr.atomic.compare_add;
            break;
        default:
            break;
    }
    if (qp.type() == IBV_QPT_UD) {
        if (wr.wr.ud.ah == nullptr) return EINVAL;
        w.path = Ah::of(wr.wr.ud.ah).path;
        w.remote_qpn = QpNumber{wr.wr.ud.remote_qpn & low_24_bits};
        w.remote_qkey = wr.wr.ud.remote_qkey;
    }
    if (inlined) {
        std::uint8_t* to = length != 0 ? qp.inline_of(qp.sq_tail) : nullptr;
        for (int i = 0; i < wr.num_sge; ++i) {
            if (wr.sg_list[i].length == 0) continue;
            std::memcpy(to, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
            to += wr.sg_list[i].length;
        }
    } else {
        std::copy_n(wr.sg_list, wr.num_sge, qp.sges_of(qp.sq_tail));
    }
    w.doomed = a.faults.doom_request();
    ++qp.sq_tail;
    return 0;
}

}  // namespace

namespace api {

int post_send(ibv_qp* abi, ibv_send_wr* wr, ibv_send_wr** bad) {
    return post_send_list(abi, wr, bad, 0);
}

int post_send_list(ibv_qp* abi, ibv_send_wr* wr, ibv_send_wr** bad, std::uint32_t count) try {
    Engine* a = engine_of(abi->context);
    Qp& qp = Qp::of(abi);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    int error = 0;
    const ibv_qp_state state = qp.state();
    if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR) error = EINVAL;
    if (qp.sq_used() + count > qp.init.cap.max_send_wr) error = ENOMEM;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        if (state == IBV_QPS_RTS && a->requester.write_at_once(qp, *wr)) continue;
        error = take_send(*a, qp, *wr);
        if (error != 0) break;
    }
    if (error != 0) *bad = wr;
    if (state == IBV_QPS_RTS)
        a->requester.run(qp);
    else if (state == IBV_QPS_ERR || state == IBV_QPS_SQE)
        a->requester.flush(qp);
    if (a->peers.self().has_mail()) a->ring.drain_self();
    return error;
} catch (const std::exception& thrown) {
    return *bad = wr, errno_of(thrown);
}

int post_recv(ibv_qp* abi, ibv_recv_wr* wr, ibv_recv_wr** bad) try {
    Engine* a = engine_of(abi->context);
    Qp& qp = Qp::of(abi);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    if (qp.srq != nullptr) return *bad = wr, EINVAL;
    int error = 0;
    if (qp.state() == IBV_QPS_RESET) error = EINVAL;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        error = qp.rq.post(*wr);
        if (error != 0) break;
    }
    if (error != 0) *bad = wr;
    if (qp.state() == IBV_QPS_ERR) a->responder.flush(qp);
    return error;
} catch (const std::exception& thrown) {
    return *bad = wr, errno_of(thrown);
}

}  // namespace api

}  // namespace loom::hca
