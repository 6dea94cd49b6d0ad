#include "coll/touched.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "loom/base/error.hpp"

namespace loom::coll {
namespace {

// visit(first, bytes) for each block of this rank's input.
template <class Visit>
void each_input(const Group& group, const Call& call, Visit&& visit) {
    const bool root = call.root == group.me;
    const auto blocks = [&] {
        for (std::size_t i = 0; i < call.sent.bytes.size(); ++i) visit(call.sent.at[i], call.sent.bytes[i]);
    };
    switch (call.what) {
        case Collective::barrier:
        case Collective::broadcast:
            return;
        case Collective::scatter:
            if (root) visit(0, group.size * call.bytes);
            return;
        case Collective::scatterv:
            if (root) blocks();
            return;
        case Collective::gatherv:
            return visit(0, root ? call.received.bytes[group.me.value] : call.sent.bytes[0]);
        case Collective::allgatherv:
            return visit(0, call.received.bytes[group.me.value]);
        case Collective::neighbour_allgatherv:
            return visit(0, call.sent.bytes[0]);
        case Collective::alltoallv:
        case Collective::neighbour_alltoallv:
            return blocks();
        case Collective::alltoall:
        case Collective::reduce_scatter_block:
            return visit(0, group.size * call.bytes);
        case Collective::neighbour_alltoall:
            return visit(0, group.neighbours[group.me.value].destinations.size() * call.bytes);
        case Collective::reduce_scatter: {
            std::uint64_t all = 0;
            for (const std::uint64_t bytes : call.received.bytes) all += bytes;
            return visit(0, all);
        }
        case Collective::gather:
        case Collective::allgather:
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::scan:
        case Collective::exscan:
        case Collective::neighbour_allgather:
            return visit(0, call.bytes);
    }
}

template <class Visit>
void each_output(const Group& group, const Call& call, Visit&& visit) {
    const bool root = call.root == group.me;
    const auto blocks = [&] {
        for (std::size_t i = 0; i < call.received.bytes.size(); ++i) visit(call.received.at[i], call.received.bytes[i]);
    };
    switch (call.what) {
        case Collective::barrier:
            return;
        case Collective::gather:
            if (root) visit(0, group.size * call.bytes);
            return;
        case Collective::gatherv:
            if (root) blocks();
            return;
        case Collective::reduce:
            if (root) visit(0, call.bytes);
            return;
        case Collective::scatterv:
            return visit(0, root ? call.sent.bytes[group.me.value] : call.received.bytes[0]);
        case Collective::allgather:
        case Collective::alltoall:
            return visit(0, group.size * call.bytes);
        case Collective::neighbour_allgather:
        case Collective::neighbour_alltoall:
            return visit(0, group.neighbours[group.me.value].sources.size() * call.bytes);
        case Collective::allgatherv:
        case Collective::alltoallv:
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv:
            return blocks();
        case Collective::reduce_scatter:
            return visit(0, call.received.bytes[group.me.value]);
        case Collective::broadcast:
        case Collective::scatter:
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
        case Collective::scan:
        case Collective::exscan:
            return visit(0, call.bytes);
    }
}

void widen(ByteRange& range, std::uint64_t first, std::uint64_t bytes) {
    if (bytes == 0) return;
    if (range.end == 0)
        range = {first, first + bytes};
    else
        range = {std::min(range.first, first), std::max(range.end, first + bytes)};
}

}  // namespace

Touched touched_by(const Group& group, const Call& call) {
    Touched touched;
    if (call.in_place) return touched;
    each_input(group, call, [&](std::uint64_t first, std::uint64_t bytes) { widen(touched.input, first, bytes); });
    each_output(group, call, [&](std::uint64_t first, std::uint64_t bytes) { widen(touched.output, first, bytes); });
    return touched;
}

std::uint64_t touched_together(const Group& group, const Call& call) {
    std::uint64_t own = 0;
    const auto add = [&](std::uint64_t, std::uint64_t bytes) { own += bytes; };
    if (!call.in_place) each_input(group, call, add);
    each_output(group, call, add);
    const auto here =
        static_cast<std::uint64_t>(std::count(group.hosts.begin(), group.hosts.end(), group.hosts[group.me.value]));
    switch (call.what) {
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
            // What the root has of everybody, everybody has once more.
            return call.root == group.me ? 2 * own : 2 * own * here;
        default:
            return own * here;
    }
}

void refuse_overlap(const Group& group, const Call& call, const Buffers& buffers) {
    struct Block {
        std::uintptr_t first, end;
        bool output;
    };
    std::vector<Block> blocks;
    const auto add = [&](const std::byte* buffer, bool output) {
        return
            [&blocks, base = reinterpret_cast<std::uintptr_t>(buffer), output](std::uint64_t at, std::uint64_t bytes) {
                if (bytes != 0) blocks.push_back({base + at, base + at + bytes, output});
            };
    };
    each_input(group, call, add(buffers.input, false));
    each_output(group, call, add(buffers.output, true));
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.first < b.first; });
    std::uintptr_t end_of[2] = {0, 0};  // of what came before: the input, the output
    for (const Block& block : blocks) {
        if (block.first < end_of[block.output ? 0 : 1])
            throw UsageError(std::string(to_string(call.what)) +
                             ": input and output overlap; in_place says that the input is in the output");
        std::uintptr_t& end = end_of[block.output ? 1 : 0];
        end = std::max(end, block.end);
    }
}

}  // namespace loom::coll
