#include "model/check_costs.hpp"

#include <algorithm>

#include "loom/base/error.hpp"

namespace loom::model {

namespace {

using traffic::Op;
using traffic::OpKind;

void check(const MessageCosts& m) {
    for (const Time time : {m.send, m.send_first, m.gap, m.latency, m.take})
        if (time.ps < 0) throw UsageError("the costs of messages must not be negative");
    if (m.send_byte < 0 || m.gap_byte < 0 || m.take_byte < 0)
        throw UsageError("the costs of a byte must not be negative");
}

void check(const WayCosts& way) {
    check(way.small);
    check(way.large);
    if (way.ready.ps < 0 || way.shared_byte < 0 || way.alone_byte < 0)
        throw UsageError("the way of a receiver's word must not take less than no time");
}

double length_of(const WayCosts& way, std::uint64_t bytes) {
    const MessageCosts& m = bytes > way.limit ? way.large : way.small;
    const auto ps = [](Time time) { return static_cast<double>(time.ps); };
    const double byte =
        static_cast<double>(m.send_byte) + 2 * static_cast<double>(m.gap_byte) + static_cast<double>(m.take_byte);
    return ps(m.send) + ps(m.send_first) + 2 * ps(m.gap) + 2 * ps(m.latency) + ps(m.take) + ps(way.ready) +
           static_cast<double>(bytes) * byte;
}

}  // namespace

// The sum of everything that takes time is an end that none passes.
void check_length(const traffic::Schedule& schedule, const Charges& c) {
    check(c.way);
    if (c.far) check(*c.far);
    if (c.local.copy < 0 || c.local.reduce < 0 || c.local.step.ps < 0)
        throw UsageError("the costs of local operations must not be negative");
    if (c.turn.ps < 0 || c.call.ps < 0) throw UsageError("a turn and a call must not take less than no time");
    if (c.free == 0) throw UsageError("an adapter works on at least one message at a time");
    const auto ranks = static_cast<double>(schedule.ranks());
    double length = ranks * static_cast<double>(c.call.ps) +
                    (ranks + 3 * static_cast<double>(schedule.size())) * ranks * static_cast<double>(c.turn.ps);
    for (const Op& op : schedule.ops()) {
        const auto amount = static_cast<double>(op.amount);
        const auto step = static_cast<double>(c.local.step.ps);
        switch (op.kind) {
            case OpKind::send:
                length += std::max(length_of(c.way, op.amount), c.far ? length_of(*c.far, op.amount) : 0.0);
                break;
            case OpKind::receive:
                break;
            case OpKind::compute:
                length += amount;
                break;
            case OpKind::copy:
                length += step + amount * static_cast<double>(c.local.copy);
                break;
            case OpKind::reduce:
                length += step + amount * static_cast<double>(c.local.reduce);
                break;
        }
    }
    if (length > 4e18) throw Error("the schedule may last longer than 46 days, which is all that can be predicted");
}

}  // namespace loom::model
