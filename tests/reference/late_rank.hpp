// What happens when one rank does not come: all others do what they can. Slow and obvious.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "loom/traffic/schedule.hpp"

namespace loom::reference {

// The ranks that get to the end of their operations although `late` never begins; sends do not wait for receives.
inline std::vector<Rank> finish_without(const traffic::Schedule& schedule, Rank late) {
    using traffic::OpKind;
    std::vector<bool> done(schedule.size(), false);
    std::vector<std::uint32_t> waits(schedule.size());
    for (std::uint32_t i = 0; i < schedule.size(); ++i) waits[i] = schedule.waits_for(i);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, int> arrived;  // from, to, tag
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
            if (Rank{rank} == late) continue;
            for (std::uint32_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i) {
                const std::uint32_t number = schedule.first(Rank{rank}) + i;
                const traffic::Op& op = schedule.op(number);
                if (done[number] || waits[number] != 0) continue;
                if (op.kind == OpKind::receive && arrived[{op.peer.value, rank, op.tag}]-- <= 0) {
                    ++arrived[{op.peer.value, rank, op.tag}];
                    continue;
                }
                if (op.kind == OpKind::send) ++arrived[{rank, op.peer.value, op.tag}];
                for (const traffic::Successor& next : schedule.successors(number)) --waits[next.op];
                done[number] = moved = true;
            }
        }
    }
    std::vector<Rank> finished;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        bool all = Rank{rank} != late;
        for (std::uint32_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i)
            all = all && done[schedule.first(Rank{rank}) + i];
        if (all) finished.push_back(Rank{rank});
    }
    return finished;
}

}  // namespace loom::reference
