#include "coll/algorithms/rings.hpp"

namespace loom::coll {

void pass_round(Writer& writer, const Team& team, Place base, const BlockPieces& layout, const Value& own,
                std::span<const std::uint32_t> held, std::uint32_t tag) {
    const std::uint32_t n = team.size();
    const std::uint32_t left = (team.me + n - 1) % n;
    const std::uint32_t right = (team.me + 1) % n;
    const auto has = [&](std::uint32_t v, std::uint32_t block) {
        return block >= v && block - v < (held.empty() ? 1 : held[v]);
    };
    std::vector<Waits> here(n);
    for (std::uint32_t t = 0; t + 1 < n; ++t) {
        const std::uint32_t block = (left + n - t) % n;
        if (has(team.me, block)) {
            here[block] = own.ready;
        } else if (layout[block].bytes > 0) {
            here[block] = writer.receive(team[left], base + layout[block].at, layout[block].bytes, {}, tag + block);
        }
    }
    here[team.me] = own.ready;
    for (std::uint32_t t = 0; t + 1 < n; ++t) {
        const std::uint32_t block = (team.me + n - t) % n;
        if (layout[block].bytes == 0 || has(right, block)) continue;
        const Place from = block == team.me ? own.at : base + layout[block].at;
        writer.send(team[right], from, layout[block].bytes, here[block], tag + block);
    }
}

}  // namespace loom::coll
