#include "congestion/swap_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "congestion/loads.hpp"
#include "loom/base/error.hpp"

namespace loom::congestion {
namespace {

constexpr std::size_t most_hops = 50'000'000;  // 1 GB of lists

}  // namespace

SwapLoads::SwapLoads(const Routes& routes, const traffic::Pattern& pattern, Duplex duplex, Track track)
    : data_(&routes.data()), track_(track), walker_(*data_->graph, *data_->tables), rounds_(pattern.stages()) {
    check_ranks(routes, pattern);
    const routing::SwitchGraph& graph = *data_->graph;
    link_of_.assign(data_->counters(), nothing);
    for (routing::ChannelIndex c = 0; c < graph.channel_count(); ++c) {
        if (graph.next(c) == routing::none) continue;
        const bool second = duplex == Duplex::half && graph.reverse(c) < c;
        link_of_[first_link + c] =
            second ? link_of_[first_link + graph.reverse(c)] : static_cast<std::uint32_t>(links_++);
    }

    std::vector<traffic::Pair> pairs;
    for (std::size_t round = 0; round < pattern.stages(); ++round) {
        pattern.stage(round, pairs);
        if (messages_.size() + pairs.size() > most_hops)
            throw Error(fmt::format("the pattern {} has too many messages to search for a mapping", pattern.name()));
        for (const traffic::Pair& pair : pairs)
            messages_.push_back({static_cast<std::uint32_t>(round), pair.from.value, pair.to.value});
    }
    // Where paths are not kept their greatest length is not known before: insert() refuses a longer one.
    stride_ = std::max<std::size_t>(data_->stride, 8);
    if (std::max(messages_.size() * stride_, rounds_.size() * links_) > most_hops)
        throw Error(fmt::format("the pattern {} has too many messages to search for a mapping", pattern.name()));

    first_of_.assign(routes.ranks() + 1, 0);
    for (const Message& m : messages_) {
        ++first_of_[m.from + 1];
        ++first_of_[m.to + 1];
    }
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
    of_rank_.resize(messages_.size() * 2);
    std::vector<std::uint32_t> at(first_of_.begin(), first_of_.end() - 1);
    for (std::uint32_t i = 0; i < messages_.size(); ++i) {
        of_rank_[at[messages_[i].from]++] = i;
        of_rank_[at[messages_[i].to]++] = i;
    }

    mapping_.resize(routes.ranks());
    std::iota(mapping_.begin(), mapping_.end(), 0u);
    load_.assign(rounds_.size() * links_, 0);
    length_.assign(messages_.size(), nothing);
    path_.resize(messages_.size() * stride_);
    if (track_ == Track::routes) {
        head_.assign(load_.size(), nothing);
        after_.resize(path_.size());
        before_.resize(path_.size());
        congestion_.assign(messages_.size(), 0);
        is_dirty_.assign(messages_.size(), 0);
        stamp_of_.assign(load_.size(), 0);
    }
    begin();
    for (std::uint32_t i = 0; i < messages_.size(); ++i) insert(i);
    refresh();
}

void SwapLoads::begin() {
    ++stamp_;
    loads_before_.clear();
    congestion_before_.clear();
    routes_before_ = routes_;
    touched_.clear();
}

void SwapLoads::set(std::span<const std::uint32_t> mapping) {
    begin();
    for (std::uint32_t i = 0; i < messages_.size(); ++i) remove(i);
    mapping_.assign(mapping.begin(), mapping.end());
    for (std::uint32_t i = 0; i < messages_.size(); ++i) insert(i);
    refresh();
}

void SwapLoads::swap(std::uint32_t a, std::uint32_t b) {
    begin();
    const auto touch = [this](std::uint32_t message) {  // one from a rank to itself comes twice
        if (touched_.empty() || touched_.back() != message) touched_.push_back(message);
    };
    for (std::uint32_t k = first_of_[a]; k < first_of_[a + 1]; ++k) touch(of_rank_[k]);
    for (std::uint32_t k = first_of_[b]; k < first_of_[b + 1]; ++k) {
        const Message& m = messages_[of_rank_[k]];
        if (m.from != a && m.to != a) touch(of_rank_[k]);
    }
    length_before_.clear();
    path_before_.clear();
    for (const std::uint32_t message : touched_) {
        length_before_.push_back(length_[message]);
        const auto path = path_.begin() + static_cast<std::ptrdiff_t>(message * stride_);
        path_before_.insert(path_before_.end(), path, path + static_cast<std::ptrdiff_t>(stride_));
        remove(message);
    }
    swapped_a_ = a;
    swapped_b_ = b;
    std::swap(mapping_[a], mapping_[b]);
    for (const std::uint32_t message : touched_) insert(message);
    refresh();
}

void SwapLoads::undo() {
    for (const std::uint32_t message : touched_)
        if (length_[message] != nothing) detach(message);
    std::swap(mapping_[swapped_a_], mapping_[swapped_b_]);
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        length_[touched_[i]] = length_before_[i];
        if (length_before_[i] == nothing) continue;
        const auto path = path_before_.begin() + static_cast<std::ptrdiff_t>(i * stride_);
        std::copy_n(path, length_before_[i], path_.begin() + static_cast<std::ptrdiff_t>(touched_[i] * stride_));
        attach(touched_[i]);
    }
    if (track_ == Track::routes) {
        for (std::size_t i = congestion_before_.size(); i-- > 0;)
            congestion_[congestion_before_[i].at] = congestion_before_[i].value;
        routes_ = routes_before_;
    }
    touched_.clear();
}

