#include "loom/fabric/levels.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "fabric/tree_order.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"

namespace loom::fabric {
namespace {

// Breadth-first searches start from at most this many host-bearing switches: enough to tell a root
// from a leaf by its mean distance to hosts, few enough to be cheap on a thousand leaves.
constexpr std::size_t max_landmarks = 24;
// A switch this much closer to the hosts than its neighbouring leaves (hops, on average) is no leaf.
// One level makes a difference of about one hop.
constexpr double closer_than_a_leaf = 0.5;
constexpr double much_closer = 0.7;

class LevelFinder {
public:
    explicit LevelFinder(const Fabric& fabric) : fabric_(fabric), hosts_(fabric.node_count(), 0) {
        first_.reserve(fabric.node_count() + 1);
        first_.push_back(0);
        for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
            if (fabric.node(NodeId{i}).kind == NodeKind::switch_) {
                for (const Port& port : fabric.ports(NodeId{i})) {
                    if (!port.connected()) continue;
                    const NodeId peer = fabric.port(port.peer).node;
                    if (fabric.node(peer).kind == NodeKind::switch_) {
                        if (peer.value != i) neighbours_.push_back(peer.value);  // a loop back leads nowhere
                    } else if (fabric.node(peer).kind == NodeKind::host && !is_aggregation_node(fabric.node(peer)))
                        ++hosts_[i];
                }
            }
            first_.push_back(static_cast<std::uint32_t>(neighbours_.size()));
        }
    }

    Levels run(const std::vector<Guid>& roots) {
        Levels result;
        if (roots.empty())
            from_leaves();
        else
            from_roots(roots);
        result.level = std::move(level_);
        for (const std::uint8_t l : result.level)
            if (l != no_level) result.top = std::max(result.top, l);
        describe_deviations(result);
        result.leaf_order = tree_leaf_order(fabric_, result.level, result.top);
        return result;
    }

private:
    [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t node) const {
        return std::span(neighbours_).subspan(first_[node], first_[node + 1] - first_[node]);
    }
    [[nodiscard]] bool is_switch(std::uint32_t node) const {
        return fabric_.node(NodeId{node}).kind == NodeKind::switch_;
    }

    // Hops from the nearest source; no_level where there is no way.
    [[nodiscard]] std::vector<std::uint8_t> hops_from(const std::vector<std::uint32_t>& sources) const {
        std::vector<std::uint8_t> hops(fabric_.node_count(), no_level);
        std::vector<std::uint32_t> queue = sources;
        for (const std::uint32_t s : sources) hops[s] = 0;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const std::uint32_t node = queue[head];
            const auto next = static_cast<std::uint8_t>(std::min<int>(hops[node] + 1, no_level - 1));
            for (const std::uint32_t other : neighbours(node))
                if (hops[other] == no_level) {
                    hops[other] = next;
                    queue.push_back(other);
                }
        }
        return hops;
    }

    void from_roots(const std::vector<Guid>& roots) {
        std::vector<std::uint32_t> sources;
        for (const Guid guid : roots) {
            const auto found = std::find_if(fabric_.nodes().begin(), fabric_.nodes().end(),
                                            [&](const Node& n) { return n.guid == guid; });
            if (found == fabric_.nodes().end() || found->kind != NodeKind::switch_)
                throw Error("the root " + to_string(guid) + " is no switch of this fabric");
            sources.push_back(static_cast<std::uint32_t>(found - fabric_.nodes().begin()));
        }
        level_ = hops_from(sources);
        std::uint8_t depth = 0;
        for (std::uint32_t i = 0; i < level_.size(); ++i)
            if (is_switch(i) && level_[i] != no_level) depth = std::max(depth, level_[i]);
        for (std::uint32_t i = 0; i < level_.size(); ++i)
            level_[i] = is_switch(i) && level_[i] != no_level ? static_cast<std::uint8_t>(depth - level_[i]) : no_level;
    }

    void from_leaves() {
        std::vector<std::uint32_t> bearing;
        for (std::uint32_t i = 0; i < hosts_.size(); ++i)
            if (hosts_[i] != 0) bearing.push_back(i);
        measure_remoteness(bearing);

        std::vector<std::uint32_t> leaves;
        for (const std::uint32_t s : bearing)
            if (!is_above_leaves(s)) leaves.push_back(s);
        level_ = hops_from(leaves);
        lower_empty_leaves();
        raise_past_shortcuts();
    }

