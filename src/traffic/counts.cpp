#include "loom/traffic/counts.hpp"

#include <algorithm>

namespace loom::traffic {

Counts count(const Schedule& schedule) {
    Counts counts;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        std::uint64_t sent = 0, messages = 0;
        for (const Op& op : schedule.ops(Rank{rank})) {
            if (op.kind == OpKind::send) sent += op.amount, ++messages;
            if (op.kind == OpKind::copy) counts.copied += op.amount, ++counts.copies;
            if (op.kind == OpKind::reduce) counts.reduced += op.amount, ++counts.reductions;
        }
        counts.messages += messages;
        counts.bytes += sent;
        counts.most_sent = std::max(counts.most_sent, sent);
        counts.most_messages = std::max(counts.most_messages, messages);
    }
    return counts;
}

}  // namespace loom::traffic
