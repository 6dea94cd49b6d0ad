#include "loom/traffic/schedule.hpp"

#include <fmt/format.h>

#include <utility>

namespace loom::traffic {
namespace {

bool is_message(const Op& op) {
    return op.kind == OpKind::send || op.kind == OpKind::receive;
}

// Whether every operation can be reached by taking away, again and again, those that wait for nothing.
// `open` is used up; the first operation that is left is returned.
template <class SuccessorsOf>
std::uint32_t first_in_circle(std::vector<std::uint32_t>& open, std::vector<std::uint32_t>& ready,
                              const SuccessorsOf& successors_of) {
    const auto count = static_cast<std::uint32_t>(open.size());
    ready.clear();
    for (std::uint32_t op = 0; op < count; ++op)
        if (open[op] == 0) ready.push_back(op);
    for (std::size_t next = 0; next < ready.size(); ++next)
        for (const std::uint32_t later : successors_of(ready[next]))
            if (--open[later] == 0) ready.push_back(later);
    if (ready.size() == count) return count;
    std::uint32_t op = 0;
    while (open[op] == 0) ++op;
    return op;
}

}  // namespace

std::size_t Schedule::bytes() const {
    return first_.capacity() * sizeof(first_[0]) + ops_.capacity() * sizeof(Op) +
           first_edge_.capacity() * sizeof(first_edge_[0]) + edges_.capacity() * sizeof(Successor) +
           waits_.capacity() * sizeof(waits_[0]);
}

ScheduleBuilder::ScheduleBuilder(std::size_t ranks) : ranks_(ranks) {
    if (ranks >= any_rank.value) throw Error(fmt::format("a schedule cannot have {} ranks", ranks));
}

std::uint32_t ScheduleBuilder::add(Rank rank, const Op& op) {
    if (rank.value >= ranks_.size())
        throw Error(fmt::format("rank {} does not exist: the schedule has {} ranks", rank.value, ranks_.size()));
    if (total_ == 0xfffffffeu) throw Error("a schedule cannot have more than 4,294,967,294 operations");
    ++total_;
    auto& ops = ranks_[rank.value].ops;
    ops.push_back(op);
    return static_cast<std::uint32_t>(ops.size() - 1);
}

std::uint32_t ScheduleBuilder::send(Rank rank, Rank to, std::uint64_t bytes, std::uint32_t tag) {
    return add(rank, {.amount = bytes, .peer = to, .tag = tag, .kind = OpKind::send});
}

std::uint32_t ScheduleBuilder::receive(Rank rank, Rank from, std::uint64_t bytes, std::uint32_t tag) {
    return add(rank, {.amount = bytes, .peer = from, .tag = tag, .kind = OpKind::receive});
}

std::uint32_t ScheduleBuilder::compute(Rank rank, Time work, std::uint8_t cpu) {
    if (work.ps < 0) throw Error(fmt::format("rank {}: work of {} is negative", rank.value, to_string(work)));
    return add(rank, {.amount = static_cast<std::uint64_t>(work.ps), .peer = {}, .kind = OpKind::compute, .cpu = cpu});
}

void ScheduleBuilder::require(Rank rank, std::uint32_t later, std::uint32_t earlier, bool on_start) {
    if (rank.value >= ranks_.size())
        throw Error(fmt::format("rank {} does not exist: the schedule has {} ranks", rank.value, ranks_.size()));
    ranks_[rank.value].edges.push_back({earlier, later, on_start});
}

Schedule ScheduleBuilder::build() {
    // Taken first: whatever happens below, the builder is empty afterwards.
    std::vector<RankOps> ranks = std::exchange(ranks_, std::vector<RankOps>(ranks_.size()));
    const std::size_t total = std::exchange(total_, 0);
    std::size_t edges = 0;
    for (const RankOps& rank : ranks) edges += rank.edges.size();

    Schedule schedule;
    schedule.first_.reserve(ranks.size() + 1);
    schedule.first_.push_back(0);
    schedule.ops_.reserve(total);
    schedule.first_edge_.assign(total + 1, 0);
    schedule.edges_.resize(edges);
    schedule.waits_.assign(total, 0);

    std::vector<std::uint32_t> open, ready;
    std::vector<std::uint64_t> place;
    std::uint64_t edges_before = 0;
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
        const RankOps mine = std::move(ranks[r]);  // memory goes back rank by rank
        const std::uint32_t begin = schedule.first_.back();
        const auto count = static_cast<std::uint32_t>(mine.ops.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            const Op& op = mine.ops[i];
            if (!is_message(op)) continue;
            const bool anyone = op.kind == OpKind::receive && op.peer == any_rank;
            if (op.peer.value >= ranks.size() && !anyone)
                throw ScheduleError(Rank{r}, i,
                                    fmt::format("rank {}, operation {}: its peer is rank {}, and there are {} ranks", r,
                                                i, op.peer.value, ranks.size()));
            if (op.kind == OpKind::send && op.tag == any_tag)
                throw ScheduleError(Rank{r}, i,
                                    fmt::format("rank {}, operation {}: a send needs a tag of its own", r, i));
        }
        schedule.ops_.insert(schedule.ops_.end(), mine.ops.begin(), mine.ops.end());
        schedule.first_.push_back(begin + count);

        // Edges sorted by the operation they lead from, in the order in which they were required.
        place.assign(count + 1, 0);
        for (const auto& edge : mine.edges) {
            if (edge.earlier >= count || edge.later >= count)
                throw ScheduleError(
                    Rank{r}, edge.later,
                    fmt::format("rank {}: operation {} waits for operation {}, and there are {} operations", r,
                                edge.later, edge.earlier, count));
            ++place[edge.earlier + 1];
            ++schedule.waits_[begin + edge.later];
        }
        place[0] = edges_before;
        for (std::uint32_t i = 0; i < count; ++i) {
            place[i + 1] += place[i];
            schedule.first_edge_[begin + i + 1] = place[i + 1];
        }
        for (const auto& edge : mine.edges)
            schedule.edges_[place[edge.earlier]++] = {begin + edge.later, edge.on_start};
        edges_before += mine.edges.size();

        if (mine.edges.empty()) continue;
        open.assign(schedule.waits_.begin() + begin, schedule.waits_.begin() + begin + count);
        std::vector<std::uint32_t> later;
        const std::uint32_t circle = first_in_circle(
            open, ready, [&](std::uint32_t op) -> const auto& {
                later.clear();
                for (const Successor& successor : schedule.successors(begin + op))
                    later.push_back(successor.op - begin);
                return later;
            });
        if (circle != count)
            throw ScheduleError(
                Rank{r}, circle,
                fmt::format("rank {}: operation {} waits for itself, over others or at once", r, circle));
    }
    return schedule;
}

}  // namespace loom::traffic