    // remoteness_[s]: mean distance of s to hosts, over a sample of the switches that carry them.
    void measure_remoteness(const std::vector<std::uint32_t>& bearing) {
        std::vector<double> sum(fabric_.node_count(), 0), weight(fabric_.node_count(), 0);
        const std::size_t count = std::min(bearing.size(), max_landmarks);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t landmark = bearing[i * bearing.size() / count];
            const std::vector<std::uint8_t> hops = hops_from({landmark});
            for (std::size_t node = 0; node < hops.size(); ++node)
                if (hops[node] != no_level && hops[node] != 0) {
                    sum[node] += hosts_[landmark] * static_cast<double>(hops[node]);
                    weight[node] += hosts_[landmark];
                }
        }
        remoteness_.resize(fabric_.node_count(), 0);
        for (std::size_t node = 0; node < sum.size(); ++node)
            if (weight[node] > 0) remoteness_[node] = sum[node] / weight[node];
    }

    // A switch with hosts is a spine all the same when the host-bearing switches around it (one or two
    // cables away) are clearly farther from the machine's hosts than it is itself. With as many hosts as
    // a leaf has, and no leaf right below it, it must be much closer: a leaf with a cable straight to a
    // root gains a hop too, but not half of the way. Small and damaged fabrics leave distances undecided: a
    // switch whose neighbours nearly all have twice its hosts or more is above them, whatever the distances.
    [[nodiscard]] bool is_above_leaves(std::uint32_t s) {
        seen_.resize(fabric_.node_count(), 0);
        ++stamp_;
        seen_[s] = stamp_;
        double sum = 0, weight = 0, squares = 0;
        bool leaf_below = false;
        std::size_t richer = 0;
        const auto count = [&](std::uint32_t other) {
            if (seen_[other] == stamp_) return;
            seen_[other] = stamp_;
            sum += hosts_[other] * remoteness_[other];
            weight += hosts_[other];
            squares += static_cast<double>(hosts_[other]) * hosts_[other];
        };
        for (const std::uint32_t near : neighbours(s)) {
            count(near);
            richer += hosts_[near] >= 2 * hosts_[s];
            leaf_below = leaf_below || (hosts_[near] != 0 && remoteness_[near] > remoteness_[s] + closer_than_a_leaf);
        }
        for (const std::uint32_t near : neighbours(s))
            for (const std::uint32_t far : neighbours(near)) count(far);
        if (4 * richer >= 3 * neighbours(s).size() && richer != 0) return true;
        if (weight == 0 || remoteness_[s] >= sum / weight - closer_than_a_leaf) return false;
        const double hosts_of_a_leaf = squares / weight;  // as a host around here sees it
        return leaf_below || hosts_[s] < hosts_of_a_leaf / 2 || remoteness_[s] < much_closer * sum / weight;
    }

    // A leaf that lost all its hosts looks like a switch above the spines: it is two cables from a leaf,
    // as a root of three levels is. It is as remote as a leaf, though, and a root is not.
    void lower_empty_leaves() {
        for (std::uint32_t s = 0; s < level_.size(); ++s) {
            if (!is_switch(s) || level_[s] != 2 || neighbours(s).empty()) continue;
            double sum = 0;
            bool only_spines = true;
            for (const std::uint32_t other : neighbours(s)) {
                sum += remoteness_[other];
                only_spines = only_spines && level_[other] == 1;
            }
            if (only_spines && remoteness_[s] > sum / static_cast<double>(neighbours(s).size()) + closer_than_a_leaf)
                level_[s] = 0;
        }
    }

    // A root with one cable straight to a leaf is still a root: what most of its cables say counts.
    void raise_past_shortcuts() {
        for (int round = 0; round < 8; ++round) {
            bool changed = false;
            for (std::uint32_t s = 0; s < level_.size(); ++s) {
                if (!is_switch(s) || level_[s] == no_level || level_[s] == 0) continue;
                std::size_t same = 0, below = 0;
                for (const std::uint32_t other : neighbours(s)) {
                    same += level_[other] == level_[s];
                    below += level_[other] < level_[s];
                }
                if (same > below && 2 * same > neighbours(s).size()) {
                    ++level_[s];
                    changed = true;
                }
            }
            if (!changed) return;
        }
    }

    void describe_deviations(Levels& result) const {
        std::size_t high_hosts = 0, high_switches = 0;
        std::uint32_t first_high = 0, first_inside = 0, first_skip = 0, cut_off = 0;
        for (std::uint32_t s = 0; s < result.level.size(); ++s) {
            if (!is_switch(s)) continue;
            if (result.level[s] == no_level) {
                ++cut_off;
                continue;
            }
            if (result.level[s] > 0 && hosts_[s] != 0) {
                if (high_switches++ == 0) first_high = s;
                high_hosts += hosts_[s];
            }
            for (const std::uint32_t other : neighbours(s)) {
                if (result.level[other] == result.level[s] && s <= other) {
                    if (result.inside_links++ == 0) first_inside = s;
                } else if (result.level[other] > result.level[s] + 1 && result.level[other] != no_level) {
                    if (result.skipping_links++ == 0) first_skip = s;
                }
            }
        }
        const auto name = [&](std::uint32_t s) { return describe(fabric_, NodeId{s}); };
        if (high_hosts != 0)
            result.remarks.push_back(counted(high_hosts, "host sits", "hosts sit") + " above the leaves, on " +
                                     counted(high_switches, "switch", "switches") + "; the first is " +
                                     name(first_high) + " at level " + std::to_string(result.level[first_high]));
        if (result.inside_links != 0)
            result.remarks.push_back(counted(result.inside_links, "cable joins", "cables join") +
                                     " switches of one level; the first is at " + name(first_inside) + " (level " +
                                     std::to_string(result.level[first_inside]) + ")");
        if (result.skipping_links != 0)
            result.remarks.push_back(counted(result.skipping_links, "cable skips", "cables skip") +
                                     " a level; the first goes up from " + name(first_skip));
        if (cut_off != 0)
            result.remarks.push_back(counted(cut_off, "switch has", "switches have") + " no way to any host");
    }

    const Fabric& fabric_;
    std::vector<std::uint32_t> hosts_;  // by node: attached hosts that can compute
    std::vector<std::uint32_t> first_, neighbours_;
    std::vector<double> remoteness_;
    std::vector<std::uint8_t> level_;
    std::vector<std::uint32_t> seen_;
    std::uint32_t stamp_ = 0;
};

}  // namespace

