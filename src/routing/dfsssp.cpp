// sssp without deadlocks: routes that would wait in a ring go to another virtual lane (after Domke, Hoefler and
// Nagel 2011). They take all routes together and move the weakest part of each cycle on; here a lane takes one
// route after the other as long as no cycle arises, which is faster and needs no more lanes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "loom/base/error.hpp"
#include "loom/routing/engine.hpp"
#include "routing/ascent.hpp"
#include "routing/balance.hpp"
#include "routing/lane_order.hpp"
#include "routing/sssp.hpp"

namespace loom::routing {
namespace {

// Channels upwards before channels downwards: an order that fits every up/down route.
std::vector<std::uint32_t> up_before_down(const SwitchGraph& graph) {
    const Ascent ascent = find_ascent(graph, {});
    std::vector<ChannelIndex> order(graph.channel_count());
    std::iota(order.begin(), order.end(), 0u);
    std::vector<std::uint64_t> key(graph.channel_count(), ~std::uint64_t{0});
    for (ChannelIndex c = 0; c < graph.channel_count(); ++c) {
        if (graph.next(c) == none) continue;
        const SwitchIndex from = graph.owner(c);
        key[c] = ascent.up(from, graph.next(c)) ? ascent.place[from]
                                                : 2 * std::uint64_t{graph.switch_count()} - ascent.place[from];
    }
    std::stable_sort(order.begin(), order.end(), [&](ChannelIndex a, ChannelIndex b) { return key[a] < key[b]; });
    std::vector<std::uint32_t> rank(graph.channel_count());
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    return rank;
}

constexpr double routes_share = 0.2;  // of the work, for progress: the routes themselves, before their lanes

enum class Effort : std::uint8_t { in_order, rearrange };

class LaneAssigner {
public:
    LaneAssigner(const SwitchGraph& graph, Tables& tables)
        : graph_(graph), tables_(tables), order_(serving_order(graph)), bears_(graph.switch_count(), 0) {
        for (const Destination& d : graph.host_destinations()) bears_[d.sw] = 1;
    }

    // Lane after lane: what does not fit waits for the next one. Throws Error at the first route that fits none.
    void assign(unsigned allowed, const std::function<void(double)>& progress) {
        const std::vector<std::uint32_t> start = up_before_down(graph_);
        for (unsigned lane = 0; lane < allowed; ++lane) {
            if (progress) progress(routes_share + (1 - routes_share) * lane / allowed);
            lanes_.emplace_back(graph_, start);
            load_.push_back(0);
            bool complete = true;
            each_route([&](SwitchIndex s, const Destination& d, Lid lid) {
                if (tables_.lane(s, lid) != lane) return;
                if (fits(s, d, lid, lane, Effort::rearrange)) {
                    ++load_[lane];
                    return;
                }
                if (lane + 1 == allowed)
                    throw Error(
                        fmt::format("dfsssp needs more than {} on this fabric to be free of deadlocks (--lanes)",
                                    allowed == 1 ? "1 virtual lane" : fmt::format("{} virtual lanes", allowed)));
                tables_.use_lanes();
                tables_.set_lane(s, lid, static_cast<std::uint8_t>(lane + 1));
                complete = false;
            });
            if (complete) return;
        }
    }

    // Moves routes from fuller lanes to emptier ones where they fit too, as long as that evens them out.
    void balance() {
        if (lanes_.size() < 2) return;
        const std::uint64_t fair = std::accumulate(load_.begin(), load_.end(), std::uint64_t{0}) / lanes_.size();
        each_route([&](SwitchIndex s, const Destination& d, Lid lid) {
            const unsigned lane = tables_.lane(s, lid);
            if (load_[lane] <= fair) return;
            const auto emptiest = static_cast<unsigned>(std::min_element(load_.begin(), load_.end()) - load_.begin());
            if (load_[emptiest] >= fair || !fits(s, d, lid, emptiest, Effort::in_order)) return;
            --load_[lane];
            ++load_[emptiest];
            tables_.set_lane(s, lid, static_cast<std::uint8_t>(emptiest));
        });
    }

    [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }

private:
    template <class Visit>
    void each_route(Visit&& visit) const {
        for (const std::uint32_t i : order_) {
            const Destination& d = graph_.destinations()[i];
            for (unsigned k = 0; k < d.lid_count(); ++k) {
                const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
                for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
                    if (bears_[s] != 0 && s != d.sw && tables_.port(s, lid) != no_route) visit(s, d, lid);
            }
        }
    }

    // Adds the dependencies of one route to a lane, all or none.
    bool fits(SwitchIndex s, const Destination& d, Lid lid, unsigned lane, Effort effort) {
        LaneOrder& order = lanes_[lane];
        added_.clear();
        ChannelIndex from = graph_.channel(s, tables_.port(s, lid));
        for (SwitchIndex at = graph_.next(from); at != d.sw; at = graph_.next(from)) {
            const ChannelIndex to = graph_.channel(at, tables_.port(at, lid));
            if (!order.has(from, to)) {
                if (!(effort == Effort::in_order ? order.add_in_order(from, to) : order.add(from, to))) {
                    for (const auto& [a, b] : added_) order.remove(a, b);
                    return false;
                }
                added_.emplace_back(from, to);
            }
            from = to;
        }
        return true;
    }

    const SwitchGraph& graph_;
    Tables& tables_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint8_t> bears_;  // switches with hosts
    std::vector<LaneOrder> lanes_;
    std::vector<std::uint64_t> load_;  // routes by lane
    std::vector<std::pair<ChannelIndex, ChannelIndex>> added_;
};

}  // namespace

Routing route_dfsssp(const SwitchGraph& graph, const RouteOptions& options) {
    Routing result;
    RouteOptions routes = options;
    if (options.progress) routes.progress = [&](double share) { options.progress(routes_share * share); };
    result.tables = sssp_tables(graph, routes);
    result.tables.engine = "dfsssp";
    LaneAssigner assigner(graph, result.tables);
    assigner.assign(std::max(options.lanes, 1u), options.progress);
    assigner.balance();
    if (assigner.lanes() > 1)
        result.remarks.push_back(fmt::format("the routes are spread over {} virtual lanes", assigner.lanes()));
    return result;
}

}  // namespace loom::routing
