// The account of every pair of ranks, when it is wanted.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim {

// 56 bytes a pair; a message costs two binary searches among its sender's peers.
class FlowBook {
public:
    FlowBook() = default;
    explicit FlowBook(const traffic::Schedule& schedule) {
        std::vector<std::pair<Rank, std::uint64_t>> sends;
        first_.push_back(0);
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
            sends.clear();
            for (const traffic::Op& op : schedule.ops(Rank{rank}))
                if (op.kind == traffic::OpKind::send) sends.emplace_back(op.peer, op.amount);
            std::sort(sends.begin(), sends.end());
            for (const auto& [to, bytes] : sends) {
                if (flows_.size() == first_.back() || flows_.back().to != to) {
                    flows_.push_back({Rank{rank}, to, 0, 0, never, Time{}});
                    to_.push_back(to);
                    open_.push_back(0);
                }
                flows_.back().bytes += bytes;
                ++open_.back();
            }
            first_.push_back(flows_.size());
        }
    }

    void begun(Rank from, Rank to, Time when) {
        Flow& flow = flows_[find(from, to)];
        flow.begun = std::min(flow.begun, when);
    }
    void arrived(Rank from, Rank to, std::uint64_t bytes, Time last_byte) {
        const std::size_t index = find(from, to);
        flows_[index].delivered += bytes;
        flows_[index].ended = std::max(flows_[index].ended, last_byte);
        --open_[index];
    }
    [[nodiscard]] std::vector<Flow> flows() const {
        std::vector<Flow> result = flows_;
        for (std::size_t i = 0; i < result.size(); ++i)
            if (open_[i] != 0) result[i].ended = never;
        return result;
    }

private:
    [[nodiscard]] std::size_t find(Rank from, Rank to) const {
        const auto begin = to_.begin() + static_cast<std::ptrdiff_t>(first_[from.value]);
        const auto end = to_.begin() + static_cast<std::ptrdiff_t>(first_[from.value + 1]);
        return static_cast<std::size_t>(std::lower_bound(begin, end, to) - to_.begin());
    }

    std::vector<std::size_t> first_;   // by rank, and the end
    std::vector<Rank> to_;             // of each flow: to search in little memory
    std::vector<Flow> flows_;          // `ended`: of the last message so far
    std::vector<std::uint32_t> open_;  // messages that have not arrived
};

// The same where nobody knows beforehand who sends to whom. A message costs two searches in a hash table.
class LiveFlowBook {
public:
    void begun(Rank from, Rank to, std::uint64_t bytes, Time when) {
        Entry& entry = entries_.try_emplace(key(from, to), Entry{{from, to, 0, 0, when, Time{}}, 0}).first->second;
        entry.flow.bytes += bytes;
        ++entry.open;
    }
    void arrived(Rank from, Rank to, std::uint64_t bytes, Time last_byte) {
        Entry& entry = entries_.find(key(from, to))->second;
        entry.flow.delivered += bytes;
        entry.flow.ended = std::max(entry.flow.ended, last_byte);
        --entry.open;
    }
    [[nodiscard]] std::vector<Flow> flows() const {
        std::vector<Flow> result;
        result.reserve(entries_.size());
        for (const auto& [pair, entry] : entries_) {
            result.push_back(entry.flow);
            if (entry.open != 0) result.back().ended = never;
        }
        std::sort(result.begin(), result.end(),
                  [](const Flow& a, const Flow& b) { return key(a.from, a.to) < key(b.from, b.to); });
        return result;
    }

private:
    struct Entry {
        Flow flow;
        std::uint32_t open;  // messages that have not arrived
    };
    static std::uint64_t key(Rank from, Rank to) { return std::uint64_t{from.value} << 32 | to.value; }
    std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace loom::sim
