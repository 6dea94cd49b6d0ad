#include "sim/executor.hpp"

#include <fmt/format.h>

#include "loom/traffic/playing.hpp"

namespace loom::sim {

namespace {

// Picoseconds, so far from the end of time that sums cannot overflow.
constexpr double longest_work = 4e18;

double duration(const traffic::Op& op, const LocalCosts& costs) {
    const auto amount = static_cast<double>(op.amount);
    switch (op.kind) {
        case traffic::OpKind::compute:
            return amount;
        case traffic::OpKind::send:  // inside a host it is a copy
            return amount * static_cast<double>(costs.copy);
        case traffic::OpKind::copy:
            return amount * static_cast<double>(costs.copy) + static_cast<double>(costs.step.ps);
        case traffic::OpKind::reduce:
            return amount * static_cast<double>(costs.reduce) + static_cast<double>(costs.step.ps);
        case traffic::OpKind::receive:
            break;
    }
    return 0;
}

}  // namespace

Executor::Executor(const traffic::Schedule& schedule, const LocalCosts& costs) : schedule_(&schedule), costs_(costs) {
    if (costs.copy < 0 || costs.reduce < 0 || costs.step.ps < 0) throw UsageError("local costs below zero");
    const std::size_t ranks = schedule.ranks();
    const std::size_t size = schedule.size();
    waits_.resize(size);
    by_ticket_.resize(size);
    detail_.assign(size, no_index);
    next_posted_.assign(size, no_index);
    send_channel_.assign(size, no_index);
    open_.resize(ranks);
    rank_end_.assign(ranks, never);
    wild_of_.assign(ranks, no_index);
    first_flow_.assign(ranks + 1, 0);

    struct Key {
        std::uint32_t from, tag;
        auto operator<=>(const Key&) const = default;
    };
    std::vector<Key> keys;  // of all ranks one after the other, sorted inside a rank
    std::vector<std::size_t> first_key(ranks + 1, 0);
    std::vector<std::uint32_t> targets;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const OpIndex first = schedule.first(Rank{r});
        const auto ops = schedule.ops(Rank{r});
        next_ticket_.push_back(first);
        open_[r] = static_cast<std::uint32_t>(ops.size());
        if (ops.empty()) rank_end_[r] = Time{};
        targets.clear();
        double busy = 0;  // picoseconds, if all of it were done one after the other
        bool wild = false;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            waits_[first + i] = schedule.waits_for(static_cast<OpIndex>(first + i));
            cpus_ = std::max<std::size_t>(cpus_, op.cpu + 1u);
            if (op.kind == OpKind::send) targets.push_back(op.peer.value);
            busy += duration(op, costs);
            if (op.kind != OpKind::receive) continue;
            wild = wild || traffic::takes_anything(op);
            keys.push_back({op.peer.value, op.tag});
        }
        if (busy > longest_work) throw Error(fmt::format("rank {} has work for more than 46 days", r));
        if (wild) {
            keys.resize(first_key[r]);
            wild_of_[r] = static_cast<std::uint32_t>(wilds_.size());
            wilds_.emplace_back();
        }
        const auto mine = keys.begin() + static_cast<std::ptrdiff_t>(first_key[r]);
        std::sort(mine, keys.end());
        keys.erase(std::unique(mine, keys.end()), keys.end());
        first_key[r + 1] = keys.size();

        std::sort(targets.begin(), targets.end());
        targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
        for (const std::uint32_t to : targets) flow_to_.push_back(Rank{to});
        flow_from_.resize(flow_to_.size(), Rank{r});
        first_flow_[r + 1] = static_cast<FlowIndex>(flow_to_.size());
    }

    const auto channel = [&](std::uint32_t rank, Key key) -> std::uint32_t {
        const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(first_key[rank]);
        const auto end = keys.begin() + static_cast<std::ptrdiff_t>(first_key[rank + 1]);
        const auto found = std::lower_bound(begin, end, key);
        return found != end && *found == key ? static_cast<std::uint32_t>(found - keys.begin()) : no_index;
    };
    channels_.resize(keys.size());
    flow_bytes_.assign(flow_to_.size(), 0);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        OpIndex index = schedule.first(Rank{r});
        for (const Op& op : schedule.ops(Rank{r})) {
            if (op.kind == OpKind::receive && wild_of_[r] == no_index) {
                detail_[index] = channel(r, {op.peer.value, op.tag});
            } else if (op.kind == OpKind::send) {
                send_channel_[index] = channel(op.peer.value, {r, op.tag});
                const auto begin = flow_to_.begin() + first_flow_[r];
                const auto found = std::lower_bound(begin, flow_to_.begin() + first_flow_[r + 1], op.peer);
                detail_[index] = static_cast<FlowIndex>(found - flow_to_.begin());
                flow_bytes_[detail_[index]] += op.amount;
            }
            ++index;
        }
    }
    cpu_free_.assign(ranks * cpus_, Time{});
    flow_delivered_.assign(flow_to_.size(), 0);
    flow_begun_.assign(flow_to_.size(), never);
    flow_last_.assign(flow_to_.size(), never);
}

