#include "routing/lane_order.hpp"

#include <algorithm>

namespace loom::routing {

LaneOrder::LaneOrder(const SwitchGraph& graph, std::vector<std::uint32_t> start)
    : graph_(&graph),
      waits_(graph),
      comes_(graph),
      refused_(graph),
      rank_(std::move(start)),
      seen_(graph.channel_count(), 0) {}

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
    comes_.add(to, graph_->port(graph_->reverse(from)));
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
        after_.push_back(ranked(c));
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
        before_.push_back(ranked(c));
        const SwitchIndex at = graph_->owner(c);
        comes_.each(c, [&](unsigned port) {
            const ChannelIndex in = graph_->reverse(graph_->channel(at, port));
            if (seen_[in] != stamp_ && rank_[in] > lowest) {
                seen_[in] = stamp_;
                stack_.push_back(in);
            }
            return true;
        });
    }
}

// The same ranks for the same channels, those before `from` first.
void LaneOrder::rearrange() {
    std::sort(before_.begin(), before_.end());
    std::sort(after_.begin(), after_.end());
    all_.resize(before_.size() + after_.size());
    std::merge(before_.begin(), before_.end(), after_.begin(), after_.end(), all_.begin());
    auto free = all_.begin();
    for (const auto* part : {&before_, &after_})
        for (const Ranked entry : *part)
            rank_[static_cast<ChannelIndex>(entry)] = static_cast<std::uint32_t>(*free++ >> 32);
}

}  // namespace loom::routing
