#include "routing/rank_index.hpp"

#include <algorithm>

namespace loom::routing {
namespace {

// Steps spent on finding a better numbering: about 50 ms.
constexpr std::uint64_t budget = 10'000'000;

// First host of each leaf, and the end.
std::vector<std::size_t> leaf_starts(std::span<const LeafHost> hosts) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < hosts.size(); ++i)
        if (i == 0 || hosts[i].leaf != hosts[i - 1].leaf) starts.push_back(i);
    starts.push_back(hosts.size());
    return starts;
}

// Numbers that leave out gap[leaf] numbers after each leaf; ranks when all gaps are 0.
std::vector<std::uint32_t> with_gaps(std::span<const LeafHost> hosts, const std::vector<std::size_t>& starts,
                                     const std::vector<std::uint32_t>& gap) {
    std::vector<std::uint32_t> numbers, next(1, 0);
    for (std::size_t leaf = 0; leaf + 1 < starts.size(); ++leaf) {
        const std::uint32_t piece = hosts[starts[leaf]].piece;
        if (piece >= next.size()) next.resize(piece + 1, 0);
        for (std::size_t i = starts[leaf]; i < starts[leaf + 1]; ++i) numbers.push_back(next[piece]++);
        next[piece] += gap[leaf];
    }
    return numbers;
}

// Contention of all shifts, summed up, as the closed form of ftree would have it.
class ShiftCost {
public:
    ShiftCost(std::span<const LeafHost> hosts, const TreeShape& shape) : hosts_(hosts), shape_(shape) {
        std::size_t switches = 0;
        for (const auto& subtree : shape.subtree) switches = std::max(switches, subtree.size());
        std::size_t below = 1;  // switches that a level has in one subtree
        for (std::size_t level = 0; level < shape.slots.size(); ++level) {
            first_.push_back(channels_);
            channels_ += switches * below * shape.slots[level];
            below *= shape.parents[level];
        }
        load_.assign(2 * channels_, 0);
    }
    [[nodiscard]] std::uint64_t of(const std::vector<std::uint32_t>& numbers) {
        std::uint64_t cost = 0;
        for (std::size_t shift = 1; shift < hosts_.size(); ++shift) {
            worst_ = 1;
            for (std::size_t i = 0; i < hosts_.size(); ++i) {
                const std::size_t to = i + shift < hosts_.size() ? i + shift : i + shift - hosts_.size();
                send(hosts_[i].leaf, hosts_[to].leaf, numbers[to]);
            }
            for (const std::size_t channel : touched_) load_[channel] = 0;
            touched_.clear();
            cost += worst_;
        }
        return cost;
    }

private:
    void send(SwitchIndex from, SwitchIndex to, std::uint32_t number) {
        std::size_t below = 1, climbed = 0;  // which switch of its subtree the packet is at
        for (std::size_t level = 0; level < shape_.slots.size(); ++level) {
            const std::uint32_t source = shape_.subtree[level][from], target = shape_.subtree[level][to];
            if (source == target) return;
            const std::uint32_t slot = number % shape_.slots[level];
            count(first_[level] + (source * below + climbed) * shape_.slots[level] + slot);
            count(channels_ + first_[level] + (target * below + climbed) * shape_.slots[level] + slot);
            climbed += below * (number % shape_.parents[level]);
            below *= shape_.parents[level];
            number /= shape_.parents[level];
        }
    }
    void count(std::size_t channel) {
        if (load_[channel] == 0) touched_.push_back(channel);
        worst_ = std::max(worst_, ++load_[channel]);
    }

    std::span<const LeafHost> hosts_;
    const TreeShape& shape_;
    std::vector<std::size_t> first_, touched_;
    std::size_t channels_ = 0;
    std::vector<std::uint32_t> load_;
    std::uint32_t worst_ = 1;
};

// Chooses the gaps after leaves that are not full: all or none to begin with, then one after the other.
void close_the_ring(std::span<const LeafHost> hosts, const std::vector<std::size_t>& starts, const TreeShape& shape,
                    std::size_t most_on_a_leaf, std::vector<std::uint32_t>& gap) {
    const std::uint64_t steps = hosts.size() * hosts.size() * shape.slots.size();
    if (2 * steps > budget) return;
    ShiftCost shift_cost(hosts, shape);
    std::uint64_t trials = budget / steps;
    const auto cost_of = [&](const std::vector<std::uint32_t>& gaps) {
        --trials;
        return shift_cost.of(with_gaps(hosts, starts, gaps));
    };
    std::vector<std::uint32_t> full(gap.size());
    for (std::size_t leaf = 0; leaf < gap.size(); ++leaf)
        full[leaf] = static_cast<std::uint32_t>(most_on_a_leaf - (starts[leaf + 1] - starts[leaf]));
    std::uint64_t best = cost_of(gap);
    if (const std::uint64_t cost = cost_of(full); cost < best) {
        best = cost;
        gap = full;
    }
    for (bool better = true; better;) {
        better = false;
        for (std::size_t leaf = 0; leaf < gap.size(); ++leaf)
            for (std::uint32_t tried = 0; tried < shape.slots.front() && full[leaf] != 0; ++tried) {
                if (trials == 0) return;
                std::vector<std::uint32_t> other = gap;
                other[leaf] = tried;
                if (tried == gap[leaf]) continue;
                if (const std::uint64_t cost = cost_of(other); cost < best) {
                    best = cost;
                    gap = std::move(other);
                    better = true;
                }
            }
    }
}

}  // namespace

std::vector<std::uint32_t> number_hosts(std::span<const LeafHost> hosts, const TreeShape& shape) {
    const std::vector<std::size_t> starts = leaf_starts(hosts);
    std::size_t most = 0, least = hosts.size();
    for (std::size_t leaf = 0; leaf + 1 < starts.size(); ++leaf) {
        most = std::max(most, starts[leaf + 1] - starts[leaf]);
        least = std::min(least, starts[leaf + 1] - starts[leaf]);
    }
    std::vector<std::uint32_t> gap(starts.size() - 1, 0);
    if (most != least && !shape.slots.empty()) close_the_ring(hosts, starts, shape, most, gap);
    return with_gaps(hosts, starts, gap);
}

std::vector<std::uint32_t> number_places(std::span<const LeafHost> hosts, std::span<const PortNum> ports) {
    const std::vector<std::size_t> starts = leaf_starts(hosts);
    std::size_t places = ports.size();
    for (std::size_t leaf = 0; leaf + 1 < starts.size() && ports.empty(); ++leaf)
        places = std::max(places, starts[leaf + 1] - starts[leaf]);
    std::vector<std::uint32_t> numbers;
    for (std::size_t leaf = 0; leaf + 1 < starts.size(); ++leaf) {
        const std::size_t first = hosts[starts[leaf]].leaf_position * places;
        for (std::size_t i = starts[leaf]; i < starts[leaf + 1]; ++i) {
            const auto port = std::lower_bound(ports.begin(), ports.end(), PortNum{hosts[i].port});
            const std::size_t place = ports.empty() ? i - starts[leaf] : static_cast<std::size_t>(port - ports.begin());
            numbers.push_back(static_cast<std::uint32_t>(first + place));
        }
    }
    return numbers;
}

}  // namespace loom::routing