void Executor::refuse(Rank rank) {
    throw Error(
        fmt::format("rank {} begins something after more than 53 days, and no more can be simulated", rank.value));
}

Time Executor::work(const Op& op) const {
    switch (op.kind) {
        case OpKind::compute:
            return Time{static_cast<std::int64_t>(op.amount)};
        case OpKind::copy:
            return costs_.step + Time{static_cast<std::int64_t>(op.amount) * costs_.copy};
        case OpKind::reduce:
            return costs_.step + Time{static_cast<std::int64_t>(op.amount) * costs_.reduce};
        default:
            return {};
    }
}

bool Executor::post(Rank rank, OpIndex receive) {
    if (wild_of_[rank.value] != no_index) {
        Wild& wild = wilds_[wild_of_[rank.value]];
        const Op& op = schedule_->op(receive);
        const auto early = std::find_if(wild.early.begin(), wild.early.end(),
                                        [&](const Wild::Early& e) { return traffic::takes(op, e.from, e.tag); });
        if (early == wild.early.end()) {
            wild.posted.push_back(receive);
            return false;
        }
        wild.early.erase(early);
        return true;
    }
    Channel& channel = channels_[detail_[receive]];
    if (channel.early != 0) {
        --channel.early;
        return true;
    }
    (channel.head == no_index ? channel.head : next_posted_[channel.tail]) = receive;
    channel.tail = receive;
    return false;
}

OpIndex Executor::match(Rank rank, Rank from, OpIndex send) {
    if (wild_of_[rank.value] != no_index) {
        Wild& wild = wilds_[wild_of_[rank.value]];
        const std::uint32_t tag = schedule_->op(send).tag;
        const auto posted = std::find_if(wild.posted.begin(), wild.posted.end(),
                                         [&](OpIndex r) { return traffic::takes(schedule_->op(r), from, tag); });
        if (posted == wild.posted.end()) {
            wild.early.push_back({from, tag});
            return no_index;
        }
        const OpIndex receive = *posted;
        wild.posted.erase(posted);
        return receive;
    }
    if (send_channel_[send] == no_index) return no_index;
    Channel& channel = channels_[send_channel_[send]];
    if (channel.head == no_index) {
        ++channel.early;
        return no_index;
    }
    const OpIndex receive = channel.head;
    channel.head = next_posted_[receive];
    return receive;
}

std::vector<Flow> Executor::flows() const {
    std::vector<Flow> flows;
    flows.reserve(flow_to_.size());
    for (std::uint32_t r = 0; r + 1 < first_flow_.size(); ++r)
        for (FlowIndex f = first_flow_[r]; f < first_flow_[r + 1]; ++f) {
            const bool done = flow_delivered_[f] == flow_bytes_[f];
            flows.push_back({Rank{r}, flow_to_[f], flow_bytes_[f], flow_delivered_[f], flow_begun_[f],
                             done ? flow_last_[f] : never});
        }
    return flows;
}

std::vector<Time> Executor::rank_ends() const {
    return rank_end_;
}

bool Executor::finished() const {
    return std::all_of(open_.begin(), open_.end(), [](std::uint32_t open) { return open == 0; });
}

std::vector<std::string> Executor::open_operations(std::size_t most) const {
    std::vector<std::string> lines;
    const auto say = [&](Rank rank, OpIndex receive) {
        if (lines.size() >= most) return;
        const Op& op = schedule_->op(receive);
        const std::string peer = op.peer == traffic::any_rank ? "any rank" : fmt::format("rank {}", op.peer.value);
        const std::string tag = op.tag == traffic::any_tag ? "any tag" : fmt::format("tag {}", op.tag);
        lines.push_back(fmt::format("rank {} waits for {} bytes from {} ({})", rank.value, op.amount, peer, tag));
    };
    for (std::uint32_t r = 0; r < open_.size() && lines.size() < most; ++r) {
        if (open_[r] == 0) continue;
        if (wild_of_[r] != no_index)
            for (const OpIndex receive : wilds_[wild_of_[r]].posted) say(Rank{r}, receive);
        const OpIndex first = schedule_->first(Rank{r});
        std::vector<std::uint32_t> seen;
        for (OpIndex op = first; op < first + schedule_->ops(Rank{r}).size(); ++op) {
            if (schedule_->op(op).kind != OpKind::receive || detail_[op] == no_index) continue;
            if (std::find(seen.begin(), seen.end(), detail_[op]) != seen.end()) continue;
            seen.push_back(detail_[op]);
            for (OpIndex p = channels_[detail_[op]].head; p != no_index; p = next_posted_[p]) say(Rank{r}, p);
        }
    }
    return lines;
}

}  // namespace loom::sim