Levels find_levels(const Fabric& fabric, const std::vector<Guid>& roots) {
    return LevelFinder(fabric).run(roots);
}

bool is_aggregation_node(const Node& node) {
    return node.kind == NodeKind::host && node.name.find("Aggregation Node") != std::string::npos;
}

std::vector<HostPort> host_order(const Fabric& fabric, const Levels& levels) {
    std::vector<HostPort> result;
    const auto add = [&](NodeId sw) {
        for (const Port& port : fabric.ports(sw)) {
            if (!port.connected()) continue;
            const Node& peer = fabric.node(fabric.port(port.peer).node);
            if (peer.kind == NodeKind::host && !is_aggregation_node(peer))
                result.push_back({port.peer, fabric.port_index(sw, port.number)});
        }
    };
    for (const NodeId leaf : levels.leaf_order) add(leaf);
    for (unsigned level = 1; level <= levels.top; ++level)
        for (std::uint32_t i = 0; i < levels.level.size(); ++i)
            if (levels.level[i] == level) add(NodeId{i});
    return result;
}

std::vector<HostPort> host_order(const Fabric& fabric) {
    return host_order(fabric, find_levels(fabric));
}

std::vector<PortNum> host_places(const Fabric& fabric, std::span<const HostPort> hosts) {
    std::map<NodeId, std::size_t> count;  // by leaf
    std::set<PortNum> used;
    std::size_t most = 0;
    for (const HostPort& host : hosts) {
        most = std::max(most, ++count[fabric.port(host.switch_port).node]);
        used.insert(fabric.port(host.switch_port).number);
    }
    if (used.size() > most + most / 2) return {};
    for (const auto& [leaf, hosts_there] : count)
        for (const PortNum number : used) {
            if (number.value > fabric.node(leaf).ports || !fabric.port(leaf, number).connected()) continue;
            if (fabric.node(fabric.port(fabric.port(leaf, number).peer).node).kind == NodeKind::switch_) return {};
        }
    return {used.begin(), used.end()};
}

}  // namespace loom::fabric
