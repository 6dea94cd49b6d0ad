#include "sim/live_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "loom/base/error.hpp"

namespace loom::sim {

namespace {

// As in executor.cpp: sums of these cannot overflow.
constexpr double longest_work = 4e18;
constexpr Time latest{never.ps / 2};

}  // namespace

LiveProgram::LiveProgram(const Source& source, const LocalCosts& costs)
    : numbers_(source.ranks),
      programs_(source.programs),
      costs_(costs),
      ranks_(source.ranks),
      sends_(numbers_),
      flows_(numbers_) {
    if (costs.copy < 0 || costs.reduce < 0) throw UsageError("local costs below zero");
    if (numbers_.slots() < 64) throw Error(fmt::format("{} ranks are more than can run", source.ranks));
}

LiveProgram::RankState& LiveProgram::called(Rank rank) {
    if (rank.value >= ranks_.size()) throw UsageError(fmt::format("there is no rank {}", rank.value));
    RankState& state = ranks_[rank.value];
    if (state.back == nullptr)
        throw UsageError(fmt::format("rank {} does something outside of a call about it", rank.value));
    return state;
}

LiveProgram::RankState& LiveProgram::beginning(Rank rank) {
    RankState& state = called(rank);
    if (state.end != never) throw UsageError(fmt::format("rank {} begins something after its end", rank.value));
    if (state.now > latest)
        throw Error(
            fmt::format("rank {} begins something after more than 53 days, and no more can be simulated", rank.value));
    return state;
}

void LiveProgram::keep_busy(Rank rank, double picoseconds) {
    const double busy = ranks_[rank.value].busy + picoseconds;
    if (busy > longest_work) throw Error(fmt::format("rank {} has work for more than 46 days", rank.value));
    ranks_[rank.value].busy = busy;
}

FlowIndex LiveProgram::flow_to(RankState& state, Rank from, Rank to) {
    const auto at = std::lower_bound(state.targets.begin(), state.targets.end(), to,
                                     [](const Target& target, Rank rank) { return target.to < rank; });
    if (at != state.targets.end() && at->to == to) return at->flow;
    const auto slot = static_cast<std::uint32_t>(state.targets.size());
    if (slot == numbers_.slots()) throw Error(fmt::format("rank {} sends to more than {} ranks", from.value, slot));
    const FlowIndex flow = numbers_.number(from, slot);
    flows_.grow(flow);
    flows_[flow].to = to;
    state.back->prepare(flow);
    flows_[flow].begun = state.now;
    state.targets.insert(at, {to, flow});
    return flow;
}

OpIndex LiveProgram::new_send(RankState& state, Rank from) {
    if (!state.free_sends.empty()) {
        const std::uint32_t slot = state.free_sends.back();
        state.free_sends.pop_back();
        return numbers_.number(from, slot);
    }
    if (state.sends == numbers_.slots())
        throw Error(fmt::format("rank {} has {} sends under way, and no more can be", from.value, state.sends));
    const OpIndex send = numbers_.number(from, state.sends);
    sends_.grow(send);
    ++state.sends;
    return send;
}

void LiveProgram::send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t sl) {
    RankState& state = beginning(from);
    if (to.value >= ranks_.size()) throw UsageError(fmt::format("rank {} sends to rank {}", from.value, to.value));
    if (sl >= service_levels) throw UsageError(fmt::format("service level {} does not exist", sl));
    keep_busy(from, static_cast<double>(bytes) * static_cast<double>(costs_.copy));
    const FlowIndex flow = flow_to(state, from, to);
    flows_[flow].bytes += bytes;
    const OpIndex op = new_send(state, from);
    sends_[op] = {bytes, send, flow, sl};
    state.back->begin_send(from, op, state.now);
}

bool LiveProgram::take(Rank rank, LiveMessage message) {
    const RankState& state = called(rank);
    if (message.value >= state.messages.size() || state.messages[message.value] != kept)
        throw UsageError(fmt::format("rank {} takes a message that it does not have", rank.value));
    forget(rank, message);
    return true;
}

