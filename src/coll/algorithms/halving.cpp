#include "coll/algorithms/halving.hpp"

#include <algorithm>
#include <array>

#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

// The parts that a rank has after `rounds` rounds.
struct Range {
    std::uint32_t first, last;
};
Range range_after(std::uint32_t number, std::uint32_t power, std::uint32_t rounds) {
    Range range{0, power};
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const std::uint32_t middle = (range.first + range.last) / 2;
        if ((number >> round & 1) == 0)
            range.last = middle;
        else
            range.first = middle;
    }
    return range;
}

std::uint32_t rounds_of(const Folding& folding) {
    std::uint32_t rounds = 0;
    while (1u << rounds < folding.power()) ++rounds;
    return rounds;
}

Piece piece_of(const Folding& folding, const Call& call, const Range& range) {
    return parts(call.bytes, call.element, range.first, range.last, folding.power());
}

}  // namespace

Value fold_in(Writer& writer, const Folding& folding, const Call& call, const Value& own, Place base,
              std::uint32_t tag) {
    const Rank me = writer.me();
    if (!folding.paired(me)) return own;
    const std::array pair{Rank{me.value & ~1u}, Rank{me.value | 1u}};
    return collect(writer, pair, own, base, call.bytes, call.commutative, tag);
}

Halved halve(Writer& writer, const Folding& folding, const Call& call, Value whole, Place base, std::uint32_t tag) {
    const std::uint32_t number = folding.number(writer.me());
    const std::uint32_t rounds = rounds_of(folding);
    Value held = std::move(whole);
    Place origin = held.at;  // of the whole of which `held` is the part that is left
    Halved halved;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const std::uint32_t other = number ^ (1u << round);
        const Piece keep = piece_of(folding, call, range_after(number, folding.power(), round + 1));
        const Piece give = piece_of(folding, call, range_after(other, folding.power(), round + 1));
        const Rank peer = folding.rank(other);
        Waits sent;
        if (give.bytes > 0) {
            const Step step = writer.send(peer, origin + give.at, give.bytes, held.ready, tag + round);
            if (origin == base) sent = step;
        }
        halved.sent.push_back(sent);
        if (keep.bytes > 0) {
            held.at = origin + keep.at;
            const std::array pair{std::min(writer.me(), peer), std::max(writer.me(), peer)};
            held = collect(writer, pair, held, base + keep.at, keep.bytes, call.commutative, tag + round);
        }
        origin = base;
    }
    const Range range = range_after(number, folding.power(), rounds);
    halved.first = range.first;
    halved.last = range.last;
    halved.ready = held.ready;
    return halved;
}

void double_up(Writer& writer, const Folding& folding, const Call& call, const Halved& halved, Place base,
               std::uint32_t tag, Waits& done) {
    const std::uint32_t number = folding.number(writer.me());
    Waits here = halved.ready;
    for (std::uint32_t round = rounds_of(folding); round-- > 0;) {
        const std::uint32_t other = number ^ (1u << round);
        const Piece mine = piece_of(folding, call, range_after(number, folding.power(), round + 1));
        const Piece theirs = piece_of(folding, call, range_after(other, folding.power(), round + 1));
        const Rank peer = folding.rank(other);
        Waits next = here;
        if (theirs.bytes > 0)
            next.add(writer.receive(peer, base + theirs.at, theirs.bytes, halved.sent[round], tag + round));
        if (mine.bytes > 0) writer.send(peer, base + mine.at, mine.bytes, here, tag + round);
        here = next;
    }
    done.add(here);
}

void double_to(Writer& writer, const Folding& folding, const Call& call, const Halved& halved, Place base, Rank goal,
               std::uint32_t tag) {
    const std::uint32_t number = folding.number(writer.me());
    const std::uint32_t goal_number = folding.number(goal);
    Waits here = halved.ready;
    for (std::uint32_t round = rounds_of(folding); round-- > 0;) {
        const std::uint32_t other = number ^ (1u << round);
        const Piece mine = piece_of(folding, call, range_after(number, folding.power(), round + 1));
        const Piece theirs = piece_of(folding, call, range_after(other, folding.power(), round + 1));
        const Rank peer = folding.rank(other);
        if ((number >> round & 1) != (goal_number >> round & 1)) {
            if (mine.bytes > 0) writer.send(peer, base + mine.at, mine.bytes, here, tag + round);
            return;
        }
        if (theirs.bytes > 0)
            here.add(writer.receive(peer, base + theirs.at, theirs.bytes, halved.sent[round], tag + round));
    }
}

Waits exchange_all(Writer& writer, const Team& team, const Value& own, Place target, std::uint64_t bytes,
                   bool commutative, std::uint32_t tag, Waits free) {
    const Folding folding(team.size());
    const Rank me{team.me};
    const Rank partner = Folding::partner(me);
    if (!folding.stays(me)) {
        const Step given = writer.send(team[partner.value], own.at, bytes, own.ready, tag);
        if (own.at == target) free.add(given);
        return writer.receive(team[partner.value], target, bytes, free, tag + 1);
    }
    const std::uint32_t rounds = rounds_of(folding);
    std::uint32_t open = rounds + (folding.paired(me) ? 1 : 0);
    Value held = own;
    // What is being sent stays as it is where it may: the sum is put where the other's value came in, which at last is
    // the target.
    const auto join_with = [&](Rank other, const Waits& sent, std::uint32_t number) {
        const bool last = --open == 0;
        const bool there = held.at == target;
        held.readers = sent;
        held.kept = held.kept || (commutative && !(last && there));
        const std::array pair{team[std::min(me, other).value], team[std::max(me, other).value]};
        held =
            collect(writer, pair, held, last ? std::optional(target) : std::nullopt, bytes, commutative, number, free);
        if (there) free.add(sent).add(held.ready);
    };
    if (folding.paired(me)) join_with(partner, {}, tag);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const Rank other = folding.rank(folding.number(me) ^ (1u << round));
        const Step sent = writer.send(team[other.value], held.at, bytes, held.ready, tag + 2 + round);
        join_with(other, sent, tag + 2 + round);
    }
    if (folding.paired(me)) writer.send(team[partner.value], held.at, bytes, held.ready, tag + 1);
    return held.ready;
}

}  // namespace loom::coll
