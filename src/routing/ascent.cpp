#include "routing/ascent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loom/base/parallel.hpp"
#include "loom/fabric/levels.hpp"
#include "routing/hops.hpp"

namespace loom::routing {
namespace {

using Height = std::vector<std::uint32_t>;  // by switch; equal heights are settled by the index

void settle(const Height& height, Ascent& ascent) {
    ascent.by_place.resize(height.size());
    ascent.place.resize(height.size());
    std::iota(ascent.by_place.begin(), ascent.by_place.end(), 0u);
    std::stable_sort(ascent.by_place.begin(), ascent.by_place.end(),
                     [&](SwitchIndex a, SwitchIndex b) { return height[a] < height[b]; });
    for (std::uint32_t i = 0; i < ascent.by_place.size(); ++i) ascent.place[ascent.by_place[i]] = i;
}

// Marks the pieces in which some switch with hosts has no up/down route to another. 64 destinations at a time:
// bit i of below[s] says that s has a way down to destination i, of reach[s] that it has any.
std::vector<bool> pieces_that_fail(const SwitchGraph& graph, const Adjacency& adjacency, const Ascent& ascent,
                                   const Pieces& pieces) {
    std::vector<bool> bears(graph.switch_count(), false);
    for (const Destination& d : graph.host_destinations()) bears[d.sw] = true;
    const std::size_t size = ascent.place.size();
    std::vector<bool> fails(pieces.count, false);
    std::vector<std::uint64_t> below(size), reach(size), wanted(pieces.count);
    for (std::size_t first = 0; first < size; first += 64) {
        std::fill(below.begin(), below.end(), 0);
        std::fill(wanted.begin(), wanted.end(), 0);
        for (std::size_t i = 0; i < 64 && first + i < size; ++i) {
            below[first + i] = std::uint64_t{1} << i;
            if (bears[first + i]) wanted[pieces.of[first + i]] |= std::uint64_t{1} << i;
        }
        for (const SwitchIndex s : ascent.by_place)
            for (const auto& edge : adjacency.of(s))
                if (!ascent.up(s, edge.to)) below[s] |= below[edge.to];
        reach = below;
        for (std::size_t i = size; i-- > 0;) {
            const SwitchIndex s = ascent.by_place[i];
            for (const auto& edge : adjacency.of(s))
                if (ascent.up(s, edge.to)) reach[s] |= reach[edge.to];
        }
        for (std::size_t s = 0; s < size; ++s)
            if (const auto piece = pieces.of[s]; bears[s] && (reach[s] & wanted[piece]) != wanted[piece])
                fails[piece] = true;
    }
    return fails;
}

// The switch of a piece with the least distance to its farthest one, and the distances from it.
SwitchIndex middle_of(const Adjacency& adjacency, const std::vector<SwitchIndex>& members,
                      std::vector<std::uint16_t>& hops) {
    // Twice to the far end and back half-way: exact on trees, near enough elsewhere.
    std::vector<SwitchIndex> queue;
    breadth_first(adjacency, members.front(), hops, queue);
    const SwitchIndex one_end = queue.back();
    breadth_first(adjacency, one_end, hops, queue);
    const SwitchIndex other_end = queue.back();
    const std::vector<std::uint16_t> from_one = hops;
    breadth_first(adjacency, other_end, hops, queue);
    SwitchIndex best = one_end;
    unsigned least = ~0u;
    for (const SwitchIndex s : members)
        if (const unsigned farther = std::max(from_one[s], hops[s]); farther < least) {
            least = farther;
            best = s;
        }
    return best;
}

}  // namespace

Ascent find_ascent(const SwitchGraph& graph, const std::vector<Guid>& roots) {
    const fabric::Levels levels = fabric::find_levels(graph.fabric(), roots);
    const std::uint32_t size = graph.switch_count();
    Ascent ascent;
    Height height(size);
    for (SwitchIndex s = 0; s < size; ++s) height[s] = levels.level[graph.node(s).value];
    settle(height, ascent);

    const Adjacency adjacency(graph);
    const Pieces pieces = find_pieces(graph);
    const std::vector<bool> fails = pieces_that_fail(graph, adjacency, ascent, pieces);
    std::vector<std::uint16_t> hops(size);
    std::vector<SwitchIndex> queue;
    bool changed = false;
    for (std::uint32_t piece = 0; piece < pieces.count; ++piece) {
        if (!fails[piece]) continue;
        std::vector<SwitchIndex> members;
        for (SwitchIndex s = 0; s < size; ++s)
            if (pieces.of[s] == piece) members.push_back(s);
        const SwitchIndex root = middle_of(adjacency, members, hops);
        breadth_first(adjacency, root, hops, queue);
        for (const SwitchIndex s : members) height[s] = 0xffffu - hops[s];
        changed = true;
        ascent.remarks.push_back(
            fmt::format("the levels leave hosts without an up/down route to each other; up is towards {} instead",
                        fabric::describe(graph.fabric(), graph.node(root))));
    }
    if (changed) settle(height, ascent);
    return ascent;
}

UpDownHops::UpDownHops(const SwitchGraph& graph, const Ascent& ascent, unsigned threads)
    : size_(graph.switch_count()), place_(ascent.place), entries_(size_ * size_, unreachable) {
    // Neighbours in terms of places, so that the passes below run through memory in order.
    const Adjacency adjacency(graph);
    std::vector<std::uint32_t> first_up, first_down, ups, downs;
    for (const SwitchIndex s : ascent.by_place) {
        first_up.push_back(static_cast<std::uint32_t>(ups.size()));
        first_down.push_back(static_cast<std::uint32_t>(downs.size()));
        const auto collect = [&](std::vector<std::uint32_t>& into, std::uint32_t first, bool up) {
            for (const auto& edge : adjacency.of(s))
                if (ascent.up(s, edge.to) == up) into.push_back(place_[edge.to]);
            std::sort(into.begin() + first, into.end());
            into.erase(std::unique(into.begin() + first, into.end()), into.end());
        };
        collect(ups, first_up.back(), true);
        collect(downs, first_down.back(), false);
    }
    first_up.push_back(static_cast<std::uint32_t>(ups.size()));
    first_down.push_back(static_cast<std::uint32_t>(downs.size()));

    parallel_for(size_, threads, 16, [&](std::size_t begin, std::size_t end) {
        std::vector<std::uint16_t> hops(size_), marks(size_);
        std::vector<std::uint32_t> left;
        constexpr unsigned far = count;
        for (std::size_t t = begin; t < end; ++t) {
            std::fill(hops.begin(), hops.end(), static_cast<std::uint16_t>(far));
            std::fill(marks.begin(), marks.end(), std::uint16_t{0});
            left.clear();
            const std::size_t target = place_[t];
            hops[target] = 0;
            for (std::size_t p = target + 1; p < size_; ++p) {
                unsigned least = far;
                for (std::uint32_t i = first_down[p]; i < first_down[p + 1]; ++i)
                    least = std::min<unsigned>(least, hops[downs[i]] + 1u);
                hops[p] = static_cast<std::uint16_t>(least);
            }
            for (std::size_t p = size_; p-- > 0;) {
                if (hops[p] != far) continue;
                unsigned least = far;
                for (std::uint32_t i = first_up[p]; i < first_up[p + 1]; ++i)
                    least = std::min<unsigned>(least, hops[ups[i]] + 1u);
                hops[p] = static_cast<std::uint16_t>(least);
                if (least == far)
                    left.push_back(static_cast<std::uint32_t>(p));
                else
                    marks[p] = climbs;
            }
            // Those without an up/down route ask the nearest that has one; nearer ones first.
            for (bool changed = true; changed && !left.empty();) {
                changed = false;
                for (const std::uint32_t p : left) {
                    unsigned least = far;
                    for (std::uint32_t i = first_up[p]; i < first_up[p + 1]; ++i)
                        least = std::min<unsigned>(least, hops[ups[i]] + 1u);
                    for (std::uint32_t i = first_down[p]; i < first_down[p + 1]; ++i)
                        least = std::min<unsigned>(least, hops[downs[i]] + 1u);
                    changed = changed || least < hops[p];
                    hops[p] = static_cast<std::uint16_t>(std::min<unsigned>(least, hops[p]));
                    marks[p] = astray;
                }
            }
            for (std::size_t p = 0; p < size_; ++p)
                if (hops[p] != far)
                    entries_[std::size_t{ascent.by_place[p]} * size_ + t] =
                        static_cast<std::uint16_t>(hops[p] | marks[p]);
        }
    });
}

}  // namespace loom::routing
