// A collective on a group that need not exist, all blocks alike: to look at schedules, choose between them, export
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loom/coll/call.hpp"

namespace loom::coll {

struct UniformShape {
    Collective what = Collective::barrier;
    std::uint32_t ranks = 2;
    std::uint64_t bytes = 8;  // as in Call; of every block of the operations whose blocks may differ
    std::uint32_t element = 1;
    Rank root;
    bool commutative = true;
    bool in_place = false;
    std::uint32_t per_host = 0;        // ranks on each host, one after another; 0: all on one
    std::vector<std::uint32_t> hosts;  // instead, by rank, numbered in the order of first appearance
    Grid grid;                         // of the neighbour operations; closed and near-square in two dimensions if empty
};

// Keeps what its calls point to; may be moved.
class UniformCall {
public:
    // Throws UsageError for no ranks, a root outside, bytes that are no whole number of elements and a grid of another
    // size. Linear in ranks, but square for those of which each rank has as many blocks as there are ranks.
    explicit UniformCall(const UniformShape& shape);
    ~UniformCall();
    UniformCall(UniformCall&&) noexcept;
    UniformCall& operator=(UniformCall&&) noexcept;

    [[nodiscard]] const Group& group() const;           // me is rank 0
    [[nodiscard]] std::span<const Call> calls() const;  // by rank

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace loom::coll
