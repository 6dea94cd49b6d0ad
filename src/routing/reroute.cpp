#include "loom/routing/reroute.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/routing/check.hpp"
#include "routing/lane_order.hpp"
#include "routing/mend.hpp"

namespace loom::routing {
namespace {

struct Target {
    Lid lid;
    std::uint32_t destination;
};

// Visits LID by LID with the entries of all switches side by side; 64 LIDs are gathered at a time, a cache line of
// each row.
class ByLid {
public:
    explicit ByLid(const SwitchGraph& graph) : graph_(graph) {
        for (std::uint32_t i = 0; i < graph.destinations().size(); ++i)
            for (unsigned k = 0; k < graph.destinations()[i].lid_count(); ++k)
                targets_.push_back({Lid{static_cast<std::uint16_t>(graph.destinations()[i].lid.value + k)}, i});
        std::sort(targets_.begin(), targets_.end(), [](const Target& a, const Target& b) { return a.lid < b.lid; });
    }

    // visit(destination, lid, ports); what it does to the ports is written back. Stops when it returns false.
    template <class Visit>
    bool each(Tables& tables, Visit&& visit) const {
        const std::uint32_t size = graph_.switch_count();
        std::vector<std::uint8_t> columns(block * size);
        for (std::size_t first = 0; first < targets_.size(); first += block) {
            const auto group = std::span(targets_).subspan(first, std::min(block, targets_.size() - first));
            for (SwitchIndex s = 0; s < size; ++s)
                for (std::size_t k = 0; k < group.size(); ++k) columns[k * size + s] = tables.port(s, group[k].lid);
            bool go_on = true;
            for (std::size_t k = 0; k < group.size() && go_on; ++k)
                go_on = visit(graph_.destinations()[group[k].destination], group[k].lid,
                              std::span(columns).subspan(k * size, size));
            for (SwitchIndex s = 0; s < size; ++s)
                for (std::size_t k = 0; k < group.size(); ++k) tables.set(s, group[k].lid, columns[k * size + s]);
            if (!go_on) return false;
        }
        return true;
    }

    [[nodiscard]] std::size_t lids() const { return targets_.size(); }

private:
    static constexpr std::size_t block = 64;
    const SwitchGraph& graph_;
    std::vector<Target> targets_;
};

std::vector<std::uint8_t> switches_with_hosts(const SwitchGraph& graph) {
    std::vector<std::uint8_t> bears(graph.switch_count(), 0);
    for (const Destination& d : graph.host_destinations()) bears[d.sw] = 1;
    return bears;
}

// As wide as the fabric's LIDs, whatever the old tables knew.
Tables widened(const SwitchGraph& graph, const Tables& old) {
    Tables tables(graph.switch_count(), graph.top_lid());
    if (old.has_lanes()) tables.use_lanes();
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const auto from = old.row(s);
        const auto to = tables.row(s);
        std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
        for (std::size_t lid = 0; old.has_lanes() && lid < std::min(from.size(), to.size()); ++lid)
            tables.set_lane(s, Lid{static_cast<std::uint16_t>(lid)}, old.lane(s, Lid{static_cast<std::uint16_t>(lid)}));
    }
    tables.engine = old.engine;
    return tables;
}

class Repair {
public:
    Repair(const SwitchGraph& graph, const Ascent& ascent, const RouteOptions& options)
        : graph_(graph),
          options_(options),
          used_(graph.channel_count(), 0),
          shortest_(graph, used_),
          up_down_(graph, used_, ascent),
          by_lid_(graph) {}

    // Whether the routes between hosts go up first and then down, all of them.
    bool goes_up_then_down(Tables& tables) {
        return by_lid_.each(tables, [&](const Destination& d, Lid, std::span<std::uint8_t> ports) {
            return d.port == 0 || up_down_.agrees(d, ports);
        });
    }

    void mend(Tables& tables, Mending mending) {
        count_entries(tables);
        std::size_t done = 0;
        by_lid_.each(tables, [&](const Destination& d, Lid, std::span<std::uint8_t> ports) {
            before_.assign(ports.begin(), ports.end());
            shortest_.mend(d, ports);
            // Nobody promises anything about packets to switches.
            if (mending != Mending::shortest && d.port != 0 && !up_down_.agrees(d, ports)) {
                std::copy(before_.begin(), before_.end(), ports.begin());
                up_down_.mend(d, ports);
            }
            if (d.port != 0) note_changes(ports);
            if (options_.progress && ++done % 256 == 0)
                options_.progress(static_cast<double>(done) / static_cast<double>(by_lid_.lids()));
            return true;
        });
    }

private:
    void count_entries(const Tables& tables) {
        std::fill(used_.begin(), used_.end(), 0);
        for (const Destination& d : graph_.host_destinations())
            for (unsigned k = 0; k < d.lid_count(); ++k)
                for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
                    if (const std::uint8_t port = tables.port(s, Lid{static_cast<std::uint16_t>(d.lid.value + k)});
                        port <= graph_.port_count(s))
                        ++used_[graph_.channel(s, port)];
    }

    void note_changes(std::span<const std::uint8_t> ports) {
        for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
            if (before_[s] == ports[s]) continue;
            if (before_[s] <= graph_.port_count(s)) --used_[graph_.channel(s, before_[s])];
            if (ports[s] <= graph_.port_count(s)) ++used_[graph_.channel(s, ports[s])];
        }
    }

