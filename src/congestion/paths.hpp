// The fast way in: paths as short arrays of counter numbers, for many pairs at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "loom/congestion/routes.hpp"
#include "loom/traffic/pattern.hpp"

namespace loom::congestion {

// A counter is a LinkIndex plus two: counter 0 takes what pads a short path, so that loops need no
// test for its end, and counter 1 takes the lost pairs.
using Counter = std::uint32_t;
inline constexpr Counter padding = 0;
inline constexpr Counter lost = 1;
inline constexpr Counter first_link = 2;

// Walks tables for many items at a time: the items' table look-ups do not depend on each other, so
// that the machine overlaps their cache misses.
class Walker {
public:
    struct Item {
        routing::SwitchIndex from;
        std::uint16_t lid;
        routing::ChannelIndex goal;  // the host link on which the message must leave the last switch
    };

    Walker(const routing::SwitchGraph& graph, const routing::Tables& tables);

    // Afterwards length(i) hops, counter(i, hop), for the items of the last call. A lost item has
    // length 1 and the counter `lost`.
    void walk(std::span<const Item> items);
    [[nodiscard]] std::size_t length(std::size_t item) const { return length_[item]; }
    [[nodiscard]] Counter counter(std::size_t item, std::size_t hop) const { return hops_[hop * count_ + item]; }
    [[nodiscard]] std::size_t longest() const { return longest_; }

private:
    const std::uint8_t* ports_;
    std::size_t width_;
    std::span<const routing::ChannelIndex> base_;
    std::span<const routing::SwitchIndex> next_;
    std::size_t limit_;  // no loop-free path has more hops
    std::size_t count_ = 0;
    std::size_t longest_ = 0;
    std::vector<Counter> hops_;
    std::vector<std::uint32_t> length_;
    std::vector<std::uint32_t> alive_;
    std::vector<routing::SwitchIndex> at_;
};

struct RankPlace {
    std::uint32_t host = routing::none;  // number among the hosts in use; none: place keeper
    std::uint32_t leaf = 0;              // row of its switch
    std::uint32_t column = 0;            // of its first (or only) LID
    std::uint32_t mask = 0;              // with spread LIDs: number of them - 1
};

struct Routes::Data {
    const routing::SwitchGraph* graph = nullptr;
    const routing::Tables* tables = nullptr;
    std::vector<RankPlace> places;             // by rank
    std::vector<PortIndex> hosts;              // by host number
    std::vector<routing::ChannelIndex> goals;  // by host number: the switch's channel to it
    std::vector<routing::SwitchIndex> leaves;  // by row
    std::vector<std::uint16_t> lids;           // by column
    std::vector<std::uint32_t> column_host;    // by column
    std::size_t stride = 0;                    // counters kept for a path
    std::vector<std::uint16_t> narrow;         // paths, when every counter fits in 16 bits
    std::vector<std::uint32_t> wide;           // otherwise

    [[nodiscard]] bool kept() const { return !narrow.empty() || !wide.empty(); }
    [[nodiscard]] std::size_t columns() const { return lids.size(); }
    [[nodiscard]] std::size_t counters() const { return first_link + graph->channel_count() + hosts.size(); }
    [[nodiscard]] Counter into_switch(std::uint32_t host) const { return first_link + graph->channel_count() + host; }
    [[nodiscard]] Counter into_host(std::uint32_t host) const { return first_link + goals[host]; }

    [[nodiscard]] std::uint32_t column(std::uint32_t from, std::uint32_t to) const {
        return places[to].column + ((from + to) & places[to].mask);
    }
};

inline constexpr std::size_t walk_batch = 1024;

// Calls visit(from place, to place, path, length) for every pair that enters the network, `path` being
// an array of Counters of some width, and returns how many did not. Length is the same for all paths
// that are kept, shorter ones being padded; path[0] is always there, `lost` for a lost pair.
template <class Visit>
std::size_t for_each_path(const Routes::Data& data, std::span<const traffic::Pair> pairs, Walker& walker,
                          Visit&& visit) {
    std::size_t stay = 0;
    const auto enters = [](const RankPlace& a, const RankPlace& b) {
        return a.host != routing::none && b.host != routing::none && a.host != b.host;
    };
    const auto from_memory = [&](const auto* paths, auto stride) {
        const std::size_t columns = data.columns();
        for (const traffic::Pair& pair : pairs) {
            const RankPlace& a = data.places[pair.from.value];
            const RankPlace& b = data.places[pair.to.value];
            if (!enters(a, b)) {
                ++stay;
                continue;
            }
            const std::size_t column = b.column + ((pair.from.value + pair.to.value) & b.mask);
            visit(a, b, paths + (a.leaf * columns + column) * stride, stride);
        }
    };
    // The usual lengths as constants, so that the loops over a path unroll.
    const auto with_stride = [&](const auto* paths) {
        if (data.stride == 2) return from_memory(paths, std::integral_constant<std::size_t, 2>{});
        if (data.stride == 4) return from_memory(paths, std::integral_constant<std::size_t, 4>{});
        from_memory(paths, data.stride);
    };
    if (!data.narrow.empty()) {
        with_stride(data.narrow.data());
        return stay;
    }
    if (!data.wide.empty()) {
        with_stride(data.wide.data());
        return stay;
    }

    std::array<Walker::Item, walk_batch> items;
    std::array<traffic::Pair, walk_batch> who;
    std::size_t filled = 0;
    std::vector<Counter> path;
    const auto flush = [&] {
        walker.walk(std::span(items).first(filled));
        path.resize(std::max<std::size_t>(walker.longest(), 1));
        for (std::size_t i = 0; i < filled; ++i) {
            const std::size_t length = walker.length(i);
            path[0] = padding;
            for (std::size_t hop = 0; hop < length; ++hop) path[hop] = walker.counter(i, hop);
            visit(data.places[who[i].from.value], data.places[who[i].to.value], path.data(), length);
        }
        filled = 0;
    };
    for (const traffic::Pair& pair : pairs) {
        const RankPlace& a = data.places[pair.from.value];
        const RankPlace& b = data.places[pair.to.value];
        if (!enters(a, b)) {
            ++stay;
            continue;
        }
        items[filled] = {data.leaves[a.leaf], data.lids[data.column(pair.from.value, pair.to.value)],
                         data.goals[b.host]};
        who[filled] = pair;
        if (++filled == walk_batch) flush();
    }
    if (filled != 0) flush();
    return stay;
}

}  // namespace loom::congestion
