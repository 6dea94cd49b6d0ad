#include "routing/mend.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "loom/routing/tables.hpp"

namespace loom::routing {

Mender::Mender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used)
    : graph_(graph), used_(used), adjacency_(graph), pieces_(find_pieces(graph)) {}

ShortestMender::ShortestMender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used)
    : Mender(graph, used), hops_(graph.switch_count()) {}

void ShortestMender::find_working(const Destination& destination, std::span<const std::uint8_t> ports) {
    constexpr std::uint16_t unknown = no_path - 1;
    std::fill(hops_.begin(), hops_.end(), unknown);
    broken_.clear();
    hops_[destination.sw] = 0;
    for (SwitchIndex start = 0; start < graph_.switch_count(); ++start) {
        path_.clear();
        SwitchIndex s = start;
        while (s != none && hops_[s] == unknown) {
            hops_[s] = no_path;
            path_.push_back(s);
            s = follow(s, ports[s]);
        }
        std::uint16_t hops = s == none ? no_path : hops_[s];
        for (std::size_t i = path_.size(); i-- > 0;) {
            if (hops != no_path) ++hops;
            hops_[path_[i]] = hops;
            if (hops == no_path && pieces_.of[path_[i]] == pieces_.of[destination.sw]) broken_.push_back(path_[i]);
        }
    }
}

void ShortestMender::mend(const Destination& destination, std::span<std::uint8_t> ports) {
    ports[destination.sw] = destination.port;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
        if (pieces_.of[s] != pieces_.of[destination.sw]) ports[s] = no_route;
    find_working(destination, ports);
    if (broken_.empty()) return;
    old_.assign(ports.begin(), ports.end());

    // (changes up to here, is one itself, hops, entries on the channel, switch, port): the least comes first.
    using Offer = std::tuple<unsigned, bool, unsigned, std::uint32_t, SwitchIndex, std::uint8_t>;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    const auto offer = [&](SwitchIndex from, ChannelIndex channel, unsigned changes, unsigned hops) {
        const auto port = static_cast<std::uint8_t>(graph_.port(channel));
        const bool change = port != old_[from];
        offers.emplace(changes + (change ? 1 : 0), change, hops + 1, used_[channel], from, port);
    };
    for (const SwitchIndex s : broken_)
        for (const auto& edge : adjacency_.of(s))
            if (hops_[edge.to] != no_path) offer(s, edge.channel, 0, hops_[edge.to]);
    while (!offers.empty()) {
        const auto [changes, change, hops, load, s, port] = offers.top();
        offers.pop();
        if (hops_[s] != no_path) continue;
        hops_[s] = static_cast<std::uint16_t>(hops);
        ports[s] = port;
        for (const auto& edge : adjacency_.of(s))
            if (hops_[edge.to] == no_path) offer(edge.to, graph_.reverse(edge.channel), changes, hops);
    }
    restore(destination, old_, ports);
}

// The search counts changes along each route by itself; together some old entries may do after all.
void ShortestMender::restore(const Destination& destination, std::span<const std::uint8_t> old,
                             std::span<std::uint8_t> ports) const {
    for (const SwitchIndex s : broken_) {
        if (ports[s] == old[s]) continue;
        SwitchIndex at = follow(s, old[s]);
        for (std::uint32_t steps = 0; at != none && at != s && at != destination.sw && steps < graph_.switch_count();
             ++steps)
            at = follow(at, ports[at]);
        if (at == destination.sw) ports[s] = old[s];
    }
}

UpDownMender::UpDownMender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used, const Ascent& ascent)
    : Mender(graph, used),
      ascent_(ascent),
      bears_(graph.switch_count(), 0),
      way_(graph.switch_count()),
      came_(graph.switch_count()),
      hops_(graph.switch_count()) {
    for (const Destination& d : graph.host_destinations()) bears_[d.sw] = 1;
}

bool UpDownMender::agrees(const Destination& destination, std::span<const std::uint8_t> ports) {
    std::fill(came_.begin(), came_.end(), Came::never);
    for (SwitchIndex source = 0; source < graph_.switch_count(); ++source) {
        if (bears_[source] == 0) continue;
        Came came = Came::from_below;
        for (SwitchIndex s = source; s != destination.sw && came_[s] < came;) {
            came_[s] = came;
            const SwitchIndex next = follow(s, ports[s]);
            if (next == none) break;
            const bool up = ascent_.up(s, next);
            if (up && came == Came::from_above) return false;
            came = up ? Came::from_below : Came::from_above;
            s = next;
        }
    }
    return true;
}

