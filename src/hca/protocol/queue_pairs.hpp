// The queue pairs of this process by number, and how they end. They are the program's objects: whoever destroys one
// (interface/queue_pairs.cpp) takes it out here first.
#pragma once

#include <cstdint>
#include <vector>

#include "hca/host/shared.hpp"
#include "hca/objects/objects.hpp"

namespace loom::hca {

class QueuePairs {
public:
    explicit QueuePairs(Engine& engine) : engine_(engine), by_index_(qps_per_process, nullptr) {}

    [[nodiscard]] Qp* find(QpNumber qpn) const {
        Qp* const qp = by_index_[index_of(qpn)];
        return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
    }
    [[nodiscard]] const std::vector<Qp*>& all() const { return by_index_; }  // with gaps

    void begin_at(std::uint32_t index) { next_ = index; }
    std::uint32_t free_index();  // 0: there is none
    void add(Qp& qp);
    void remove(Qp& qp);  // nothing reaches it any more
    void remove_all(const Context& context);

    void to_error(Qp& qp);  // flushes both queues
    void forget(Qp& qp);    // takes it off every list

    // The program has taken a completion: a send's place in its queue is free.
    void taken(const ibv_wc& wc) const {
        if ((wc.opcode & IBV_WC_RECV) != 0) return;
        Qp* const qp = find(QpNumber{wc.qp_num});
        if (qp != nullptr && qp->unpolled != 0) --qp->unpolled;
    }

private:
    Engine& engine_;
    std::vector<Qp*> by_index_;
    std::uint32_t next_ = 2;
};

}  // namespace loom::hca
