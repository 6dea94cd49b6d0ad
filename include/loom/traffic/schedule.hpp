// What each rank does, in which order: graphs of sends, receives and local work. A collective is one of these,
// and so is a trace of a program; ranks execute it, `congestion` counts it, `sim` plays it, `model` predicts it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::traffic {

enum class OpKind : std::uint8_t {
    send,     // `bytes` to `peer`
    receive,  // `bytes` from `peer`; matches the peer's sends with the same tag in order
    compute,  // `work` on a core
    copy,     // `bytes` from place to place on the rank itself
    reduce,   // `bytes` combined with `bytes`
};

using OpIndex = std::uint32_t;  // position in the whole schedule; a rank's operations are consecutive

inline constexpr Rank any_rank{0xffffffffu};           // a receive that takes a message from anyone
inline constexpr std::uint32_t any_tag = 0xffffffffu;  // a receive that takes any tag

// 24 bytes.
struct Op {
    std::uint64_t amount = 0;  // bytes; for compute picoseconds
    Rank peer;                 // of send and receive
    std::uint32_t tag = 0;     // of send and receive
    OpKind kind = OpKind::compute;
    std::uint8_t cpu = 0;  // which core of the rank is busy with it
    std::uint8_t nic = 0;  // which adapter of the rank
    std::uint8_t sl = 0;   // service level of a send

    friend bool operator==(const Op&, const Op&) = default;
};

// An edge to an operation that waits. `on_start`: for the start of the one before, not its completion.
struct Successor {
    OpIndex op = 0;
    bool on_start = false;
    friend bool operator==(const Successor&, const Successor&) = default;
};

// Immutable and contiguous: 36 bytes an operation, 12 of them for its edges, and 8 an edge. Free to share in threads.
class Schedule {
public:
    [[nodiscard]] std::size_t ranks() const { return first_.empty() ? 0 : first_.size() - 1; }
    [[nodiscard]] std::size_t size() const { return ops_.size(); }
    [[nodiscard]] OpIndex first(Rank rank) const { return first_[rank.value]; }
    [[nodiscard]] std::span<const Op> ops() const { return ops_; }
    [[nodiscard]] std::span<const Op> ops(Rank rank) const {
        return std::span(ops_).subspan(first_[rank.value], first_[rank.value + 1] - first_[rank.value]);
    }
    [[nodiscard]] const Op& op(OpIndex index) const { return ops_[index]; }
    // Edges stay inside a rank.
    [[nodiscard]] std::span<const Successor> successors(OpIndex index) const {
        return std::span(edges_).subspan(first_edge_[index], first_edge_[index + 1] - first_edge_[index]);
    }
    // Asks the caches for what op() and successors() will read.
    void prefetch(OpIndex index) const {
        __builtin_prefetch(&ops_[index]);
        __builtin_prefetch(&first_edge_[index]);
    }
    // How many edges lead to an operation; those with 0 may begin at once.
    [[nodiscard]] std::uint32_t waits_for(OpIndex index) const { return waits_[index]; }
    [[nodiscard]] std::size_t bytes() const;  // memory held

    friend bool operator==(const Schedule&, const Schedule&) = default;

private:
    friend class ScheduleBuilder;
    std::vector<std::uint32_t> first_;  // by rank, and the end
    std::vector<Op> ops_;
    std::vector<std::uint64_t> first_edge_;  // by operation, and the end
    std::vector<Successor> edges_;
    std::vector<std::uint32_t> waits_;
};

// Something about one operation of a schedule is wrong.
class ScheduleError : public Error {
public:
    ScheduleError(Rank where, std::uint32_t number, const std::string& message)
        : Error(message), rank(where), op(number) {}
    Rank rank;
    std::uint32_t op;  // its number inside the rank
};

// Collects operations rank by rank or in any order, then freezes them. Cost: linear in operations and edges; rank by
// rank takes no memory beyond the schedule's own and 16 bytes an edge.
class ScheduleBuilder {
public:
    explicit ScheduleBuilder(std::size_t ranks);

    // The operation's number inside its rank: 0, 1, 2... Throws Error when there are more than 2^32 - 2 in all.
    std::uint32_t add(Rank rank, const Op& op);
    std::uint32_t send(Rank rank, Rank to, std::uint64_t bytes, std::uint32_t tag = 0);
    std::uint32_t receive(Rank rank, Rank from, std::uint64_t bytes, std::uint32_t tag = 0);
    std::uint32_t compute(Rank rank, Time work, std::uint8_t cpu = 0);

    // `later` begins after `earlier` has completed (or begun, with on_start); both of one rank.
    void require(Rank rank, std::uint32_t later, std::uint32_t earlier, bool on_start = false);

    // Throws ScheduleError naming rank and operation for a peer or an edge that does not exist and for a circle of
    // dependencies. The builder is empty afterwards.
    [[nodiscard]] Schedule build();
    // The same into the memory of an older schedule; the builder keeps its own memory for what is built next.
    void build_into(Schedule& schedule);
    // Empty, for so many ranks.
    void reset(std::size_t ranks);

private:
    struct Edge {
        std::uint32_t rank, earlier, later;
        bool on_start;
    };
    void check_messages(const Schedule& schedule) const;
    void put_edges(Schedule& schedule) const;
    void take_ops(Schedule& schedule);

    std::vector<std::uint32_t> count_;  // operations by rank
    std::vector<Op> ops_;               // in the order of adding
    std::vector<std::uint32_t> rank_;   // of each; empty as long as ranks came in order
    std::uint32_t last_rank_ = 0;
    std::vector<Edge> edges_;
};

}  // namespace loom::traffic
