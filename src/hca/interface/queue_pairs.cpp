// Queue pairs: making them, moving them through their states, and taking them down.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/objects/events.hpp"
#include "hca/objects/qp_states.hpp"
#include "hca/roce/gid.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

namespace {

// Back to what a new queue pair is, with both queues empty and no completions for what was in them.
void reset(Engine& a, Qp& qp) {
    a.queue_pairs.forget(qp);
    for (std::uint32_t at = qp.sq_head; at != qp.sq_tail; ++at) qp.wqe(at).path.reset();
    qp.sq_head = qp.sq_next = qp.sq_tail = 0;
    qp.unpolled = 0;
    qp.rq.head = qp.rq.tail = 0;
    qp.reads_out = qp.read_bytes_out = 0;
    qp.retry_at = qp.rnr_until = 0;
    qp.wire_position = qp.waits_since = 0;
    qp.msn = qp.owed = 0;
    qp.ack_due = qp.nak_sent = qp.in_message = qp.receiving = qp.kept = qp.established = qp.drain_event = false;
    qp.nak_due = 0;
    qp.asked_again.reset();
    qp.answers.clear();
    qp.atomics = {};
    qp.path.reset();
    qp.attr = {};
}

// Copies the attributes that the mask names. 0 or errno.
int apply(Engine& a, Qp& qp, const ibv_qp_attr& attr, int mask) {
    const auto has = [&](int bit) { return (mask & bit) != 0; };
    if (has(IBV_QP_PORT) && attr.port_num != 1) return EINVAL;
    if (has(IBV_QP_PKEY_INDEX) && attr.pkey_index != 0) return EINVAL;
    if (has(IBV_QP_PATH_MTU) && (attr.path_mtu < IBV_MTU_256 || attr.path_mtu > IBV_MTU_4096)) return EINVAL;
    if (has(IBV_QP_MAX_QP_RD_ATOMIC) && attr.max_rd_atomic > api::max_rd_atomic) return EINVAL;
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC) && attr.max_dest_rd_atomic > api::max_rd_atomic) return EINVAL;
    if (has(IBV_QP_TIMEOUT) && attr.timeout > 31) return EINVAL;
    if (has(IBV_QP_RETRY_CNT) && attr.retry_cnt > 7) return EINVAL;
    if (has(IBV_QP_RNR_RETRY) && attr.rnr_retry > 7) return EINVAL;
    if (has(IBV_QP_MIN_RNR_TIMER) && attr.min_rnr_timer > 31) return EINVAL;
    if (has(IBV_QP_DEST_QPN) && attr.dest_qp_num > low_24_bits) return EINVAL;
    std::shared_ptr<Path> path;
    if (has(IBV_QP_AV)) {
        if (attr.ah_attr.port_num != 1) return EINVAL;
        const QpNumber dest = has(IBV_QP_DEST_QPN) ? QpNumber{attr.dest_qp_num} : qp.partner();
        path = find_path(a, *qp.context, attr.ah_attr, dest, true);
        if (path == nullptr) return EINVAL;
        qp.path = path;
        qp.attr.ah_attr = attr.ah_attr;
    }
    if (has(IBV_QP_PORT)) qp.attr.port_num = attr.port_num;
    if (has(IBV_QP_PKEY_INDEX)) qp.attr.pkey_index = attr.pkey_index;
    if (has(IBV_QP_QKEY)) qp.attr.qkey = attr.qkey;
    if (has(IBV_QP_ACCESS_FLAGS)) qp.attr.qp_access_flags = attr.qp_access_flags;
    if (has(IBV_QP_PATH_MTU)) qp.attr.path_mtu = attr.path_mtu;
    if (has(IBV_QP_DEST_QPN)) qp.attr.dest_qp_num = attr.dest_qp_num;
    if (has(IBV_QP_RQ_PSN)) qp.attr.rq_psn = (qp.expected_psn = Psn(attr.rq_psn)).value();
    if (has(IBV_QP_SQ_PSN)) qp.attr.sq_psn = (qp.next_psn = qp.unacked_psn = qp.sent_psn = Psn(attr.sq_psn)).value();
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) qp.attr.max_dest_rd_atomic = attr.max_dest_rd_atomic;
    if (has(IBV_QP_MAX_QP_RD_ATOMIC)) qp.attr.max_rd_atomic = attr.max_rd_atomic;
    if (has(IBV_QP_MIN_RNR_TIMER)) qp.attr.min_rnr_timer = attr.min_rnr_timer;
    if (has(IBV_QP_TIMEOUT)) qp.attr.timeout = attr.timeout;
    if (has(IBV_QP_RETRY_CNT)) qp.retries_left = qp.attr.retry_cnt = attr.retry_cnt;
    if (has(IBV_QP_RNR_RETRY)) qp.rnr_left = qp.attr.rnr_retry = attr.rnr_retry;
    if (has(IBV_QP_PATH_MIG_STATE)) qp.attr.path_mig_state = attr.path_mig_state;
    if (has(IBV_QP_ALT_PATH)) {
        qp.attr.alt_ah_attr = attr.alt_ah_attr;
        qp.attr.alt_pkey_index = attr.alt_pkey_index;
        qp.attr.alt_port_num = attr.alt_port_num;
        qp.attr.alt_timeout = attr.alt_timeout;
    }
    if (qp.path != nullptr && qp.type() != IBV_QPT_UD) qp.mtu = qp.path->wire->mtu(qp.attr.path_mtu);
    return 0;
}

}  // namespace

