// Counting flows on links, a stage at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "congestion/paths.hpp"
#include "loom/congestion/contention.hpp"

namespace loom::congestion {

// The counters of one stage. Clearing costs a pass over the links, little beside the pairs of a full stage.
class Loads {
public:
    Loads(const Routes::Data& data, HostLinks host_links)
        : data_(&data), host_links_(host_links), flows_(data.counters(), 0), walker_(*data.graph, *data.tables) {}

    // Replaces what was there. Returns the pairs that did not enter the network.
    std::size_t count(std::span<const traffic::Pair> pairs) {
        std::fill(flows_.begin(), flows_.end(), 0u);
        std::uint32_t* flows = flows_.data();
        const std::size_t stay =
            each(pairs, [&](const RankPlace& from, const RankPlace& to, const auto* path, auto length) {
                for (std::size_t hop = 0; hop < length; ++hop) ++flows[path[hop]];
                if (host_links_ == HostLinks::count && path[0] != lost) {
                    ++flows[data_->into_switch(from.host)];
                    ++flows[data_->into_host(to.host)];
                }
            });
        lost_ = flows_[lost];
        flows_[lost] = flows_[padding] = 0;
        return stay;
    }

    template <class Visit>
    std::size_t each(std::span<const traffic::Pair> pairs, Visit&& visit) {
        return for_each_path(*data_, pairs, walker_, visit);
    }

    [[nodiscard]] std::span<const std::uint32_t> flows() const { return flows_; }  // by Counter
    [[nodiscard]] std::uint32_t lost_pairs() const { return lost_; }
    [[nodiscard]] std::uint32_t largest() const {
        std::uint32_t result = 0;
        for (const std::uint32_t f : flows_) result = std::max(result, f);
        return result;
    }

    // The largest load along a path, for the pairs just counted; 1 when it crosses no loaded link.
    template <class Width, class Length>
    [[nodiscard]] std::uint32_t congestion(const RankPlace& from, const RankPlace& to, const Width* path,
                                           Length length) const {
        std::uint32_t result = 1;
        for (std::size_t hop = 0; hop < length; ++hop) result = std::max(result, flows_[path[hop]]);
        if (host_links_ == HostLinks::count)
            result = std::max({result, flows_[data_->into_switch(from.host)], flows_[data_->into_host(to.host)]});
        return result;
    }

private:
    const Routes::Data* data_;
    HostLinks host_links_;
    std::vector<std::uint32_t> flows_;
    Walker walker_;
    std::uint32_t lost_ = 0;
};

void check_ranks(const Routes& routes, const traffic::Pattern& pattern);

}  // namespace loom::congestion
