// Work requests from the program into queues, shared receive queues, and addresses for datagrams.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "hca/api.hpp"
#include "hca/engine.hpp"
#include "hca/roce/gid.hpp"
#include "hca/roce_wire.hpp"

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
        w.remote_qpn = wr.wr.ud.remote_qpn & psn_mask;
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
    w.doomed = a.faults.error > 0 && a.errors.unit() < a.faults.error;
    ++qp.sq_tail;
    return 0;
}

int take_recv(RecvQueue& queue, const ibv_recv_wr& wr) {
    if (queue.waiting() >= queue.capacity) return ENOMEM;
    if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
    RecvQueue::Wqe& w = queue.wqe(queue.tail);
    w.wr_id = wr.wr_id;
    w.sges = static_cast<std::uint32_t>(wr.num_sge);
    std::copy_n(wr.sg_list, wr.num_sge, queue.sges_of(queue.tail));
    ++queue.tail;
    return 0;
}

}  // namespace

namespace api {

int post_send(ibv_qp* abi, ibv_send_wr* wr, ibv_send_wr** bad) {
    return post_send_list(abi, wr, bad, 0);
}

int post_send_list(ibv_qp* abi, ibv_send_wr* wr, ibv_send_wr** bad, std::uint32_t count) {
    Engine* a = engine_of(abi->context);
    Qp& qp = Qp::of(abi);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    int error = 0;
    const ibv_qp_state state = qp.state();
    if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR) error = EINVAL;
    if (qp.sq_used() + count > qp.init.cap.max_send_wr) error = ENOMEM;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        if (state == IBV_QPS_RTS && a->write_at_once(qp, *wr)) continue;
        error = take_send(*a, qp, *wr);
        if (error != 0) break;
    }
    if (error != 0) *bad = wr;
    if (state == IBV_QPS_RTS)
        a->run(qp);
    else if (state == IBV_QPS_ERR || state == IBV_QPS_SQE)
        a->flush_sends(qp);
    if (a->self->has_mail()) a->drain_self();
    return error;
}

int post_recv(ibv_qp* abi, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    Engine* a = engine_of(abi->context);
    Qp& qp = Qp::of(abi);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    if (qp.srq != nullptr) return *bad = wr, EINVAL;
    int error = 0;
    if (qp.state() == IBV_QPS_RESET) error = EINVAL;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        error = take_recv(qp.rq, *wr);
        if (error != 0) break;
    }
    if (error != 0) *bad = wr;
    if (qp.state() == IBV_QPS_ERR) a->flush_receives(qp);
    return error;
}

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) try {
    Engine* a = engine_of(pd->context);
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (attr->attr.max_wr == 0 || attr->attr.max_wr > max_srq_wr || attr->attr.max_sge > max_sge ||
        attr->attr.srq_limit > attr->attr.max_wr)
        return errno = EINVAL, nullptr;
    const Guard guard(*a);
    auto srq = std::make_unique<Srq>();
    srq->pd = &Pd::of(pd);
    srq->abi.context = pd->context;
    srq->abi.srq_context = attr->srq_context;
    srq->abi.pd = pd;
    srq->number = a->next_srq++ & psn_mask;
    srq->abi.handle = srq->number;
    pthread_mutex_init(&srq->abi.mutex, nullptr);
    pthread_cond_init(&srq->abi.cond, nullptr);
    attr->attr.max_sge = std::max(1u, attr->attr.max_sge);
    srq->queue.resize(attr->attr.max_wr, attr->attr.max_sge);
    ++srq->pd->users;
    return &srq.release()->abi;
} catch (const std::bad_alloc&) {
    return errno = ENOMEM, nullptr;
}

int modify_srq(ibv_srq* abi, ibv_srq_attr* attr, int mask) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Srq& srq = Srq::of(abi);
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
    if ((mask & IBV_SRQ_MAX_WR) != 0) {
        if (attr->max_wr < std::max(1u, srq.queue.waiting()) || attr->max_wr > max_srq_wr) return EINVAL;
        RecvQueue larger;
        larger.resize(attr->max_wr, srq.queue.max_sge);
        while (srq.queue.waiting() != 0) {
            larger.wqe(larger.tail) = srq.queue.wqe(srq.queue.head);
            std::copy_n(srq.queue.sges_of(srq.queue.head), srq.queue.max_sge, larger.sges_of(larger.tail));
            ++larger.tail;
            ++srq.queue.head;
        }
        srq.queue = std::move(larger);
    }
    if ((mask & IBV_SRQ_LIMIT) != 0) {
        if (attr->srq_limit > srq.queue.capacity) return EINVAL;
        srq.limit = attr->srq_limit;
        // Already below: the event comes at once.
        if (srq.limit != 0 && srq.queue.waiting() < srq.limit) {
            srq.limit = 0;
            a->async_event(Context::of(abi->context), IBV_EVENT_SRQ_LIMIT_REACHED, abi);
        }
    }
    return 0;
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

int query_srq(ibv_srq* abi, ibv_srq_attr* attr) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    const Srq& srq = Srq::of(abi);
    *attr = {srq.queue.capacity, srq.queue.max_sge, srq.limit};
    return 0;
}

int destroy_srq(ibv_srq* abi) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Guard guard(*a);
    Srq& srq = Srq::of(abi);
    if (srq.users != 0) return EBUSY;
    Context& context = Context::of(abi->context);
    std::erase_if(context.async.waiting, [&](const ibv_async_event& event) {
        const bool ours = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == abi;
        if (ours) take_event(context.async.fd);
        return ours;
    });
    a->acknowledged.wait(guard.lock(), [&] { return srq.events == srq.acknowledged; });
    --srq.pd->users;
    pthread_mutex_destroy(&abi->mutex);
    pthread_cond_destroy(&abi->cond);
    delete &srq;
    return 0;
}

int post_srq_recv(ibv_srq* abi, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    for (; wr != nullptr; wr = wr->next)
        if (const int error = take_recv(Srq::of(abi).queue, *wr); error != 0) return *bad = wr, error;
    return 0;
}

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
    Engine* a = engine_of(pd->context);
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (attr->port_num != 1) return errno = EINVAL, nullptr;
    const Guard guard(*a);
    auto path = a->resolve(Context::of(pd->context), *attr, 0, false);
    if (path == nullptr) return errno = EINVAL, nullptr;
    auto* ah = new Ah;
    ah->abi.context = pd->context;
    ah->abi.pd = pd;
    ah->attr = *attr;
    ah->path = std::move(path);
    ++Pd::of(pd).users;
    return &ah->abi;
}

int destroy_ah(ibv_ah* abi) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    --Pd::of(abi->pd).users;
    delete &Ah::of(abi);
    return 0;
}

int attach_mcast(ibv_qp* abi, const ibv_gid* gid, std::uint16_t) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Gid group;
    std::memcpy(group.data(), gid->raw, group.size());
    if (!roce::is_multicast(group) || abi->qp_type != IBV_QPT_UD) return EINVAL;
    const Guard guard(*a);
    return a->attach(Qp::of(abi), *gid);
}

int detach_mcast(ibv_qp* abi, const ibv_gid* gid, std::uint16_t) {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    return a->detach(Qp::of(abi), *gid);
}

}  // namespace api

}  // namespace loom::hca