namespace api {

Qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) try {
    Engine* a = engine_of(pd->context);
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC && attr->qp_type != IBV_QPT_UD)
        return errno = EOPNOTSUPP, nullptr;
    ibv_qp_cap& cap = attr->cap;
    if (attr->send_cq == nullptr || attr->recv_cq == nullptr || cap.max_send_wr > max_qp_wr ||
        cap.max_recv_wr > max_qp_wr || cap.max_send_sge > max_sge || cap.max_recv_sge > max_sge ||
        cap.max_inline_data > max_inline)
        return errno = EINVAL, nullptr;
    const Guard guard(*a);
    const std::uint32_t index = a->queue_pairs.free_index();
    if (index == 0) return errno = ENOMEM, nullptr;
    if (attr->srq != nullptr) cap.max_recv_wr = cap.max_recv_sge = 0;

    auto made = std::make_unique<Qp>();
    Qp* qp = made.get();
    qp->qpn = qp_number(a->home.slot, index);
    qp->context = &Context::of(pd->context);
    qp->pd = &Pd::of(pd);
    qp->send_cq = &Cq::of(attr->send_cq);
    qp->recv_cq = &Cq::of(attr->recv_cq);
    qp->srq = attr->srq != nullptr ? &Srq::of(attr->srq) : nullptr;
    ibv_qp& abi = qp->abi.qp_base;
    abi.context = pd->context;
    abi.qp_context = attr->qp_context;
    abi.pd = pd;
    abi.send_cq = attr->send_cq;
    abi.recv_cq = attr->recv_cq;
    abi.srq = attr->srq;
    abi.handle = index;
    abi.qp_num = qp->qpn.value;
    abi.state = IBV_QPS_RESET;
    abi.qp_type = attr->qp_type;
    pthread_mutex_init(&abi.mutex, nullptr);
    pthread_cond_init(&abi.cond, nullptr);
    qp->init = *attr;
    // One place is always there, for the list of an inlined request and for queues of length 0.
    qp->init.cap.max_send_sge = cap.max_send_sge = std::max(1u, cap.max_send_sge);
    qp->sq.resize(std::bit_ceil(std::max(1u, cap.max_send_wr)));
    qp->sq_sges.resize(qp->sq.size() * cap.max_send_sge);
    qp->sq_inline = std::make_unique_for_overwrite<std::uint8_t[]>(qp->sq.size() * cap.max_inline_data);
    if (qp->srq == nullptr) qp->rq.resize(cap.max_recv_wr, cap.max_recv_sge);
    if (attr->qp_type == IBV_QPT_UD) qp->mtu = 4096;
    if (qp->context->hca->link == LinkLayer::ethernet) a->roce->open(*qp->context->hca);
    a->queue_pairs.add(*made.release());
    ++qp->pd->users;
    ++qp->send_cq->users;
    ++qp->recv_cq->users;
    if (qp->srq != nullptr) ++qp->srq->users;
    ++qp->context->users;
    return qp;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int modify_qp(ibv_qp* abi, ibv_qp_attr* attr, int mask) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Qp& qp = Qp::of(abi);
    if ((mask & IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state != qp.state()) return EINVAL;
    const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr->qp_state : qp.state();
    const Transition change = transition(qp.type(), qp.state(), to);
    const int given = mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
    if ((mask & IBV_QP_CUR_STATE) != 0 && to != IBV_QPS_RTS) return EINVAL;
    if (!change.legal || (given & change.required) != change.required ||
        (given & ~(change.required | change.optional)) != 0)
        return EINVAL;
    // What has come before the end counts, and is acknowledged: whoever waits for that must not wait in vain.
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) a->progress();
    if (to == IBV_QPS_RESET) {
        a->completions.forget(qp);  // as adapters do: a program that starts anew sees nothing of the past
        reset(*a, qp);
        abi->state = to;
        a->home.publish(qp);
        return 0;
    }
    if (to == IBV_QPS_ERR) {
        a->queue_pairs.to_error(qp);
        return 0;
    }
    if (const int error = apply(*a, qp, *attr, given); error != 0) return error;
    abi->state = to;
    a->home.publish(qp);
    if (to == IBV_QPS_RTS) a->requester.run(qp);
    if (to == IBV_QPS_SQD) a->requester.ask_if_nobody_did(qp);  // who drains waits for the answer
    if (to == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && attr->en_sqd_async_notify != 0) {
        qp.drain_event = true;
        a->requester.look_if_drained(qp);
    }
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int query_qp(ibv_qp* abi, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    const Qp& qp = Qp::of(abi);
    *attr = qp.attr;
    attr->qp_state = attr->cur_qp_state = abi->state;
    attr->rq_psn = qp.expected_psn.value();
    attr->sq_psn = qp.next_psn.value();
    attr->cap = qp.init.cap;
    attr->sq_draining = qp.state() == IBV_QPS_SQD && !qp.drained() ? 1 : 0;
    *init = qp.init;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int destroy_qp(ibv_qp* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Guard guard(*a);
    Qp& qp = Qp::of(abi);
    if (qp.groups != 0) return EBUSY;
    a->progress();  // what has come before the end counts, and is acknowledged
    // Out of reach first: while we wait for the program nothing new may happen to it.
    a->queue_pairs.remove(qp);
    withdraw_events(*qp.context, abi);
    a->acknowledged.wait(guard.lock(), [&] { return qp.events.settled(); });
    a->completions.forget(qp);  // of a queue pair that is gone
    for (Cq* cq : {qp.send_cq, qp.recv_cq}) --cq->users;
    --qp.pd->users;
    if (qp.srq != nullptr) --qp.srq->users;
    --qp.context->users;
    pthread_mutex_destroy(&abi->mutex);
    pthread_cond_destroy(&abi->cond);
    delete &qp;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

}  // namespace api

}  // namespace loom::hca