bool UpDownMender::choose(SwitchIndex s, std::uint8_t& port, bool above) {
    ChannelIndex best = none;
    std::pair<std::uint32_t, std::uint32_t> least;
    for (const auto& edge : adjacency_.of(s)) {
        const Way way = way_[edge.to];
        if (ascent_.up(s, edge.to) != above) continue;
        if (way != Way::down && !(above && way == Way::up)) continue;
        const std::pair score(hops_[edge.to], used_[edge.channel]);
        if (best != none && score >= least) continue;
        best = edge.channel;
        least = score;
    }
    if (best == none) return false;
    port = static_cast<std::uint8_t>(graph_.port(best));
    hops_[s] = least.first + 1;
    way_[s] = above ? Way::up : Way::down;
    return true;
}

bool UpDownMender::find_ways(const Destination& destination, std::span<std::uint8_t> ports, Prefer prefer) {
    const std::uint32_t size = graph_.switch_count();
    std::fill(way_.begin(), way_.end(), Way::unknown);
    ports[destination.sw] = destination.port;
    way_[destination.sw] = Way::down;
    hops_[destination.sw] = 0;
    const auto keep = [&](SwitchIndex s, SwitchIndex next, Way way) {
        way_[s] = way;
        hops_[s] = hops_[next] + 1;
    };
    for (std::uint32_t place = ascent_.place[destination.sw] + 1; place < size; ++place) {
        const SwitchIndex s = ascent_.by_place[place];
        const SwitchIndex next = follow(s, ports[s]);
        if (next != none && !ascent_.up(s, next) && way_[next] == Way::down)
            keep(s, next, Way::down);
        else if (next == none || !ascent_.up(s, next) || prefer == Prefer::ways_down)
            (void)choose(s, ports[s], false);
    }
    left_.clear();
    bool complete = true;
    for (std::uint32_t place = size; place-- > 0;) {
        const SwitchIndex s = ascent_.by_place[place];
        if (way_[s] != Way::unknown) continue;
        if (pieces_.of[s] != pieces_.of[destination.sw]) {
            ports[s] = no_route;
            continue;
        }
        const SwitchIndex next = follow(s, ports[s]);
        if (next != none && ascent_.up(s, next) && way_[next] != Way::unknown)
            keep(s, next, Way::up);
        else if (!choose(s, ports[s], true) && !choose(s, ports[s], false)) {
            left_.push_back(s);
            complete = complete && (bears_[s] == 0 || destination.port == 0);
        }
    }
    return complete;
}

void UpDownMender::mend(const Destination& destination, std::span<std::uint8_t> ports) {
    old_.assign(ports.begin(), ports.end());
    if (!find_ways(destination, ports, Prefer::old_entries)) {
        std::copy(old_.begin(), old_.end(), ports.begin());
        (void)find_ways(destination, ports, Prefer::ways_down);
    }
    join_astray(ports);
}

// Switches without an up/down route, which no host's packets to hosts pass: first by their old entries, then by
// any cable, one at a time.
void UpDownMender::join_astray(std::span<std::uint8_t> ports) {
    const auto settle = [&](SwitchIndex s, SwitchIndex next) {
        way_[s] = Way::astray;
        hops_[s] = hops_[next] + 1;
    };
    for (bool progress = true; progress && !left_.empty();) {
        progress = false;
        std::erase_if(left_, [&](SwitchIndex s) {
            const SwitchIndex next = follow(s, ports[s]);
            if (next == none || next == s || way_[next] == Way::unknown) return false;
            settle(s, next);
            progress = true;
            return true;
        });
        if (progress) continue;
        for (auto it = left_.begin(); it != left_.end() && !progress; ++it) {
            ChannelIndex best = none;
            std::pair<std::uint32_t, std::uint32_t> least;
            for (const auto& edge : adjacency_.of(*it)) {
                const std::pair score(hops_[edge.to], used_[edge.channel]);
                if (way_[edge.to] == Way::unknown || (best != none && score >= least)) continue;
                best = edge.channel;
                least = score;
            }
            if (best == none) continue;
            ports[*it] = static_cast<std::uint8_t>(graph_.port(best));
            settle(*it, graph_.next(best));
            left_.erase(it);
            progress = true;
            break;
        }
    }
}

}  // namespace loom::routing
