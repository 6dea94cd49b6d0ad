#include "loom/traffic/schedule.hpp"

#include <fmt/format.h>

#include <utility>

namespace loom::traffic {
namespace {

bool is_message(const Op& op) {
    return op.kind == OpKind::send || op.kind == OpKind::receive;
}

// The first operation of a rank, by number, that waits for itself: what is left when those that wait for nothing are
// taken away again and again. Their count when there is none.
std::uint32_t first_in_circle(const Schedule& schedule, Rank rank, std::vector<std::uint32_t>& open,
                              std::vector<OpIndex>& ready) {
    const OpIndex begin = schedule.first(rank);
    const auto count = static_cast<std::uint32_t>(schedule.ops(rank).size());
    open.resize(count);
    ready.clear();
    for (std::uint32_t op = 0; op < count; ++op) {
        open[op] = schedule.waits_for(begin + op);
        if (open[op] == 0) ready.push_back(begin + op);
    }
    for (std::size_t next = 0; next < ready.size(); ++next)
        for (const Successor& successor : schedule.successors(ready[next]))
            if (--open[successor.op - begin] == 0) ready.push_back(successor.op);
    if (ready.size() == count) return count;
    std::uint32_t op = 0;
    while (open[op] == 0) ++op;
    return op;
}

}  // namespace

std::size_t Schedule::bytes() const {
    return first_.size() * sizeof(first_[0]) + ops_.size() * sizeof(Op) + first_edge_.size() * sizeof(first_edge_[0]) +
           edges_.size() * sizeof(Successor) + waits_.size() * sizeof(waits_[0]);
}

ScheduleBuilder::ScheduleBuilder(std::size_t ranks) {
    reset(ranks);
}

std::uint32_t ScheduleBuilder::add(Rank rank, const Op& op) {
    if (rank.value >= count_.size())
        throw Error(fmt::format("rank {} does not exist: the schedule has {} ranks", rank.value, count_.size()));
    if (ops_.size() == 0xfffffffeu) throw Error("a schedule cannot have more than 4,294,967,294 operations");
    if (rank.value < last_rank_ && rank_.empty()) {
        rank_.reserve(ops_.capacity());
        for (std::uint32_t r = 0; r <= last_rank_; ++r) rank_.insert(rank_.end(), count_[r], r);
    }
    last_rank_ = rank.value;
    ops_.push_back(op);
    if (!rank_.empty()) rank_.push_back(rank.value);
    return count_[rank.value]++;
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
    if (rank.value >= count_.size())
        throw Error(fmt::format("rank {} does not exist: the schedule has {} ranks", rank.value, count_.size()));
    edges_.push_back({rank.value, earlier, later, on_start});
}

void ScheduleBuilder::check_messages(const Schedule& schedule) const {
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        const auto ops = schedule.ops(Rank{rank});
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            if (!is_message(op)) continue;
            const bool anyone = op.kind == OpKind::receive && op.peer == any_rank;
            if (op.peer.value >= schedule.ranks() && !anyone)
                throw ScheduleError(Rank{rank}, i,
                                    fmt::format("rank {}, operation {}: its peer is rank {}, and there are {} ranks",
                                                rank, i, op.peer.value, schedule.ranks()));
            if (op.kind == OpKind::send && op.tag == any_tag)
                throw ScheduleError(Rank{rank}, i,
                                    fmt::format("rank {}, operation {}: a send needs a tag of its own", rank, i));
        }
    }
}

// Sorted by the operation they lead from, those alike in the order in which they were required.
void ScheduleBuilder::put_edges(Schedule& schedule) const {
    const std::size_t total = schedule.size();
    schedule.first_edge_.assign(total + 1, 0);
    schedule.waits_.assign(total, 0);
    bool may_circle = false;
    for (const Edge& edge : edges_) {
        if (edge.earlier >= count_[edge.rank] || edge.later >= count_[edge.rank])
            throw ScheduleError(Rank{edge.rank}, edge.later,
                                fmt::format("rank {}: operation {} waits for operation {}, and there are {} operations",
                                            edge.rank, edge.later, edge.earlier, count_[edge.rank]));
        const std::uint32_t begin = schedule.first_[edge.rank];
        ++schedule.first_edge_[begin + edge.earlier + 1];
        ++schedule.waits_[begin + edge.later];
        may_circle = may_circle || edge.later <= edge.earlier;
    }
    for (std::size_t op = 0; op < total; ++op) schedule.first_edge_[op + 1] += schedule.first_edge_[op];
    schedule.edges_.resize(edges_.size());
    // Each place is counted up to the next one's, and then put back.
    for (const Edge& edge : edges_) {
        const std::uint32_t begin = schedule.first_[edge.rank];
        schedule.edges_[schedule.first_edge_[begin + edge.earlier]++] = {begin + edge.later, edge.on_start};
    }
    for (std::size_t op = total; op > 0; --op) schedule.first_edge_[op] = schedule.first_edge_[op - 1];
    if (total > 0) schedule.first_edge_[0] = 0;
    if (!may_circle) return;
    std::vector<std::uint32_t> open;
    std::vector<OpIndex> ready;
    for (std::uint32_t rank = 0; rank < count_.size(); ++rank) {
        const std::uint32_t circle = first_in_circle(schedule, Rank{rank}, open, ready);
        if (circle != count_[rank])
            throw ScheduleError(
                Rank{rank}, circle,
                fmt::format("rank {}: operation {} waits for itself, over others or at once", rank, circle));
    }
}

void ScheduleBuilder::take_ops(Schedule& schedule) {
    if (rank_.empty()) return std::swap(ops_, schedule.ops_);
    schedule.ops_.resize(ops_.size());
    std::vector<std::uint32_t> place(schedule.first_.begin(), schedule.first_.end() - 1);
    for (std::size_t i = 0; i < ops_.size(); ++i) schedule.ops_[place[rank_[i]]++] = ops_[i];
}

void ScheduleBuilder::reset(std::size_t ranks) {
    if (ranks >= any_rank.value) throw Error(fmt::format("a schedule cannot have {} ranks", ranks));
    count_.assign(ranks, 0);
    ops_.clear();
    rank_.clear();
    last_rank_ = 0;
    edges_.clear();
}

void ScheduleBuilder::build_into(Schedule& schedule) {
    // Whatever happens below, the builder is empty afterwards.
    struct Emptied {
        ScheduleBuilder& builder;
        ~Emptied() { builder.reset(builder.count_.size()); }
    } const emptied{*this};
    schedule.first_.clear();
    schedule.first_.reserve(count_.size() + 1);
    schedule.first_.push_back(0);
    for (const std::uint32_t count : count_) schedule.first_.push_back(schedule.first_.back() + count);
    take_ops(schedule);
    check_messages(schedule);
    put_edges(schedule);
}

Schedule ScheduleBuilder::build() {
    // Its memory goes with it.
    ScheduleBuilder full(count_.size());
    std::swap(full, *this);
    Schedule schedule;
    full.build_into(schedule);
    return schedule;
}

}  // namespace loom::traffic