bool LiveProgram::work(Rank rank, Time duration, Cookie what) {
    RankState& state = beginning(rank);
    if (duration < Time{}) throw UsageError(fmt::format("rank {} works for less than no time", rank.value));
    keep_busy(rank, static_cast<double>(duration.ps));
    state.core_free = std::max(state.core_free, state.now) + duration;
    if (state.core_free == state.now) return true;
    state.back->wake_at(rank, put(rank, Due::work, state.core_free, what), state.core_free);
    return false;
}

void LiveProgram::wake(Rank rank, Time at, Cookie what) {
    RankState& state = beginning(rank);
    if (at < state.now) throw UsageError(fmt::format("rank {} wants to be woken in the past", rank.value));
    if (at > latest) throw Error(fmt::format("rank {} wants to be woken after more than 53 days", rank.value));
    state.back->wake_at(rank, put(rank, Due::work, at, what), at);
}

OpIndex LiveProgram::due(Rank rank, Time at, Cookie what) {
    if (rank.value >= ranks_.size()) throw UsageError(fmt::format("there is no rank {}", rank.value));
    if (ranks_[rank.value].end != never) throw UsageError(fmt::format("rank {} is woken after its end", rank.value));
    return put(rank, Due::work, at, what);
}

void LiveProgram::end(Rank rank) {
    RankState& state = called(rank);
    if (state.end != never) throw UsageError(fmt::format("rank {} ends twice", rank.value));
    state.end = state.now;
}

LiveMessage LiveProgram::name_message(Rank rank) {
    RankState& state = ranks_[rank.value];
    std::uint32_t name = state.free_message;
    if (name == no_index) {
        name = static_cast<std::uint32_t>(state.messages.size());
        state.messages.push_back(kept);
    } else {
        state.free_message = state.messages[name];
        state.messages[name] = kept;
    }
    return LiveMessage{name};
}

void LiveProgram::forget(Rank rank, LiveMessage message) {
    RankState& state = ranks_[rank.value];
    state.messages[message.value] = state.free_message;
    state.free_message = message.value;
}

OpIndex LiveProgram::put(Rank rank, Due due, Time at, Cookie what) {
    RankState& state = ranks_[rank.value];
    constexpr unsigned sequence_bits = 60;
    state.waiting.push_back({at, static_cast<std::uint64_t>(due) << sequence_bits | state.asked++, what});
    std::push_heap(state.waiting.begin(), state.waiting.end());
    return numbers_.number(rank, 0);
}

Cookie LiveProgram::take(Rank rank) {
    RankState& state = ranks_[rank.value];
    std::pop_heap(state.waiting.begin(), state.waiting.end());
    const Cookie what = state.waiting.back().what;
    state.waiting.pop_back();
    return what;
}

std::vector<Flow> LiveProgram::flows() const {
    std::vector<Flow> flows;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
        for (const Target& target : ranks_[r].targets) {
            const FlowState& f = flows_[target.flow];
            const bool done = f.delivered == f.bytes;
            flows.push_back({Rank{r}, target.to, f.bytes, f.delivered, f.begun, done ? f.last : never});
        }
    return flows;
}

Flow& LiveProgram::flow_in(std::vector<Flow>& flows, FlowIndex flow) const {
    const Rank from = flow_from(flow), to = flow_to(flow);
    return *std::lower_bound(flows.begin(), flows.end(), flow,
                             [&](const Flow& f, FlowIndex) { return f.from != from ? f.from < from : f.to < to; });
}

std::vector<Time> LiveProgram::rank_ends() const {
    std::vector<Time> ends;
    ends.reserve(ranks_.size());
    for (const RankState& state : ranks_) ends.push_back(state.end);
    return ends;
}

bool LiveProgram::finished() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& state) { return state.end != never; });
}

std::vector<std::string> LiveProgram::open_operations(std::size_t most) const {
    std::vector<std::string> lines;
    for (std::uint32_t r = 0; r < ranks_.size() && lines.size() < most; ++r)
        if (ranks_[r].end == never) lines.push_back(fmt::format("rank {} has not ended", r));
    return lines;
}

}  // namespace loom::sim
