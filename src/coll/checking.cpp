#include "coll/checking.hpp"

#include <fmt/format.h>

#include "coll/communicator_state.hpp"
#include "coll/world_state.hpp"

namespace loom::coll {

namespace {

bool has_root(Collective what) {
    switch (what) {
        case Collective::broadcast:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
        case Collective::reduce:
            return true;
        default:
            return false;
    }
}

// Whether all ranks give the same number of bytes.
bool is_uniform(Collective what) {
    switch (what) {
        case Collective::barrier:
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::allgatherv:
        case Collective::alltoallv:
        case Collective::reduce_scatter:
        case Collective::neighbour_allgather:  // alike among neighbours, which need not all be connected
        case Collective::neighbour_alltoall:
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv:
            return false;
        default:
            return true;
    }
}

std::string describe(const CallRecord& record) {
    if (record.what == CallRecord::schedule) return "a schedule of its own";
    const auto what = static_cast<Collective>(record.what);
    std::string text(to_string(what));
    if (is_uniform(what)) text += fmt::format(" of {} bytes", record.bytes);
    if (has_root(what)) text += fmt::format(" with root {}", record.root);
    if (is_reduction(what))
        text += fmt::format(" (elements of {} bytes{})", record.element,
                            record.commutative != 0 ? "" : ", in the order of ranks");
    return text;
}

}  // namespace

CallRecord record_of(const Call& call) {
    CallRecord record;
    record.what = static_cast<std::uint32_t>(call.what);
    if (has_root(call.what)) record.root = call.root.value;
    if (is_uniform(call.what)) record.bytes = call.bytes;
    if (is_reduction(call.what)) {
        record.element = call.element;
        record.commutative = call.commutative ? 1 : 0;
    }
    return record;
}

std::string differences(std::span<const CallRecord> records) {
    for (std::size_t rank = 1; rank < records.size(); ++rank)
        if (records[rank] != records[0])
            return fmt::format("rank 0 calls {}, rank {} calls {}", describe(records[0]), rank,
                               describe(records[rank]));
    return {};
}

// The records travel on tags of the operation's own sequence number: ranks that call different things still meet.
void Communicator::State::start_checked(Execution& execution, const CallRecord& mine) {
    auto check = std::make_unique<Check>(mine, members.size());
    Call call;
    call.what = Collective::allgather;
    call.bytes = sizeof(CallRecord);
    const Choice linear{"linear", {}};
    Execution& first = take(prepare(call, &linear), check->buffers(), nullptr);
    first.tag = execution.tag | Check::tag_bit;
    first.detached = true;
    world.engine.hold_behind(execution, first, std::move(check));
    world.engine.start(first);
}

}  // namespace loom::coll
