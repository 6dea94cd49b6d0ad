// The ranks of a communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::coll {

// Ranks of the world in a communicator's order. Never changed, and shared: copies by all that are made of them, and
// 0, 1, 2... by all communicators and worlds of a process that have as many. A process may have thousands of ranks.
class Members {
public:
    Members(std::vector<Rank> ranks);  // cost: one pass

    [[nodiscard]] std::size_t size() const { return ranks_.size(); }
    [[nodiscard]] Rank operator[](std::size_t member) const { return ranks_[member]; }
    [[nodiscard]] auto begin() const { return ranks_.begin(); }
    [[nodiscard]] auto end() const { return ranks_.end(); }
    [[nodiscard]] bool are_first() const { return are_first_; }  // 0, 1, 2...

private:
    std::span<const Rank> ranks_;
    std::shared_ptr<const std::vector<Rank>> owner_;
    bool are_first_ = false;
};

// Small numbers in the order of first appearance. The transport's own where members have these numbers already; else
// written into `own`.
[[nodiscard]] std::span<const std::uint32_t> hosts_of(const Members& members, std::span<const std::uint32_t> hosts,
                                                      std::vector<std::uint32_t>& own);

}  // namespace loom::coll
