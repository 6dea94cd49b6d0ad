#include "loom/traffic/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "loom/base/error.hpp"
#include "traffic/patterns.hpp"

namespace loom::traffic {
namespace {

constexpr OpIndex none = 0xffffffffu;

// A message's end: sorted, those of the same two ranks and tag stand together in the order of their operations.
struct End {
    std::uint32_t from, to, tag;
    OpIndex op;
    [[nodiscard]] auto channel() const { return std::tuple(from, to, tag); }
    friend auto operator<=>(const End&, const End&) = default;
};

std::vector<End> ends(const Schedule& schedule, OpKind kind) {
    std::vector<End> all;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        OpIndex index = schedule.first(Rank{rank});
        for (const Op& op : schedule.ops(Rank{rank})) {
            if (op.kind == kind) {
                if (op.peer == any_rank || op.tag == any_tag)
                    throw Error(fmt::format("rank {}: rounds need receives that name their rank and tag", rank));
                const bool sends = kind == OpKind::send;
                all.push_back({sends ? rank : op.peer.value, sends ? op.peer.value : rank, op.tag, index});
            }
            ++index;
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

// By send: its receive.
std::vector<OpIndex> match(const Schedule& schedule) {
    const auto sends = ends(schedule, OpKind::send);
    const auto receives = ends(schedule, OpKind::receive);
    std::vector<OpIndex> receive_of(schedule.size(), none);
    for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
        const bool lost = i >= receives.size() || (i < sends.size() && sends[i].channel() < receives[i].channel());
        if (lost || i >= sends.size() || sends[i].channel() != receives[i].channel()) {
            const End& end = lost ? sends[i] : receives[i];
            throw Error(fmt::format("rank {} {} rank {} a message with tag {} that is not {} there",
                                    lost ? end.from : end.to, lost ? "sends" : "expects from", lost ? end.to : end.from,
                                    end.tag, lost ? "received" : "sent"));
        }
        receive_of[sends[i].op] = receives[i].op;
    }
    return receive_of;
}

}  // namespace

PatternPtr rounds_of(const Schedule& schedule, std::string name, std::size_t ranks) {
    if (ranks < schedule.ranks())
        throw Error(fmt::format("a schedule of {} ranks does not fit {} ranks", schedule.ranks(), ranks));
    const auto receive_of = match(schedule);
    std::vector<std::uint32_t> waits(schedule.size());
    std::vector<std::uint32_t> round(schedule.size(), 0);
    std::vector<OpIndex> ready;
    for (OpIndex op = 0; op < schedule.size(); ++op) {
        waits[op] = schedule.waits_for(op) + (schedule.op(op).kind == OpKind::receive ? 1 : 0);
        if (waits[op] == 0) ready.push_back(op);
    }
    const auto pass = [&](OpIndex op, std::uint32_t at_least) {
        round[op] = std::max(round[op], at_least);
        if (--waits[op] == 0) ready.push_back(op);
    };
    for (std::size_t next = 0; next < ready.size(); ++next) {
        const OpIndex op = ready[next];
        if (receive_of[op] != none) pass(receive_of[op], round[op] + 1);
        for (const Successor& successor : schedule.successors(op)) pass(successor.op, round[op]);
    }
    if (ready.size() != schedule.size())
        throw Error(fmt::format("{} operations wait for ever", schedule.size() - ready.size()));

    std::vector<std::vector<Pair>> stages;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        const OpIndex first = schedule.first(Rank{rank});
        for (OpIndex i = 0; i < schedule.ops(Rank{rank}).size(); ++i) {
            const Op& op = schedule.op(first + i);
            if (op.kind != OpKind::send || op.peer.value == rank) continue;
            if (round[first + i] >= stages.size()) stages.resize(round[first + i] + 1);
            stages[round[first + i]].push_back({Rank{rank}, op.peer});
        }
    }
    const std::size_t count = stages.size();
    return from_function(std::move(name), ranks, count,
                         [stages = std::move(stages)](std::size_t stage, auto& out) { out = stages[stage]; });
}

}  // namespace loom::traffic
