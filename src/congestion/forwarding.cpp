#include "loom/congestion/forwarding.hpp"

#include <algorithm>
#include <mutex>

#include "congestion/paths.hpp"
#include "loom/base/parallel.hpp"

namespace loom::congestion {
namespace {

constexpr std::uint32_t most_lids = 128;  // of a host: LMC 7

// All ranks behind one switch whose pairs with a destination use the same LID share a path: it is
// looked at once, with the number of them as its weight.
class LeafRoutes {
public:
    explicit LeafRoutes(const Routes::Data& data) : data_(&data), members_(data.leaves.size()) {
        for (std::uint32_t rank = 0; rank < data.places.size(); ++rank)
            if (data.places[rank].host != routing::none) members_[data.places[rank].leaf].push_back(rank);
    }

    // Calls visit(path, length, weight) for the routes from one leaf to every rank.
    template <class Visit>
    void each(std::size_t leaf, Walker& walker, Visit&& visit) const {
        std::array<std::uint32_t, most_lids> times{};  // members by rank modulo most_lids, and one such rank
        std::array<std::uint32_t, most_lids> example{};
        for (const std::uint32_t rank : members_[leaf]) {
            ++times[rank % most_lids];
            example[rank % most_lids] = rank;
        }
        std::vector<traffic::Pair> pairs;
        std::vector<std::uint32_t> weights;
        const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t weight) {
            pairs.push_back({Rank{from}, Rank{to}});
            weights.push_back(weight);
        };
        for (std::uint32_t to = 0; to < data_->places.size(); ++to) {
            const RankPlace& place = data_->places[to];
            if (place.host == routing::none) continue;
            if (place.leaf == leaf) {
                for (const std::uint32_t from : members_[leaf])
                    if (data_->places[from].host != place.host) add(from, to, 1);
                continue;
            }
            if (place.mask == 0) {
                add(members_[leaf].front(), to, static_cast<std::uint32_t>(members_[leaf].size()));
                continue;
            }
            for (std::uint32_t residue = 0; residue <= place.mask; ++residue) {
                std::uint32_t weight = 0;
                std::uint32_t from = 0;
                for (std::uint32_t r = residue; r < most_lids; r += place.mask + 1)
                    if (times[r] != 0) {
                        weight += times[r];
                        from = example[r];
                    }
                if (weight != 0) add(from, to, weight);
            }
        }
        std::size_t at = 0;  // visits come in the order of the pairs, and none of these stays at home
        for_each_path(*data_, pairs, walker, [&](const RankPlace&, const RankPlace&, const auto* path, auto length) {
            visit(path, length, weights[at++]);
        });
    }

private:
    const Routes::Data* data_;
    std::vector<std::vector<std::uint32_t>> members_;  // ranks by leaf
};

}  // namespace

ForwardingIndex forwarding_index(const Routes& routes, unsigned threads) {
    const Routes::Data& data = routes.data();
    const LeafRoutes leaf_routes(data);
    const std::size_t leaves = data.leaves.size();
    constexpr std::size_t piece = 16;

    ForwardingIndex result;
    std::vector<std::uint64_t> flows(data.counters(), 0);
    std::mutex merging;
    parallel_for(leaves, threads, piece, [&](std::size_t begin, std::size_t end) {
        Walker walker(*data.graph, *data.tables);
        std::vector<std::uint64_t> mine(data.counters(), 0);
        std::uint64_t all = 0;
        for (std::size_t leaf = begin; leaf < end; ++leaf)
            leaf_routes.each(leaf, walker, [&](const auto* path, auto length, std::uint32_t weight) {
                for (std::size_t hop = 0; hop < length; ++hop) mine[path[hop]] += weight;
                all += weight;
            });
        const std::lock_guard lock(merging);
        for (std::size_t i = 0; i < flows.size(); ++i) flows[i] += mine[i];
        result.routes += all - mine[lost];
        result.unrouted += mine[lost];
    });
    flows[lost] = flows[padding] = 0;

    std::vector<Summary> by_leaf(leaves);  // merged in order: the same digits for any number of threads
    parallel_for(leaves, threads, piece, [&](std::size_t begin, std::size_t end) {
        Walker walker(*data.graph, *data.tables);
        for (std::size_t leaf = begin; leaf < end; ++leaf)
            leaf_routes.each(leaf, walker, [&](const auto* path, auto length, std::uint32_t weight) {
                std::uint64_t most = 0;
                for (std::size_t hop = 0; hop < length; ++hop) most = std::max(most, flows[path[hop]]);
                if (most != 0) by_leaf[leaf].add(static_cast<double>(most), weight);
            });
    });
    for (const Summary& summary : by_leaf) result.along.merge(summary);
    result.routes_on.assign(flows.begin() + first_link, flows.end());
    return result;
}

}  // namespace loom::congestion
