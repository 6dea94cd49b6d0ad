#include "routing/hops.hpp"

#include <algorithm>

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

HopMatrix::HopMatrix(const SwitchGraph& graph, unsigned threads) : size_(graph.switch_count()), hops_(size_ * size_) {
    const Adjacency adjacency(graph);
    parallel_for(size_, threads, 16, [&](std::size_t begin, std::size_t end) {
        std::vector<SwitchIndex> queue;
        queue.reserve(size_);
        for (std::size_t s = begin; s < end; ++s)
            breadth_first(adjacency, static_cast<SwitchIndex>(s), std::span(hops_).subspan(s * size_, size_), queue);
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
