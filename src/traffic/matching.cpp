#include "loom/traffic/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "loom/base/table.hpp"
#include "loom/traffic/playing.hpp"

namespace loom::traffic {
namespace {

// Sorted, those of the same two ranks and tag stand together in the order of their operations.
struct End {
    std::uint32_t from, to, tag;
    OpIndex op;
    [[nodiscard]] auto channel() const { return std::tuple(from, to, tag); }
    friend auto operator<=>(const End&, const End&) = default;
};

Rank rank_of(const Schedule& schedule, OpIndex op) {
    std::uint32_t low = 0, high = static_cast<std::uint32_t>(schedule.ranks());  // it is in [low, high)
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (schedule.first(Rank{middle}) <= op ? low : high) = middle;
    }
    return Rank{low};
}

// "rank 0, operation 2", as they are counted in each rank from 0.
std::string place_of(const Schedule& schedule, OpIndex op) {
    const Rank rank = rank_of(schedule, op);
    return fmt::format("rank {}, operation {}", rank.value, op - schedule.first(rank));
}

}  // namespace

std::string waiting_text(const Schedule& schedule, OpIndex index) {
    const Op& op = schedule.op(index);
    const bool sends = op.kind == OpKind::send;
    const std::string peer = op.peer == any_rank ? "anyone" : fmt::format("rank {}", op.peer.value);
    const std::string tag = op.tag == any_tag ? "any tag" : fmt::format("tag {}", op.tag);
    return fmt::format("{}: {} of {} bytes {} {}, {}, {}", place_of(schedule, index), sends ? "a send" : "a receive",
                       op.amount, sends ? "to" : "from", peer, tag, sends ? "is never received" : "has no message");
}

std::vector<std::string> trouble_text(const Schedule& schedule, const std::vector<OpIndex>& waiting,
                                      std::uint64_t untaken) {
    constexpr std::size_t most_lines = 20;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(waiting.size(), most_lines); ++i)
        lines.push_back(waiting_text(schedule, waiting[i]));
    if (waiting.size() > most_lines) lines.push_back(fmt::format("and {} more", waiting.size() - most_lines));
    if (untaken > 0) lines.push_back(counted(untaken, "message", "messages") + " arrived that no receive takes");
    return lines;
}

Truncations find_truncations(const Schedule& schedule) {
    std::vector<bool> unknown(schedule.ranks());
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
        unknown[rank] = std::ranges::any_of(schedule.ops(Rank{rank}), takes_anything);
    std::vector<End> sends, receives;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        OpIndex index = schedule.first(Rank{rank});
        for (const Op& op : schedule.ops(Rank{rank})) {
            if (op.kind == OpKind::send && !unknown[op.peer.value])
                sends.push_back({rank, op.peer.value, op.tag, index});
            if (op.kind == OpKind::receive && !unknown[rank]) receives.push_back({op.peer.value, rank, op.tag, index});
            ++index;
        }
    }
    std::sort(sends.begin(), sends.end());
    std::sort(receives.begin(), receives.end());
    Truncations found;
    for (std::size_t s = 0, r = 0; s < sends.size() && r < receives.size();) {
        if (sends[s].channel() != receives[r].channel()) {
            ++(sends[s].channel() < receives[r].channel() ? s : r);
            continue;
        }
        const OpIndex send = sends[s++].op, receive = receives[r++].op;
        if (schedule.op(send).amount <= schedule.op(receive).amount) continue;
        if (found.count++ == 0) found.send = send, found.receive = receive;
    }
    return found;
}

std::string truncation_text(const Schedule& schedule, const Truncations& found) {
    if (found.count == 0) return {};
    const std::string many = found.count == 1
                                 ? "1 message is larger than its receive"
                                 : fmt::format("{} messages are larger than their receives, the first", found.count);
    return fmt::format("{}: {} sends {} bytes to {}, which takes {}; a real program would end there", many,
                       place_of(schedule, found.send), schedule.op(found.send).amount,
                       place_of(schedule, found.receive), schedule.op(found.receive).amount);
}

}  // namespace loom::traffic
