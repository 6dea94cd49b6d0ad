#include "hca/wire/wire.hpp"

#include "hca/engine.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

bool Wire::send(Qp& qp, const Path& path, const Packet& packet, const Load& load) {
    PortCounters& counters = counters_of(*qp.context);
    if (engine_.faults.lose_packet(qp.type() == IBV_QPT_UD)) {
        add(counters.dropped);
        lost_by_fault(qp, packet);
        return true;
    }
    switch (put(qp, path, packet, load)) {
        case Put::sent:
            qp.waits_since = 0;
            add(counters.sent_packets);
            return true;
        case Put::dropped:
            add(counters.dropped);
            return true;
        case Put::waits:
            break;
    }
    return false;
}

std::uint32_t Wire::mtu(ibv_mtu asked) const {
    return 128u << static_cast<unsigned>(asked);
}

std::uint64_t Wire::retry_time(Qp& qp) {
    return coarse_now_ns() + (4096ull << qp.attr.timeout);
}

Overdue Wire::overdue(Qp& qp, std::uint64_t now) {
    const std::uint64_t next = now + (4096ull << qp.attr.timeout);
    return {qp.retries_left == 0 ? Overdue::Verdict::give_up : Overdue::Verdict::resend, next};
}

}  // namespace loom::hca
