#include "sim/fair_share.hpp"

#include <algorithm>
#include <cassert>

namespace loom::sim {
namespace {

// Division that rounds down for negative numbers too.
Rate divide_down(Rate a, std::uint32_t b) {
    const Rate quotient = a / static_cast<Rate>(b);
    return quotient - (a < 0 && quotient * static_cast<Rate>(b) != a ? 1 : 0);
}

constexpr auto later = [](const auto& a, const auto& b) { return a.share > b.share; };

}  // namespace

FairShare::FairShare(std::vector<Rate> capacities) : links_(capacities.size()) {
    for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void FairShare::settle(LinkState& link, Time now) {
    const std::int64_t span = (now - link.since).ps;
    if (span == 0) return;
    link.carried += Wide{link.load} * span;
    if (link.waiting != 0) link.idle += Wide{link.capacity - link.load} * span;
    link.since = now;
}

Wide FairShare::carried(Link link, Time now) const {
    return links_[link].carried + Wide{links_[link].load} * (now - links_[link].since).ps;
}

Time FairShare::waited(Link link, Time now) const {
    const LinkState& state = links_[link];
    if (state.capacity == 0) return {};
    Wide idle = state.idle;
    if (state.waiting != 0) idle += Wide{state.capacity - state.load} * (now - state.since).ps;
    return {static_cast<std::int64_t>(idle / state.capacity)};
}

void FairShare::change_waiting(const StreamState& stream, std::uint32_t hops, int by, Time now) {
    for (std::uint32_t hop = 0; hop < hops; ++hop) {
        LinkState& link = links_[stream.path[hop]];
        settle(link, now);
        link.waiting += static_cast<std::uint32_t>(by);
    }
}

FairShare::Stream FairShare::add(std::span<const Link> path) {
    Stream index = 0;
    if (free_.empty()) {
        index = static_cast<Stream>(streams_.size());
        streams_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    StreamState& stream = streams_[index];
    stream.path.assign(path.begin(), path.end());
    stream.place.resize(path.size());
    stream.rate = 0;
    stream.bottleneck = 0;
    stream.fresh = true;
    for (std::uint32_t hop = 0; hop < path.size(); ++hop) {
        std::vector<Entry>& list = links_[path[hop]].streams;
        stream.place[hop] = static_cast<std::uint32_t>(list.size());
        list.push_back({index, hop});
    }
    fresh_.push_back(index);
    return index;
}

void FairShare::remove(Stream index, Time now) {
    StreamState& stream = streams_[index];
    change_waiting(stream, stream.bottleneck, -1, now);
    for (std::uint32_t hop = 0; hop < stream.path.size(); ++hop) {
        LinkState& link = links_[stream.path[hop]];
        settle(link, now);
        link.load -= stream.rate;
        const Entry last = link.streams.back();
        link.streams[stream.place[hop]] = last;
        streams_[last.stream].place[last.hop] = stream.place[hop];
        link.streams.pop_back();
        if (link.level != 0 && !stream.fresh) left_.push_back(stream.path[hop]);
    }
    if (stream.fresh)
        std::erase(fresh_, index);
    else
        slowest_left_ = slowest_left_ == 0 ? stream.rate : std::min(slowest_left_, stream.rate);
    stream.fresh = false;
    free_.push_back(index);
}

// No stream with a lower rate can change: up to there, water rises as it did. A stream that left was held up first at
// its own rate, and one that came is held up where all streams of its path's links share alike, or later.
Rate FairShare::reach() const {
    Rate least = slowest_left_ == 0 ? INT64_MAX : slowest_left_;
    for (const Stream stream : fresh_)
        for (const Link link : streams_[stream].path)
            least = std::min(least, links_[link].capacity / static_cast<Rate>(links_[link].streams.size()));
    return least;
}

void FairShare::choose(Stream index) {
    StreamState& stream = streams_[index];
    if (stream.chosen == epoch_) return;
    stream.chosen = epoch_;
    chosen_.push_back(index);
}

void FairShare::visit(Link index) {
    LinkState& link = links_[index];
    if (link.visited == epoch_) return;
    link.visited = epoch_;
    for (const Entry& entry : link.streams)
        if (streams_[entry.stream].rate >= floor_) choose(entry.stream);
}

// Full links hand a change on to their other streams; the others have room, unless an attempt shows otherwise.
void FairShare::follow() {
    for (; followed_ < chosen_.size(); ++followed_)
        for (const Link link : streams_[chosen_[followed_]].path)
            if (follow_all_ || links_[link].level != 0) visit(link);
}

void FairShare::fix(const LinkState& link, Rate level) {
    for (const Entry& entry : link.streams) {
        StreamState& stream = streams_[entry.stream];
        if (stream.chosen != epoch_ || stream.fixed) continue;
        stream.fixed = true;
        stream.new_rate = level;
        stream.new_bottleneck = entry.hop;
        for (std::uint32_t hop = 0; hop < stream.path.size(); ++hop) {
            LinkState& other = links_[stream.path[hop]];
            other.residue -= level;
            --other.open;
            if (other.hit == round_) stream.new_bottleneck = std::min(stream.new_bottleneck, hop);
        }
        --open_streams_;
    }
}

// Streams that keep their rate must be slower than what a link allows the chosen ones, and not by rounding alone.
// Otherwise the link is followed, and true is returned.
bool FairShare::holds_others(Link index, Rate level) {
    LinkState& link = links_[index];
    if (link.visited == epoch_) return false;
    const Rate rounding = static_cast<Rate>(link.streams.size());
    const bool in_the_way = std::ranges::any_of(link.streams, [&](const Entry& entry) {
        const StreamState& stream = streams_[entry.stream];
        return stream.chosen != epoch_ && stream.rate > level - rounding;
    });
    if (in_the_way) visit(index);
    return in_the_way;
}

// Stops the streams of all links that are full at this level. False when a stream that was thought to keep its rate
// is in the way.
bool FairShare::take_round(Rate level) {
    bool stands = true;
    for (const Link index : full_) {
        links_[index].hit = round_;
        links_[index].new_level = level;
        if (holds_others(index, level)) stands = false;
    }
    if (!stands) return false;
    for (const Link link : full_) fix(links_[link], level);
    return true;
}

// A link that was never full has room to spare, or is filled by its streams to within rounding: then the fastest is
// what it allows.
bool FairShare::leftovers_stand() {
    bool stands = true;
    for (const Link index : involved_) {
        const LinkState& link = links_[index];
        if (link.new_level != 0 || link.residue >= static_cast<Rate>(link.streams.size())) continue;
        Rate fastest = 0;
        for (const Entry& entry : link.streams) {
            const StreamState& stream = streams_[entry.stream];
            fastest = std::max(fastest, stream.chosen == epoch_ ? stream.new_rate : stream.rate);
        }
        if (holds_others(index, fastest)) stands = false;
    }
    return stands;
}

// Lets the water rise in the chosen streams while all others keep their rates.
bool FairShare::attempt() {
    ++attempt_;
    involved_.clear();
    for (const Stream index : chosen_) {
        StreamState& stream = streams_[index];
        stream.fixed = false;
        for (const Link l : stream.path) {
            LinkState& link = links_[l];
            if (link.involved != attempt_) {
                link.involved = attempt_;
                link.open = 0;
                link.residue = link.capacity - link.load;
                link.new_level = 0;
                involved_.push_back(l);
            }
            ++link.open;
            link.residue += stream.rate;
        }
    }
    open_streams_ = chosen_.size();
    heap_.clear();
    for (const Link l : involved_) heap_.push_back({divide_down(links_[l].residue, links_[l].open), l});
    std::make_heap(heap_.begin(), heap_.end(), later);
    // Shares only grow, so that an old key is too small at worst.
    while (open_streams_ != 0) {
        full_.clear();
        ++round_;
        Rate level = 0;
        while (!heap_.empty() && (full_.empty() || heap_.front().share <= level)) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const Link l = heap_.back().link;
            const Rate key = heap_.back().share;
            heap_.pop_back();
            if (links_[l].open == 0) continue;
            const Rate share = divide_down(links_[l].residue, links_[l].open);
            if (share != key) {
                heap_.push_back({share, l});
                std::push_heap(heap_.begin(), heap_.end(), later);
                continue;
            }
            level = share;
            full_.push_back(l);
        }
        if (!take_round(level)) return false;
    }
    return leftovers_stand();
}

void FairShare::commit(Time now) {
    for (const Stream index : chosen_) {
        StreamState& stream = streams_[index];
        const Rate difference = stream.new_rate - stream.rate;
        if (stream.new_bottleneck != stream.bottleneck) {
            change_waiting(stream, stream.bottleneck, -1, now);
            change_waiting(stream, stream.new_bottleneck, 1, now);
            stream.bottleneck = stream.new_bottleneck;
        }
        stream.fresh = false;
        if (difference == 0) continue;
        changed_.push_back(index);
        stream.rate = stream.new_rate;
        for (const Link l : stream.path) {
            settle(links_[l], now);
            links_[l].load += difference;
        }
    }
#ifndef NDEBUG
    for (const Link l : involved_) assert(links_[l].load >= 0 && links_[l].load <= links_[l].capacity);
#endif
    for (const Link l : involved_) links_[l].level = links_[l].new_level;
    for (const Link l : left_)
        if (links_[l].involved != attempt_) links_[l].level = 0;
}

std::span<const FairShare::Stream> FairShare::solve(Time now) {
    constexpr int most_attempts = 4;
    changed_.clear();
    if (fresh_.empty() && slowest_left_ == 0) return changed_;
    floor_ = reach();
    ++epoch_;
    chosen_.clear();
    followed_ = 0;
    follow_all_ = false;
    for (const Stream stream : fresh_) choose(stream);
    for (const Link link : left_) visit(link);
    follow();
    for (int tries = 1; !attempt(); ++tries) {
        if (tries == most_attempts) {
            follow_all_ = true;
            followed_ = 0;
        }
        follow();
    }
    commit(now);
    fresh_.clear();
    left_.clear();
    slowest_left_ = 0;
    return changed_;
}

}  // namespace loom::sim
