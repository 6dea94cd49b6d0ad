// Ranks that share windows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::window {

class Window;

// What Team::create needs to know beside the memory; `tags` the same on every rank.
struct WindowOptions {
    std::uint64_t tags = std::uint64_t{1} << 32;  // tags are below it; 256 as dCUDA has them
};

// Cheap to copy (a reference). "Collective" is what all its ranks call, in the same order as other collective calls
// that two of them share. Collective calls throw transport::RankLost when one of the team is gone, Stalled when
// World::Options::patience is over, WindowFreed when the world is closed.
class Team {
public:
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] Rank world_rank(Rank member) const;               // throws NoSuchRank
    [[nodiscard]] std::optional<Rank> member(Rank of_world) const;  // nothing: not one of us

    // Returns when all have called it, and sees all that they had put and flushed. Cost: log2(size) rounds of messages.
    void barrier() const;
    // Collective. Ranks with the same colour, ordered by (key, rank); nothing for those without a colour. Cost: an
    // allgather of 12 bytes.
    [[nodiscard]] std::optional<Team> split(std::optional<std::uint32_t> colour, std::uint32_t key) const;

    // Collective: opens `mine`, which may be empty and differ in length, to all of the team, until Window::free().
    // Ordinary memory will do; World::allocate() is faster inside a host. Cost: a registration and two allgathers.
    [[nodiscard]] Window create(std::span<std::byte> mine, WindowOptions options = {}) const;

    struct State;
    explicit Team(std::shared_ptr<State> state) : state_(std::move(state)) {}
    [[nodiscard]] State& state() const { return *state_; }

private:
    std::shared_ptr<State> state_;
};

}  // namespace loom::window
