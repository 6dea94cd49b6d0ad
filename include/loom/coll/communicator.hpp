// A group of ranks that start collectives together: without types here, with them in what it inherits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// First: a compiler's complaint about an argument names every header on the way to the check.
#include "loom/coll/typed/data.hpp"
#include "loom/coll/typed/given.hpp"

#include "loom/base/error.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/buffers.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/memory.hpp"
#include "loom/coll/reduction.hpp"
#include "loom/coll/request.hpp"
#include "loom/coll/typed/combination.hpp"
#include "loom/coll/typed/messages.hpp"
#include "loom/coll/typed/movement.hpp"
#include "loom/coll/typed/neighbourhood.hpp"

namespace loom::coll {

// Overrides the choice of the model. Also LOOM_COLL="allreduce=ring:65536,bcast=binomial" in the environment.
struct Choice {
    std::string_view algorithm;
    Tuning tuning;
};

// Operations of one series match each other in the order in which they are started, on every rank the same; between two
// series there is no order. Libraries above, which know several kinds of calls, need more than the first.
enum class Series : std::uint8_t { first, second, third };

class World;
struct Explanation;  // loom/coll/explain.hpp

// Cheap to copy (a reference). All ranks of a communicator start the same operations in the same order; any number may
// be in flight. Creating one from another is a collective of its own, but the first operation on it never waits. Once a
// member is known to be gone, starting anything throws transport::RankLost and sends nothing.
class Communicator : public DataMovement<Communicator>,
                     public Combination<Communicator>,
                     public Neighbourhood<Communicator>,
                     public Messages<Communicator> {
public:
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] const Group& group() const;
    [[nodiscard]] Rank world_rank(Rank member) const;  // a member's rank in the world
    // This rank's. Throws UsageError without a topology.
    [[nodiscard]] const Neighbours& neighbours() const;

    // Starts. Buffers and the state of `reduction` must stay until the request is finished; `call`, `choice` and what
    // they point to need not. Throws UsageError for a call that cannot be (root outside, blocks missing, input and
    // output share bytes).
    [[nodiscard]] Request start(const Call& call, Buffers buffers, const Reduction* reduction = nullptr,
                                const Choice* choice = nullptr, Series series = Series::first) const;
    // Keeps the schedule: start() it as often as wanted, one at a time.
    [[nodiscard]] Persistent prepare(const Call& call, Buffers buffers, const Reduction* reduction = nullptr,
                                     const Choice* choice = nullptr) const;

    // Which algorithm start() would run, what each other was predicted to take, and from which parameters. `bytes` of
    // the message or of one block, with a root of 0 and an operation that commutes. Not collective.
    [[nodiscard]] Explanation explain(Collective what, std::uint64_t bytes) const;
    [[nodiscard]] Explanation explain(const Call& call, const Choice* choice = nullptr) const;

    // The plan that start() would run (kept, like those it runs), to be printed or exported.
    [[nodiscard]] std::shared_ptr<const Plan> plan(const Call& call, const Choice* choice = nullptr) const;
    // The same with a plan that somebody else wrote, for this rank of a group like this one. Its places are offsets to
    // `buffers`: with none given they are addresses. Kept for the next start as long as the cache has room.
    [[nodiscard]] Request start(std::shared_ptr<const Plan> plan, Buffers buffers, const Reduction* reduction = nullptr,
                                Series series = Series::first) const;
    [[nodiscard]] Persistent prepare(std::shared_ptr<const Plan> plan, Buffers buffers,
                                     const Reduction* reduction = nullptr) const;

    // Whether the bits of a reduction's result shall depend on nothing but the operation, the number of ranks and what
    // they give, not on where they run nor on what was measured. To be set alike on all ranks, between the same
    // operations; LOOM_COLL_REPRODUCIBLE=1 does it for every communicator. Costs what a better choice would gain.
    void set_reproducible(bool on) const;
    [[nodiscard]] bool is_reproducible() const;

    // A message between two ranks, of the kind that typed/messages.hpp explains.
    [[nodiscard]] Request start_send(std::span<const std::byte> data, Rank to, std::uint32_t tag) const;
    [[nodiscard]] Request start_receive(std::span<std::byte> into, Rank from, std::uint32_t tag) const;

    [[nodiscard]] Communicator duplicate() const;
    // Ranks with the same colour, ordered by (key, rank); nothing for those without a colour.
    [[nodiscard]] std::optional<Communicator> split(std::optional<std::uint32_t> colour, std::uint32_t key) const;
    // The same ranks with other numbers: rank i of the new one is rank order[i] of this one, for a fabric on which that
    // shares fewer links (loom/coll/order.hpp; LOOM_RANK_ORDER=FILE does it to World::communicator()). Throws
    // UsageError unless each is there once.
    [[nodiscard]] Communicator renumbered(std::span<const std::uint32_t> order) const;
    [[nodiscard]] Communicator cartesian(std::span<const std::uint32_t> dims, const std::vector<bool>& periodic) const;
    [[nodiscard]] Communicator cartesian(std::initializer_list<std::uint32_t> dims,
                                         const std::vector<bool>& periodic) const {
        return cartesian(std::span(dims.begin(), dims.size()), periodic);
    }
    // Each rank gives its own neighbours.
    [[nodiscard]] Communicator graph(const Neighbours& mine) const;

    // Going on after RankLost: every member that is left calls the same, in the same order (docs/coll.md has the
    // recipe). More may be lost meanwhile. Cost: two rounds in which everyone talks to everyone, one more for each
    // loss.
    //
    // The bitwise and of what those who are left say; of a rank that is lost meanwhile, either with its word or
    // without.
    [[nodiscard]] std::uint64_t agree(std::uint64_t bits) const;
    // Those who are left, in the same order, without a topology.
    [[nodiscard]] Communicator shrink() const;
    // Members that this rank knows to be gone; others may know more or fewer. Not collective.
    [[nodiscard]] std::vector<Rank> lost() const;

    // Memory in which data travels fastest between ranks of a host. Not collective. Throws Error when there is none.
    template <Data T>
    [[nodiscard]] Memory<T> allocate(std::size_t count) const {
        if (count > SIZE_MAX / sizeof(T)) throw UsageError("an allocation of more bytes than there are addresses");
        return Memory<T>(allocate_bytes(count * sizeof(T)));
    }
    [[nodiscard]] MemoryBlock allocate_bytes(std::size_t bytes) const;

    static constexpr std::uint32_t contexts = 1u << 20;
    static constexpr std::uint32_t first_context = 16;  // those below are the world's own
    // A communicator for a library that agrees on contexts itself: `members` are ranks of the world in the order of
    // their new ranks; `context`, from first_context to contexts - 1, is one that no other living communicator of any
    // two of them has. Not collective, never waits. With neighbours of every rank, and a grid, it has a topology.
    [[nodiscard]] static Communicator with_context(World& world, std::span<const Rank> members, std::uint32_t context,
                                                   std::vector<Neighbours> neighbours = {},
                                                   std::optional<Grid> grid = {});

    struct State;
    explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<State> state_;
};

}  // namespace loom::coll
