#include "hca/protocol/queue_pairs.hpp"

#include "hca/engine.hpp"

namespace loom::hca {

std::uint32_t QueuePairs::free_index() {
    for (std::uint32_t tried = 0; tried < qps_per_process; ++tried) {
        const std::uint32_t candidate = next_;
        next_ = (next_ + 1) % qps_per_process;
        if (by_index_[candidate] == nullptr && candidate > 1) return candidate;
    }
    return 0;
}

void QueuePairs::add(Qp& qp) {
    by_index_[index_of(qp.qpn)] = &qp;
    engine_.home.publish(qp);
}

void QueuePairs::remove(Qp& qp) {
    engine_.home.withdraw(qp);
    by_index_[index_of(qp.qpn)] = nullptr;
    forget(qp);
}

void QueuePairs::remove_all(const Context& context) {
    for (Qp* qp : by_index_) {
        if (qp == nullptr || qp->context != &context) continue;
        engine_.groups.forget(*qp);
        remove(*qp);
    }
}

void QueuePairs::to_error(Qp& qp) {
    if (qp.state() == IBV_QPS_ERR) return;
    engine_.responder.settle_up(qp);
    qp.abi.qp_base.state = IBV_QPS_ERR;
    engine_.home.publish(qp);
    engine_.responder.end(qp);
    engine_.requester.flush(qp);
    engine_.responder.flush(qp);
}

void QueuePairs::forget(Qp& qp) {
    engine_.responder.settle_up(qp);
    engine_.responder.forget(qp);
    engine_.requester.forget(qp);
    engine_.peers.forget(qp);
    engine_.roce->forget(qp);
    engine_.loans.end(qp);
}

}  // namespace loom::hca
