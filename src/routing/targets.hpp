// What is to be routed to, in the order that makes shifts free of contention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/routing/engine.hpp"
#include "loom/routing/tree.hpp"

namespace loom::routing {

// A LID to route to. `index` is its place in the order that makes shifts free of contention.
struct Target {
    Lid lid;
    SwitchIndex sw;
    std::uint8_t port;  // on sw; 0 for the switch itself
    std::uint32_t index;
};

// Targets of one switch are contiguous ("a block"): hosts on leaves that compute in index order, then
// other end ports, then the switches themselves.
class Targets {
public:
    Targets(const Tree& tree, const fabric::Levels& levels, const RouteOptions& options);

    [[nodiscard]] std::span<const Target> all() const { return targets_; }
    // First target of each block, and the end. No block holds both ranked hosts and others.
    [[nodiscard]] std::span<const std::uint32_t> blocks() const { return blocks_; }
    [[nodiscard]] std::size_t ranked() const { return ranked_; }  // the first so many are hosts on leaves
    [[nodiscard]] std::size_t hosts() const { return hosts_; }    // those and the other end ports

private:
    std::vector<Target> targets_;
    std::vector<std::uint32_t> blocks_;
    std::size_t ranked_ = 0;
    std::size_t hosts_ = 0;
};

}  // namespace loom::routing
