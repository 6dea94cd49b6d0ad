#include "routing/balance.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>

#include "loom/base/parallel.hpp"

namespace loom::routing {
namespace {

std::uint64_t reversed_bytes(Guid guid) {
    return __builtin_bswap64(guid.value);
}

// Where the LIDs of one host have been sent by one switch so far.
struct Used {
    Guid system;
    Guid node;
    unsigned times;
};

class Row {
public:
    Row(const SwitchGraph& graph, const Candidates& candidates, std::span<const std::uint32_t> order, SwitchIndex s,
        std::span<std::uint8_t> row)
        : graph_(graph), candidates_(candidates), order_(order), s_(s), row_(row) {}

    // One LID a destination: candidates are found once for each destination switch.
    void fill_single() {
        SwitchIndex found_for = none;
        for (const std::uint32_t d : order_) {
            const Destination& destination = graph_.destinations()[d];
            if (destination.sw == s_) {
                row_[destination.lid.value] = destination.port;
                continue;
            }
            if (destination.sw != found_for) {
                count_ = candidates_(s_, destination.sw, ports_.data());
                found_for = destination.sw;
                for (unsigned i = 0; i < count_; ++i) keys_[i] = key(ports_[i]);
            }
            if (count_ == 0) continue;
            // The key holds the counter above the port, so one minimum settles both.
            std::int32_t best = keys_[0];
            for (unsigned i = 1; i < count_; ++i) best = std::min(best, keys_[i]);
            const auto port = static_cast<std::uint8_t>(best & 0xff);
            row_[destination.lid.value] = port;
            if (destination.port == 0) continue;
            ++paths_[port];
            const auto at = std::find(keys_.begin(), keys_.begin() + count_, best);
            *at = key(port);
        }
    }

    void fill_several(unsigned lids) {
        std::vector<std::vector<Used>> used(graph_.destinations().size());
        for (unsigned offset = 0; offset < lids; ++offset)
            for (const std::uint32_t d : order_) {
                const Destination& destination = graph_.destinations()[d];
                if (offset >= destination.lid_count()) continue;
                const std::size_t lid = destination.lid.value + offset;
                if (destination.sw == s_) {
                    row_[lid] = destination.port;
                    continue;
                }
                count_ = candidates_(s_, destination.sw, ports_.data());
                if (count_ == 0) continue;
                if (offset != 0) start_after(row_[lid - 1]);
                const std::uint8_t port = choose(used[d]);
                row_[lid] = port;
                if (destination.port == 0) continue;
                ++paths_[port];
                note(used[d], port);
            }
    }

private:
    [[nodiscard]] std::int32_t key(std::uint8_t port) const { return paths_[port] << 8 | port; }

    [[nodiscard]] const fabric::Node& neighbour(std::uint8_t port) const {
        return graph_.fabric().node(graph_.node(graph_.next(graph_.channel(s_, port))));
    }

    void start_after(std::uint8_t port) {
        const auto begin = ports_.begin();
        std::rotate(begin, std::upper_bound(begin, begin + count_, port), begin + count_);
    }

    [[nodiscard]] std::uint8_t choose(const std::vector<Used>& used) const {
        constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
        std::int32_t least_new_system = most, least_new_node = most, least = most;
        std::uint8_t new_system = 0, new_node = 0, best = ports_[0];
        unsigned least_times = std::numeric_limits<unsigned>::max();
        for (unsigned i = 0; i < count_; ++i) {
            const std::uint8_t port = ports_[i];
            const std::int32_t paths = paths_[port];
            const fabric::Node& node = neighbour(port);
            const bool system_used =
                std::any_of(used.begin(), used.end(), [&](const Used& u) { return u.system == node.system_guid; });
            const auto same =
                std::find_if(used.begin(), used.end(), [&](const Used& u) { return u.node == node.guid; });
            if (!system_used) {
                if (paths < least_new_system) {
                    least_new_system = paths;
                    new_system = port;
                }
            } else if (same == used.end()) {
                if (paths < least_new_node) {
                    least_new_node = paths;
                    new_node = port;
                }
            } else if (paths < least || (paths == least && same->times < least_times)) {
                best = port;
                least = paths;
                least_times = std::min(least_times, same->times);
            }
        }
        return new_system != 0 ? new_system : new_node != 0 ? new_node : best;
    }

    void note(std::vector<Used>& used, std::uint8_t port) const {
        const fabric::Node& node = neighbour(port);
        const auto same = std::find_if(used.begin(), used.end(), [&](const Used& u) { return u.node == node.guid; });
        if (same != used.end())
            ++same->times;
        else
            used.push_back({node.system_guid, node.guid, 1});
    }

    const SwitchGraph& graph_;
    const Candidates& candidates_;
    std::span<const std::uint32_t> order_;
    SwitchIndex s_;
    std::span<std::uint8_t> row_;
    std::array<std::uint8_t, 256> ports_{};
    std::array<std::int32_t, 256> keys_{};
    std::array<std::int32_t, 256> paths_{};
    unsigned count_ = 0;
};

}  // namespace

std::vector<std::uint32_t> serving_order(const SwitchGraph& graph) {
    const auto destinations = graph.destinations();
    std::vector<std::uint32_t> hosts(graph.switch_count(), 0);
    for (const Destination& d : graph.host_destinations()) ++hosts[d.sw];
    std::vector<std::uint64_t> tie(graph.switch_count());
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        tie[s] = reversed_bytes(graph.fabric().node(graph.node(s)).guid);

    std::vector<std::uint32_t> order(destinations.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(graph.host_destinations().size());
    std::sort(order.begin(), middle, [&](std::uint32_t a, std::uint32_t b) {
        const Destination& x = destinations[a];
        const Destination& y = destinations[b];
        if (x.sw == y.sw) return x.port < y.port;
        if (hosts[x.sw] != hosts[y.sw]) return hosts[x.sw] > hosts[y.sw];
        return tie[x.sw] < tie[y.sw];
    });
    return order;
}

void fill_balanced(const SwitchGraph& graph, const RouteOptions& options, const Candidates& candidates,
                   Tables& tables) {
    const auto order = serving_order(graph);
    unsigned lids = 1;
    for (const Destination& d : graph.destinations()) lids = std::max(lids, d.lid_count());
    parallel_for(graph.switch_count(), options.threads, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t s = begin; s < end; ++s) {
            const auto sw = static_cast<SwitchIndex>(s);
            Row row(graph, candidates, order, sw, tables.row(sw));
            if (lids == 1)
                row.fill_single();
            else
                row.fill_several(lids);
        }
    });
}

}  // namespace loom::routing
