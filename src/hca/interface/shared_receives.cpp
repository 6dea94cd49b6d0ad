// Shared receive queues as programs use them.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/objects/events.hpp"

namespace loom::hca::api {

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
    srq->number = a->next_srq++ & low_24_bits;
    srq->abi.handle = srq->number;
    pthread_mutex_init(&srq->abi.mutex, nullptr);
    pthread_cond_init(&srq->abi.cond, nullptr);
    attr->attr.max_sge = std::max(1u, attr->attr.max_sge);
    srq->queue.resize(attr->attr.max_wr, attr->attr.max_sge);
    ++srq->pd->users;
    return &srq.release()->abi;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
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
            a->completions.async_event(Context::of(abi->context), IBV_EVENT_SRQ_LIMIT_REACHED, abi);
        }
    }
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int query_srq(ibv_srq* abi, ibv_srq_attr* attr) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    const Srq& srq = Srq::of(abi);
    *attr = {srq.queue.capacity, srq.queue.max_sge, srq.limit};
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int destroy_srq(ibv_srq* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Guard guard(*a);
    Srq& srq = Srq::of(abi);
    if (srq.users != 0) return EBUSY;
    withdraw_events(Context::of(abi->context), abi);
    a->acknowledged.wait(guard.lock(), [&] { return srq.events.settled(); });
    --srq.pd->users;
    pthread_mutex_destroy(&abi->mutex);
    pthread_cond_destroy(&abi->cond);
    delete &srq;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int post_srq_recv(ibv_srq* abi, ibv_recv_wr* wr, ibv_recv_wr** bad) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return *bad = wr, ENODEV;
    const Guard guard(*a);
    for (; wr != nullptr; wr = wr->next)
        if (const int error = Srq::of(abi).queue.post(*wr); error != 0) return *bad = wr, error;
    return 0;
} catch (const std::exception& thrown) {
    return *bad = wr, errno_of(thrown);
}

}  // namespace loom::hca::api
