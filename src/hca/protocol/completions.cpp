#include "hca/protocol/completions.hpp"

#include <sched.h>
#include <sys/eventfd.h>

#include <utility>

#include "hca/engine.hpp"
#include "hca/objects/events.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

void Completions::complete(Cq& cq, const ibv_wc& wc, bool solicited) {
    if (delay_ns_ == 0) return deliver(cq, wc, solicited);
    late_.push_back({now_ns() + delay_ns_, &cq, wc, solicited});
    engine_.service.kick();
}

void Completions::deliver_late() {
    for (const std::uint64_t now = now_ns(); !late_.empty() && late_.front().at <= now; late_.pop_front())
        deliver(*late_.front().cq, late_.front().wc, late_.front().solicited);
}

void Completions::deliver(Cq& cq, const ibv_wc& wc, bool solicited) {
    if (wc.status != IBV_WC_SUCCESS) add(counters_of(*cq.context).completion_errors);
    if (cq.waiting() >= static_cast<std::uint32_t>(cq.abi.cqe)) {
        if (!cq.overrun) {
            cq.overrun = true;
            async_event(*cq.context, IBV_EVENT_CQ_ERR, &cq);
        }
        return;
    }
    Cqe& entry = cq.ring[cq.tail & (cq.ring.size() - 1)];
    entry.wc = wc;
    if (cq.stamped) entry.time = now_ns();
    ++cq.tail;
    if (cq.armed == Armed::no) return;
    if (cq.armed == Armed::solicited && !solicited && wc.status == IBV_WC_SUCCESS) return;
    cq.armed = Armed::no;
    if (cq.channel == nullptr) return;
    cq.channel->events.waiting.push_back(&cq);
    if (const int fd = engine_.service.bell_of(*cq.channel); fd >= 0) signal(fd);
}

void Completions::signal(int fd) {
    if (signals_due_ == signals_.size())
        eventfd_write(fd, 1);
    else
        signals_[signals_due_++] = fd;
}

void Completions::settle_signals() {
    for (std::uint32_t i = 0; i < signals_due_; ++i) eventfd_write(signals_[i], 1);
    signals_due_ = 0;
    while (signalling_.load(std::memory_order_acquire) != 0) sched_yield();
}

void Completions::complete_send(Qp& qp, SendWqe& wqe, ibv_wc_status status) {
    const bool signalled = qp.init.sq_sig_all != 0 || (wqe.flags & IBV_SEND_SIGNALED) != 0;
    if (status == IBV_WC_SUCCESS && !signalled) return;
    ibv_wc wc{};
    wc.wr_id = wqe.wr_id;
    wc.status = status;
    wc.qp_num = qp.qpn.value;
    switch (wqe.opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            wc.opcode = IBV_WC_RDMA_WRITE;
            break;
        case IBV_WR_RDMA_READ:
            wc.opcode = IBV_WC_RDMA_READ;
            break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            wc.opcode = IBV_WC_COMP_SWAP;
            break;
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            wc.opcode = IBV_WC_FETCH_ADD;
            break;
        default:
            wc.opcode = IBV_WC_SEND;
            break;
    }
    wc.byte_len = wqe.length;
    ++qp.unpolled;
    complete(*qp.send_cq, wc, false);
}

void Completions::async_event(Context& context, ibv_event_type type, void* element) {
    context.async.waiting.push_back(make_event(type, element));
    eventfd_write(context.async.fd, 1);
}

void Completions::write_signals(std::unique_lock<EngineLock>& lock) {
    const std::array<int, 16> due = signals_;
    const std::uint32_t count = std::exchange(signals_due_, 0);
    signalling_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    for (std::uint32_t i = 0; i < count; ++i) eventfd_write(due[i], 1);
    signalling_.fetch_sub(1, std::memory_order_release);
}

void Completions::forget(const Qp& qp) {
    std::erase_if(late_, [&](const Late& late) { return late.wc.qp_num == qp.qpn.value; });
    for (Cq* cq : {qp.send_cq, qp.recv_cq}) {
        std::uint32_t kept = cq->head;
        const std::uint32_t mask = static_cast<std::uint32_t>(cq->ring.size()) - 1;
        for (std::uint32_t at = cq->head; at != cq->tail; ++at)
            if (cq->ring[at & mask].wc.qp_num != qp.qpn.value) cq->ring[kept++ & mask] = cq->ring[at & mask];
        cq->tail = kept;
    }
}

void Completions::forget(const Context& context) {
    std::erase_if(late_, [&](const Late& late) { return late.cq->context == &context; });
}

}  // namespace loom::hca
