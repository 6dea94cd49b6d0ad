// A group of ranks that start collectives together, without types: loom/coll/typed.hpp has them with spans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/reduction.hpp"
#include "loom/coll/request.hpp"
#include "loom/transport/transport.hpp"

namespace loom::coll {

struct Buffers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

// Overrides the choice of the model. Also LOOM_COLL="allreduce=ring:65536,bcast=binomial" in the environment.
struct Choice {
    std::string_view algorithm;
    Tuning tuning;
};

class World;

// Cheap to copy (a reference). All ranks of a communicator start the same operations in the same order; any number may
// be in flight. Creating one from another is a collective of its own, but the first operation on it never waits.
class Communicator {
public:
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] const Group& group() const;

    // Starts. Buffers and the state of `reduction` must stay until the request is finished; `call`, `choice` and what
    // they point to need not. Throws UsageError for a call that cannot be (root outside, blocks missing).
    [[nodiscard]] Request start(const Call& call, Buffers buffers, const Reduction* reduction = nullptr,
                                const Choice* choice = nullptr) const;
    // Keeps the schedule: start() it as often as wanted, one at a time.
    [[nodiscard]] Persistent prepare(const Call& call, Buffers buffers, const Reduction* reduction = nullptr,
                                     const Choice* choice = nullptr) const;

    [[nodiscard]] Communicator duplicate() const;
    // Ranks with the same colour, ordered by (key, rank); nothing for those without a colour.
    [[nodiscard]] std::optional<Communicator> split(std::optional<std::uint32_t> colour, std::uint32_t key) const;
    [[nodiscard]] Communicator cartesian(std::span<const std::uint32_t> dims, const std::vector<bool>& periodic) const;
    // Each rank gives its own neighbours.
    [[nodiscard]] Communicator graph(const Neighbours& mine) const;

    // A communicator for a library that agrees on contexts itself: `members` are ranks of the world in the order of
    // their new ranks; `context` is one that no other living communicator of any two of them has. Not collective, never
    // waits.
    [[nodiscard]] static Communicator with_context(World& world, std::span<const Rank> members, std::uint32_t context);

    struct State;
    explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<State> state_;
};

}  // namespace loom::coll
