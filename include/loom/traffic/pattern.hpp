// Who sends to whom, stage by stage. Knows ranks only: no topology, no time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::traffic {

struct Pair {
    Rank from;
    Rank to;
    friend bool operator==(const Pair&, const Pair&) = default;
};

// A sequence of stages, each a set of pairs that are on the wire together. Stages are made on
// demand: the shift all-to-all of 11,664 ranks has 136 million pairs and takes no memory.
class Pattern {
public:
    virtual ~Pattern() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::size_t ranks() const = 0;
    [[nodiscard]] virtual std::size_t stages() const = 0;
    // Replaces `out` with the pairs of a stage; same stage, same pairs. Safe from several threads.
    virtual void stage(std::size_t index, std::vector<Pair>& out) const = 0;
};

using PatternPtr = std::unique_ptr<Pattern>;

}  // namespace loom::traffic
