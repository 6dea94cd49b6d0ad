#include "routing/hops.hpp"

#include <algorithm>
#include <bit>

#include "loom/base/parallel.hpp"

namespace loom::routing {

Adjacency::Adjacency(const SwitchGraph& graph) {
    first.reserve(graph.switch_count() + 1);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        first.push_back(static_cast<std::uint32_t>(edges.size()));
        for (unsigned port = 1; port <= graph.port_count(s); ++port) {
            const ChannelIndex c = graph.channel(s, port);
            // A cable from a switch to itself leads nowhere.
            if (const SwitchIndex to = graph.next(c); to != none && to != s) edges.push_back({to, c});
        }
    }
    first.push_back(static_cast<std::uint32_t>(edges.size()));
}

void breadth_first(const Adjacency& adjacency, SwitchIndex root, std::span<std::uint16_t> hops,
                   std::vector<SwitchIndex>& queue) {
    std::fill(hops.begin(), hops.end(), no_path);
    queue.clear();
    queue.push_back(root);
    hops[root] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const SwitchIndex s = queue[head];
        const auto next = static_cast<std::uint16_t>(hops[s] + 1);
        for (const auto& edge : adjacency.of(s)) {
            if (hops[edge.to] != no_path) continue;
            hops[edge.to] = next;
            queue.push_back(edge.to);
        }
    }
}

HopMatrix::HopMatrix(const SwitchGraph& graph, unsigned threads)
    : size_(graph.switch_count()), hops_(size_ * size_, no_path) {
    const Adjacency adjacency(graph);
    constexpr std::size_t batch = 64;
    parallel_for((size_ + batch - 1) / batch, threads, 1, [&](std::size_t begin, std::size_t end) {
        // One bit for each root of the batch: which searches have seen a switch, and which see it just now.
        std::vector<std::uint64_t> seen(size_), now(size_), next(size_);
        for (std::size_t b = begin; b < end; ++b) {
            const std::size_t first = b * batch;
            const std::size_t roots = std::min(batch, size_ - first);
            std::fill(seen.begin(), seen.end(), 0);
            std::fill(now.begin(), now.end(), 0);
            for (std::size_t i = 0; i < roots; ++i) {
                seen[first + i] = now[first + i] = std::uint64_t{1} << i;
                hops_[(first + i) * size_ + first + i] = 0;
            }
            bool growing = true;
            for (std::uint16_t distance = 1; growing; ++distance) {
                growing = false;
                for (SwitchIndex s = 0; s < size_; ++s) {
                    std::uint64_t reached = 0;
                    for (const auto& edge : adjacency.of(s)) reached |= now[edge.to];
                    reached &= ~seen[s];
                    next[s] = reached;
                    growing = growing || reached != 0;
                    for (std::uint64_t left = reached; left != 0; left &= left - 1)
                        hops_[(first + static_cast<std::size_t>(std::countr_zero(left))) * size_ + s] = distance;
                }
                for (std::size_t s = 0; s < size_; ++s) seen[s] |= next[s];
                now.swap(next);
            }
        }
    });
}

Pieces find_pieces(const SwitchGraph& graph) {
    const Adjacency adjacency(graph);
    Pieces pieces;
    pieces.of.assign(graph.switch_count(), none);
    std::vector<SwitchIndex> queue;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        if (pieces.of[s] != none) continue;
        pieces.of[s] = pieces.count;
        queue.assign(1, s);
        for (std::size_t head = 0; head < queue.size(); ++head)
            for (const auto& edge : adjacency.of(queue[head]))
                if (pieces.of[edge.to] == none) {
                    pieces.of[edge.to] = pieces.count;
                    queue.push_back(edge.to);
                }
        ++pieces.count;
    }
    return pieces;
}

}  // namespace loom::routing