void SwapLoads::insert(std::uint32_t message) {
    const Message& m = messages_[message];
    const traffic::Pair pair{Rank{mapping_[m.from]}, Rank{mapping_[m.to]}};
    for_each_path(*data_, std::span(&pair, 1), walker_,
                  [&](const RankPlace&, const RankPlace&, const auto* counters, std::size_t most) {
                      if (counters[0] == lost) return;
                      std::size_t length = 0;
                      while (length < most && counters[length] != padding) ++length;
                      if (length > stride_) throw Error("a route has too many hops to search for a mapping");
                      length_[message] = static_cast<std::uint32_t>(length);
                      std::uint32_t* path = path_.data() + message * stride_;
                      for (std::size_t hop = 0; hop < length; ++hop) path[hop] = link_of_[counters[hop]];
                      attach(message);
                      if (track_ == Track::routes) {
                          is_dirty_[message] = 1;
                          dirty_.push_back(message);
                      }
                  });
}

void SwapLoads::remove(std::uint32_t message) {
    if (length_[message] == nothing) return;
    detach(message);
    length_[message] = nothing;
    if (track_ == Track::routes) {
        congestion_before_.push_back({message, congestion_[message]});
        routes_ -= congestion_[message];
        congestion_[message] = 0;
    }
}

// The loads of a message's path, and its place in the lists of those who cross a slot.
void SwapLoads::attach(std::uint32_t message) {
    const Message& m = messages_[message];
    const std::uint32_t length = length_[message];
    const std::uint32_t* path = path_.data() + message * stride_;
    traversals_ += length + 2;
    for (std::uint32_t hop = 0; hop < length; ++hop) {
        const std::size_t s = slot(m.round, path[hop]);
        change(m.round, s, +1);
        if (track_ == Track::loads) continue;
        const auto position = static_cast<std::uint32_t>(message * stride_ + hop);
        after_[position] = head_[s];
        before_[position] = nothing;
        if (head_[s] != nothing) before_[head_[s]] = position;
        head_[s] = position;
    }
    if (length == 0) {
        Round& round = rounds_[m.round];
        maxima_ -= round.maximum();
        ++round.inside;
        maxima_ += round.maximum();
    }
}

void SwapLoads::detach(std::uint32_t message) {
    const Message& m = messages_[message];
    const std::uint32_t length = length_[message];
    const std::uint32_t* path = path_.data() + message * stride_;
    traversals_ -= length + 2;
    for (std::uint32_t hop = 0; hop < length; ++hop) {
        const std::size_t s = slot(m.round, path[hop]);
        if (track_ == Track::routes) {
            const auto position = static_cast<std::uint32_t>(message * stride_ + hop);
            (before_[position] == nothing ? head_[s] : after_[before_[position]]) = after_[position];
            if (after_[position] != nothing) before_[after_[position]] = before_[position];
        }
        change(m.round, s, -1);
    }
    if (length == 0) {
        Round& round = rounds_[m.round];
        maxima_ -= round.maximum();
        --round.inside;
        maxima_ += round.maximum();
    }
}

void SwapLoads::change(std::uint32_t in, std::size_t s, int delta) {
    Round& round = rounds_[in];
    const std::uint32_t old = load_[s];
    const std::uint32_t now = delta > 0 ? old + 1 : old - 1;
    load_[s] = now;
    squares_ += std::uint64_t{now} * now - std::uint64_t{old} * old;
    maxima_ -= round.maximum();
    if (round.slots_by_load.size() <= now) round.slots_by_load.resize(now + 1, 0);
    if (old != 0) --round.slots_by_load[old];
    if (now != 0) ++round.slots_by_load[now];
    if (now > round.largest) round.largest = now;
    if (old == round.largest && now < old && round.slots_by_load[old] == 0) round.largest = now;
    maxima_ += round.maximum();
    if (track_ == Track::loads || stamp_of_[s] == stamp_) return;
    stamp_of_[s] = stamp_;
    loads_before_.push_back({s, old});
}

void SwapLoads::refresh() {
    // A route's congestion changes only where a load rises above it or was it and falls.
    for (const auto& [s, before] : loads_before_) {
        const std::uint32_t now = load_[s];
        if (now == before) continue;
        for (std::uint32_t at = head_[s]; at != nothing; at = after_[at]) {
            const auto message = static_cast<std::uint32_t>(at / stride_);
            if (is_dirty_[message] != 0 ||
                (now > before ? now <= congestion_[message] : congestion_[message] != before))
                continue;
            is_dirty_[message] = 1;
            dirty_.push_back(message);
        }
    }
    for (const std::uint32_t message : dirty_) {
        is_dirty_[message] = 0;
        if (length_[message] == nothing) continue;
        const std::uint32_t* path = path_.data() + message * stride_;
        std::uint32_t most = 1;
        for (std::uint32_t hop = 0; hop < length_[message]; ++hop)
            most = std::max(most, load_[slot(messages_[message].round, path[hop])]);
        if (most == congestion_[message]) continue;
        congestion_before_.push_back({message, congestion_[message]});
        routes_ += most;
        routes_ -= congestion_[message];
        congestion_[message] = most;
    }
    dirty_.clear();
}

}  // namespace loom::congestion
