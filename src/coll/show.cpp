#include "loom/coll/show.hpp"

#include <fmt/format.h>

#include <iterator>
#include <vector>

namespace loom::coll {
namespace {

using traffic::Op;
using traffic::OpIndex;
using traffic::OpKind;
using traffic::Schedule;

std::string_view name(Buffer buffer) {
    switch (buffer) {
        case Buffer::input:
            return "input";
        case Buffer::output:
            return "output";
        case Buffer::scratch:
            return "scratch";
        case Buffer::none:
            break;
    }
    return "nowhere";
}

std::string text(const Place& place) {
    return fmt::format("{}+{}", name(place.buffer), place.at);
}

// "send 8 B to 3 tag 1"; with places, where they are known.
std::string describe(const Op& op, const Places* places) {
    const std::string tag = op.tag == 0 ? "" : fmt::format(" tag {}", op.tag);
    const bool placed = places != nullptr && op.amount > 0;
    switch (op.kind) {
        case OpKind::send:
            return fmt::format("send {} B to {}{}{}", op.amount, op.peer.value, tag,
                               placed ? " from " + text(places->from) : "");
        case OpKind::receive:
            return fmt::format("receive {} B from {}{}{}", op.amount, op.peer.value, tag,
                               placed ? " to " + text(places->to) : "");
        case OpKind::copy:
        case OpKind::reduce:
            return fmt::format("{} {} B{}", op.kind == OpKind::copy ? "copy" : "reduce", op.amount,
                               placed ? fmt::format(" {} into {}", text(places->from), text(places->to)) : "");
        case OpKind::compute:
            break;
    }
    return op.amount == 0 ? "join" : fmt::format("compute {}", to_string(Time{static_cast<std::int64_t>(op.amount)}));
}

void append_rank(std::string& out, const Schedule& schedule, Rank rank, const std::vector<Places>* places) {
    const OpIndex first = schedule.first(rank);
    const auto count = static_cast<OpIndex>(schedule.ops(rank).size());
    std::vector<std::vector<OpIndex>> after(count);
    for (OpIndex i = 0; i < count; ++i)
        for (const traffic::Successor& next : schedule.successors(first + i)) after[next.op - first].push_back(i);
    for (OpIndex i = 0; i < count; ++i) {
        fmt::format_to(std::back_inserter(out), "{:5}  {}", i,
                       describe(schedule.op(first + i), places == nullptr ? nullptr : &(*places)[first + i]));
        for (std::size_t k = 0; k < after[i].size(); ++k)
            fmt::format_to(std::back_inserter(out), "{}{}", k == 0 ? ", after " : ", ", after[i][k]);
        out += '\n';
    }
}

}  // namespace

std::string to_text(const Plan& plan) {
    std::string out =
        fmt::format("rank {} of {}, {} bytes of scratch\n", plan.me.value, plan.schedule.ranks(), plan.scratch);
    append_rank(out, plan.schedule, plan.me, &plan.places);
    return out;
}

std::string to_text(const Schedule& schedule) {
    std::string out;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        fmt::format_to(std::back_inserter(out), "rank {} of {}\n", rank, schedule.ranks());
        append_rank(out, schedule, Rank{rank}, nullptr);
    }
    return out;
}

Schedule as_computation(const Schedule& schedule, const model::LocalCosts& costs) {
    traffic::ScheduleBuilder builder(schedule.ranks());
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const Rank rank{r};
        const OpIndex first = schedule.first(rank);
        for (Op op : schedule.ops(rank)) {
            if (op.kind == OpKind::copy || op.kind == OpKind::reduce) {
                const std::int64_t byte = op.kind == OpKind::copy ? costs.copy : costs.reduce;
                const auto work =
                    op.amount * static_cast<std::uint64_t>(byte) + static_cast<std::uint64_t>(costs.step.ps);
                op.amount = (work + 500) / 1000 * 1000;
                op.kind = OpKind::compute;
            }
            builder.add(rank, op);
        }
        for (OpIndex i = 0; i < schedule.ops(rank).size(); ++i)
            for (const traffic::Successor& next : schedule.successors(first + i))
                builder.require(rank, next.op - first, i, next.on_start);
    }
    return builder.build();
}

}  // namespace loom::coll