    const SwitchGraph& graph_;
    const RouteOptions& options_;
    std::vector<std::uint32_t> used_;  // entries for host LIDs by channel
    ShortestMender shortest_;
    UpDownMender up_down_;
    ByLid by_lid_;
    std::vector<std::uint8_t> before_;
};

// Gives every route whose way changed the first lane that takes it; false when one fits nowhere.
bool mend_lanes(const SwitchGraph& graph, const Tables& old, Tables& tables, unsigned most_lanes) {
    const auto bears = switches_with_hosts(graph);
    std::vector<std::uint32_t> start(graph.channel_count());
    for (std::uint32_t c = 0; c < start.size(); ++c) start[c] = c;
    std::vector<LaneOrder> lanes(std::max(most_lanes, old.lane_count()), LaneOrder(graph, start));
    const auto fits = [&](SwitchIndex s, const Destination& d, Lid lid, unsigned lane) {
        std::vector<std::pair<ChannelIndex, ChannelIndex>> added;
        ChannelIndex from = graph.channel(s, tables.port(s, lid));
        for (SwitchIndex at = graph.next(from); at != d.sw; at = graph.next(from)) {
            const ChannelIndex to = graph.channel(at, tables.port(at, lid));
            if (!lanes[lane].has(from, to)) {
                if (!lanes[lane].add(from, to)) {
                    for (const auto& [a, b] : added) lanes[lane].remove(a, b);
                    return false;
                }
                added.emplace_back(from, to);
            }
            from = to;
        }
        return true;
    };
    struct Route {
        SwitchIndex s;
        std::uint32_t destination;
        Lid lid;
    };
    std::vector<Route> homeless;
    for (std::uint32_t i = 0; i < graph.destinations().size(); ++i) {
        const Destination& d = graph.destinations()[i];
        for (unsigned k = 0; k < d.lid_count(); ++k) {
            const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
            for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
                if (bears[s] == 0 || s == d.sw || tables.port(s, lid) == no_route) continue;
                bool same = true;
                for (SwitchIndex at = s; at != d.sw && same; at = graph.next(graph.channel(at, tables.port(at, lid))))
                    same = tables.port(at, lid) == old.port(at, lid);
                if (!same || !fits(s, d, lid, old.lane(s, lid))) homeless.push_back({s, i, lid});
            }
        }
    }
    for (const Route& route : homeless) {
        unsigned lane = 0;
        while (lane < lanes.size() && !fits(route.s, graph.destinations()[route.destination], route.lid, lane)) ++lane;
        if (lane == lanes.size()) return false;
        tables.set_lane(route.s, route.lid, static_cast<std::uint8_t>(lane));
    }
    return true;
}

// Counts what became of the old entries.
void compare(const SwitchGraph& graph, const Tables& old, Rerouted& result) {
    const Pieces pieces = find_pieces(graph);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        std::size_t changed_here = 0;
        for (const Destination& d : graph.destinations()) {
            if (pieces.of[s] != pieces.of[d.sw]) continue;
            for (unsigned k = 0; k < d.lid_count(); ++k) {
                const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
                const std::uint8_t before = old.port(s, lid), after = result.tables.port(s, lid);
                ++result.entries;
                if (before == no_route) {
                    ++result.added;
                    continue;
                }
                changed_here += before != after ? 1 : 0;
                const bool alive = s == d.sw ? before == d.port
                                             : before != 0 && before <= graph.port_count(s) &&
                                                   graph.next(graph.channel(s, before)) != none &&
                                                   graph.next(graph.channel(s, before)) != s;
                result.unavoidable += alive ? 0 : 1;
            }
        }
        result.changed += changed_here;
        result.switches_changed += changed_here != 0 ? 1 : 0;
    }
}

}  // namespace

Rerouted reroute(const SwitchGraph& graph, const Tables& old, const RouteOptions& options) {
    if (old.switch_count() != graph.switch_count())
        throw Error(fmt::format("the old tables are of {} switches, the fabric has {}", old.switch_count(),
                                graph.switch_count()));
    const Ascent ascent = find_ascent(graph, options.roots);
    Repair repair(graph, ascent, options);
    Rerouted result;
    result.tables = widened(graph, old);
    result.mending = repair.goes_up_then_down(result.tables) ? Mending::up_down : Mending::shortest;
    repair.mend(result.tables, result.mending);
    if (result.mending == Mending::shortest) {
        CheckOptions how;
        how.threads = options.threads;
        const bool lanes_fit = !old.has_lanes() || mend_lanes(graph, old, result.tables, options.lanes);
        if (!lanes_fit || !check(graph, result.tables, how).loops.empty()) {
            if (Tables before = widened(graph, old); !check(graph, before, how).loops.empty()) {
                result.remarks.emplace_back(
                    "the old tables have a credit loop, and so do the new ones; updn and dfsssp have none");
            } else {
                result.mending = Mending::recomputed;
                result.remarks.emplace_back(
                    "keeping all that works would close a credit loop; routes that do not go up first and then down "
                    "were changed as well");
                result.tables = std::move(before);
                // Up/down routes wait for no others in a ring, on whichever lanes they travel.
                repair.mend(result.tables, result.mending);
            }
        }
    }
    compare(graph, old, result);
    return result;
}

}  // namespace loom::routing
