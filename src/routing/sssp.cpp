#include "routing/sssp.hpp"

#include <algorithm>
#include <vector>

#include "routing/balance.hpp"
#include "routing/hops.hpp"

namespace loom::routing {
namespace {

// The channels on shortest paths to one switch, for all others nearest first.
class ShortestChannels {
public:
    explicit ShortestChannels(const SwitchGraph& graph)
        : adjacency_(graph), hops_(graph.switch_count()), first_(1, 0u) {}

    struct Step {
        ChannelIndex channel;
        SwitchIndex to;
    };

    void find(SwitchIndex root) {
        breadth_first(adjacency_, root, hops_, order_);
        first_.resize(1);
        steps_.clear();
        for (const SwitchIndex s : order_) {
            for (const auto& edge : adjacency_.of(s))
                if (hops_[edge.to] + 1 == hops_[s]) steps_.push_back({edge.channel, edge.to});
            first_.push_back(static_cast<std::uint32_t>(steps_.size()));
        }
    }

    // The root comes first and has no steps.
    [[nodiscard]] std::span<const SwitchIndex> order() const { return order_; }
    [[nodiscard]] std::span<const Step> steps(std::size_t position) const {
        return std::span(steps_).subspan(first_[position], first_[position + 1] - first_[position]);
    }

private:
    Adjacency adjacency_;
    std::vector<std::uint16_t> hops_;
    std::vector<SwitchIndex> order_;
    std::vector<std::uint32_t> first_;
    std::vector<Step> steps_;
};

}  // namespace

Tables sssp_tables(const SwitchGraph& graph, const RouteOptions& options) {
    Tables tables(graph.switch_count(), graph.top_lid());
    std::vector<std::uint32_t> hosts(graph.switch_count(), 0);
    for (const Destination& d : graph.host_destinations()) ++hosts[d.sw];

    // At most 49,151 squared routes cross a channel: they fit in 32 bits, their sum along a path does not.
    std::vector<std::uint32_t> routes(graph.channel_count(), 0);
    std::vector<std::uint64_t> distance(graph.switch_count(), 0);
    std::vector<std::uint32_t> through(graph.switch_count(), 0);
    std::vector<ChannelIndex> chosen(graph.switch_count(), none);
    std::vector<SwitchIndex> parent(graph.switch_count(), none);
    ShortestChannels shortest(graph);

    const auto order = serving_order(graph);
    SwitchIndex found_for = none;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Destination& destination = graph.destinations()[order[i]];
        if (options.progress && i % 256 == 0)
            options.progress(static_cast<double>(i) / static_cast<double>(order.size()));
        if (destination.sw != found_for) shortest.find(found_for = destination.sw);
        const auto nearest_first = shortest.order();
        for (unsigned k = 0; k < destination.lid_count(); ++k) {
            const std::size_t lid = destination.lid.value + k;
            tables.row(destination.sw)[lid] = destination.port;
            distance[destination.sw] = 0;
            for (std::size_t position = 1; position < nearest_first.size(); ++position) {
                const SwitchIndex s = nearest_first[position];
                const auto steps = shortest.steps(position);
                auto best = steps[0];
                std::uint64_t least = distance[best.to] + routes[best.channel];
                for (const auto& step : steps.subspan(1)) {
                    const std::uint64_t sum = distance[step.to] + routes[step.channel];
                    if (sum < least) {
                        least = sum;
                        best = step;
                    }
                }
                distance[s] = least;
                chosen[s] = best.channel;
                parent[s] = best.to;
                through[s] = hosts[s];
                tables.set(s, Lid{static_cast<std::uint16_t>(lid)},
                           static_cast<std::uint8_t>(graph.port(best.channel)));
            }
            if (destination.port == 0) continue;  // nobody computes on a switch
            through[destination.sw] = 0;
            for (std::size_t position = nearest_first.size(); position-- > 1;) {
                const SwitchIndex s = nearest_first[position];
                routes[chosen[s]] += through[s];
                through[parent[s]] += through[s];
            }
        }
    }
    return tables;
}

Routing route_sssp(const SwitchGraph& graph, const RouteOptions& options) {
    Routing result;
    result.tables = sssp_tables(graph, options);
    result.tables.engine = "sssp";
    return result;
}

}  // namespace loom::routing
