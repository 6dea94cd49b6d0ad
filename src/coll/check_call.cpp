#include <string>

#include "coll/communicator_state.hpp"
#include "loom/base/error.hpp"

namespace loom::coll {
namespace {

[[noreturn]] void refuse(const Call& call, const std::string& why) {
    throw UsageError(std::string(to_string(call.what)) + ": " + why);
}

// A size for each of `count` blocks and, unless they follow from the sizes, a place.
void check_blocks(const Call& call, const Blocks& blocks, std::size_t count, bool places, const char* which) {
    if (blocks.bytes.size() == count && (!places || blocks.at.size() == count)) return;
    refuse(call, std::string("it needs the size ") + (places ? "and place " : "") + "of " + std::to_string(count) +
                     " blocks " + which + ", and " + std::to_string(blocks.bytes.size()) +
                     (places ? " and " + std::to_string(blocks.at.size()) : "") + " are given");
}

}  // namespace

void check_call(const Group& group, const Call& call) {
    const bool root = call.root == group.me;
    const auto rooted = [&] {
        if (call.root.value >= group.size)
            refuse(call, "its root is rank " + std::to_string(call.root.value) + ", and there are " +
                             std::to_string(group.size) + " ranks");
    };
    const auto neighbours = [&]() -> const Neighbours& {
        if (group.neighbours.size() != group.size) refuse(call, "the communicator has no topology");
        if (call.in_place) refuse(call, "it cannot be in place");
        return group.neighbours[group.me.value];
    };
    if (call.element == 0) refuse(call, "an element cannot have 0 bytes");
    switch (call.what) {
        case Collective::barrier:
        case Collective::allgather:
        case Collective::alltoall:
            return;
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
        case Collective::scan:
        case Collective::exscan:
        case Collective::reduce:
            if (call.bytes % call.element != 0) refuse(call, "the bytes are not a whole number of elements");
            if (call.what == Collective::reduce) rooted();
            return;
        case Collective::broadcast:
        case Collective::gather:
        case Collective::scatter:
            return rooted();
        case Collective::gatherv:
            rooted();
            if (root)
                check_blocks(call, call.received, group.size, true, "received");
            else
                check_blocks(call, call.sent, 1, false, "sent");
            return;
        case Collective::scatterv:
            rooted();
            if (root)
                check_blocks(call, call.sent, group.size, true, "sent");
            else
                check_blocks(call, call.received, 1, false, "received");
            return;
        case Collective::allgatherv:
            return check_blocks(call, call.received, group.size, true, "received");
        case Collective::alltoallv:
            if (!call.in_place) check_blocks(call, call.sent, group.size, true, "sent");
            return check_blocks(call, call.received, group.size, true, "received");
        case Collective::reduce_scatter:
            check_blocks(call, call.received, group.size, false, "received");
            for (const std::uint64_t bytes : call.received.bytes)
                if (bytes % call.element != 0) refuse(call, "the bytes are not a whole number of elements");
            return;
        case Collective::neighbour_allgather:
        case Collective::neighbour_alltoall:
            return (void)neighbours();
        case Collective::neighbour_allgatherv:
            check_blocks(call, call.sent, 1, false, "sent");
            return check_blocks(call, call.received, neighbours().sources.size(), true, "received");
        case Collective::neighbour_alltoallv:
            check_blocks(call, call.sent, neighbours().destinations.size(), true, "sent");
            return check_blocks(call, call.received, neighbours().sources.size(), true, "received");
    }
}

}  // namespace loom::coll
