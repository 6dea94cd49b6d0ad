// Completions into completion queues, and events to whoever waits for them.
#include <sched.h>
#include <sys/eventfd.h>

#include <utility>

#include "hca/engine.hpp"
#include "hca/objects/events.hpp"

namespace loom::hca {

void Engine::complete(Cq& cq, const ibv_wc& wc, bool solicited) {
    if (completion_delay == 0) return deliver(cq, wc, solicited);
    late.push_back({now_ns() + completion_delay, &cq, wc, solicited});
    kick();
}

void Engine::deliver_late() {
    for (const std::uint64_t now = now_ns(); !late.empty() && late.front().at <= now; late.pop_front())
        deliver(*late.front().cq, late.front().wc, late.front().solicited);
}

void Engine::deliver(Cq& cq, const ibv_wc& wc, bool solicited) {
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
    if (cq.channel != waited_for)
        signal(cq.channel->events.fd);
    else if (waiter_sleeps && hushed == 0)
        signal(bell);
}

void Engine::signal(int fd) {
    if (signals_due == signals.size())
        eventfd_write(fd, 1);
    else
        signals[signals_due++] = fd;
}

void Engine::settle_signals() {
    for (std::uint32_t i = 0; i < signals_due; ++i) eventfd_write(signals[i], 1);
    signals_due = 0;
    while (signalling.load(std::memory_order_acquire) != 0) sched_yield();
}

void Guard::write_signals() {
    const std::array<int, 16> due = engine_.signals;
    const std::uint32_t count = std::exchange(engine_.signals_due, 0);
    engine_.signalling.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    for (std::uint32_t i = 0; i < count; ++i) eventfd_write(due[i], 1);
    engine_.signalling.fetch_sub(1, std::memory_order_release);
}

void Engine::complete_send(Qp& qp, SendWqe& wqe, ibv_wc_status status) {
    const bool signalled = qp.init.sq_sig_all != 0 || (wqe.flags & IBV_SEND_SIGNALED) != 0;
    if (status == IBV_WC_SUCCESS && !signalled) return;
    ibv_wc wc{};
    wc.wr_id = wqe.wr_id;
    wc.status = status;
    wc.qp_num = qp.qpn;
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

void Engine::async_event(Context& context, ibv_event_type type, void* element) {
    context.async.waiting.push_back(make_event(type, element));
    eventfd_write(context.async.fd, 1);
}

}  // namespace loom::hca
