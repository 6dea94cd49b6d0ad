#include "routing/lane_order.hpp"

#include <algorithm>

namespace loom::routing {

LaneOrder::LaneOrder(const SwitchGraph& graph, std::vector<std::uint32_t> start)
    : graph_(&graph), waits_(graph), refused_(graph), rank_(std::move(start)), seen_(graph.channel_count(), 0) {}

bool LaneOrder::add(ChannelIndex from, ChannelIndex to) {
    const unsigned port = graph_->port(to);
    if (waits_.has(from, port)) return true;
    if (rank_[from] > rank_[to]) {
        if (refused_.has(from, port)) return false;
        if (!search_forward(from, to)) {
            refused_.add(from, port);
            return false;
        }
        search_backward(from, rank_[to]);
        rearrange();
    }
    waits_.add(from, port);
    return true;
}

// Collects what `to` leads to among the channels ranked below `from`; false when `from` is among it.
bool LaneOrder::search_forward(ChannelIndex from, ChannelIndex to) {
    ++stamp_;
    after_.clear();
    stack_.assign(1, to);
    seen_[to] = stamp_;
    while (!stack_.empty()) {
        const ChannelIndex c = stack_.back();
        stack_.pop_back();
        after_.push_back(c);
        const SwitchIndex at = graph_->next(c);
        const bool free = waits_.each(c, [&](unsigned port) {
            const ChannelIndex next = graph_->channel(at, port);
            if (next == from) return false;
            if (seen_[next] != stamp_ && rank_[next] < rank_[from]) {
                seen_[next] = stamp_;
                stack_.push_back(next);
            }
            return true;
        });
        if (!free) return false;
    }
    return true;
}

// Collects what leads to `from` among the channels ranked above `lowest`.
void LaneOrder::search_backward(ChannelIndex from, std::uint32_t lowest) {
    before_.clear();
    stack_.assign(1, from);
    seen_[from] = stamp_;
    while (!stack_.empty()) {
        const ChannelIndex c = stack_.back();
        stack_.pop_back();
        before_.push_back(c);
        const SwitchIndex at = graph_->owner(c);
        const unsigned port = graph_->port(c);
        for (unsigned p = 1; p <= graph_->port_count(at); ++p) {
            const ChannelIndex in = graph_->reverse(graph_->channel(at, p));
            if (in == none || seen_[in] == stamp_ || rank_[in] <= lowest || !waits_.has(in, port)) continue;
            seen_[in] = stamp_;
            stack_.push_back(in);
        }
    }
}

// The same ranks for the same channels, those before `from` first.
void LaneOrder::rearrange() {
    const auto by_rank = [this](ChannelIndex a, ChannelIndex b) { return rank_[a] < rank_[b]; };
    std::sort(before_.begin(), before_.end(), by_rank);
    std::sort(after_.begin(), after_.end(), by_rank);
    before_.insert(before_.end(), after_.begin(), after_.end());
    ranks_.clear();
    for (const ChannelIndex c : before_) ranks_.push_back(rank_[c]);
    std::sort(ranks_.begin(), ranks_.end());
    for (std::size_t i = 0; i < before_.size(); ++i) rank_[before_[i]] = ranks_[i];
}

}  // namespace loom::routing
