// Reductions of which each rank gets its block. The input is all blocks one behind the other. In place the input is in
// the output, at whose beginning the result is put: over blocks of others, so not before they are sent.
#include <algorithm>
#include <array>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

BlockPieces layout_of(const Group& group, const Call& call) {
    return call.what == Collective::reduce_scatter_block ? BlockPieces::even(call.bytes, group.size)
                                                         : BlockPieces::packed(call.received.bytes);
}

bool alone(const Group& group, const Call& call, const BlockPieces& layout, Writer& writer) {
    if (group.size > 1) return false;
    if (!call.in_place && layout[0].bytes > 0) writer.copy(input(), output(), layout[0].bytes);
    return true;
}

// Each rank's block goes to it right away and is combined there, in order.
void linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    if (alone(group, call, layout, writer)) return;
    const Team team = everyone(group, group.me);
    const Place given = own_input(call);
    const Piece& mine = layout[group.me.value];
    Waits sent;
    for (std::uint32_t i = 1; i < team.size(); ++i) {
        const Piece& block = layout[team[i].value];
        if (block.bytes > 0) sent.add(writer.send(team[i], given + block.at, block.bytes));
    }
    if (mine.bytes == 0) return;
    const auto ranks = everyone(group).ranks;
    Value own = own_value(given + mine.at);
    if (!call.in_place || mine.at == 0) {
        collect(writer, ranks, own, output(), mine.bytes, call.commutative);
        return;
    }
    own.kept = true;
    const Value sum = collect(writer, ranks, own, std::nullopt, mine.bytes, call.commutative);
    writer.copy(sum.at, output(), mine.bytes, sent.add(sum.ready));
}

// In step i a rank sends to the one i ahead and combines what comes from the one i behind. Those behind come in falling
// order: first the lower ranks, down to 0, then the higher ones from the last down; each sum grows to its left, and at
// last the lower one is put before the higher one: order is kept.
void pairwise(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    if (alone(group, call, layout, writer)) return;
    const Team team = everyone(group, group.me);
    const std::uint32_t n = team.size();
    const std::uint32_t me = group.me.value;
    const Place given = own_input(call);
    const Piece& mine = layout[me];
    const bool aside = call.in_place && mine.at != 0;  // the result must not be put over what is still to be sent
    Value low = own_value(given + mine.at);
    low.kept = low.kept || aside;
    Value high;
    Waits turn, sent;
    for (std::uint32_t i = 1; i < n; ++i) {
        const Rank from = team[n - i];
        const bool lower = from.value < me;
        const bool first_high = from.value == n - 1;
        Waits here;
        Place room;
        if (mine.bytes > 0) {
            const bool ends_there = first_high || (i == 1 && me == n - 1 && call.commutative);
            room = ends_there && !call.in_place ? output() : writer.take_scratch(mine.bytes);
            here = writer.receive(from, room, mine.bytes);
        }
        const Piece& block = layout[team[i].value];
        Waits done = here;
        if (block.bytes > 0) {
            const Step step = writer.send(team[i], given + block.at, block.bytes, turn);
            done.add(step);
            sent.add(step);
        }
        if (!done.empty()) turn = done;
        if (mine.bytes == 0) continue;
        if (first_high) {
            high = {room, here, false, {}};
            continue;
        }
        Value& sum = lower ? low : high;
        const std::array values{Value{room, here, false, {}}, sum};
        // The last rank has none above it: what it combines becomes the result.
        const bool result = lower && me == n - 1;
        sum = result && !aside ? combine(writer, values, output(), mine.bytes, call.commutative)
                               : combine(writer, values, mine.bytes, call.commutative);
    }
    if (mine.bytes == 0) return;
    if (me + 1 < n) {
        const std::array values{low, high};
        low = aside ? combine(writer, values, mine.bytes, call.commutative)
                    : combine(writer, values, output(), mine.bytes, call.commutative);
    }
    if (aside) writer.copy(low.at, output(), mine.bytes, sent.add(low.ready));
}

// Halves by distance: the far half first, so that what is left at last is the own block. Order is lost.
void recursive_halving(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    if (alone(group, call, layout, writer)) return;
    const Folding folding(group.size);
    const std::uint64_t total = layout.total();
    if (total == 0) return;
    const Piece& mine = layout[group.me.value];
    const Rank partner = Folding::partner(group.me);
    const Place given = own_input(call);
    constexpr std::uint32_t back = 64;
    if (!folding.stays(group.me)) {
        const Step sent = writer.send(partner, given, total);
        if (mine.bytes > 0) writer.receive(partner, output(), mine.bytes, call.in_place ? Waits(sent) : Waits(), back);
        return;
    }
    const std::uint32_t number = folding.number(group.me);
    // Numbers [i, j) stand for these blocks.
    const auto blocks = [&](std::uint32_t i, std::uint32_t j) {
        const auto begin = [&](std::uint32_t k) {
            if (k == folding.power()) return group.size;
            const Rank rank = folding.rank(k);
            return folding.paired(rank) ? rank.value & ~1u : rank.value;
        };
        return layout.range(begin(i), begin(j));
    };
    Value held = own_value(given);  // the part of the whole that is left, at its place from held.at on
    const Place base = writer.take_scratch(total);
    if (folding.paired(group.me)) {
        const std::array pair{partner, group.me};
        held = collect(writer, pair, held, base, total, true, 0);
    }
    Place origin = held.at;
    Waits busy;  // sends that may read where the result will be
    std::uint32_t first = 0, last = folding.power(), tag = 1;
    for (std::uint32_t reach = folding.power() / 2; reach > 0; reach /= 2, ++tag) {
        const Rank peer = folding.rank(number ^ reach);
        const std::uint32_t middle = (first + last) / 2;
        const bool upper = (number & reach) != 0;
        const Piece give = upper ? blocks(first, middle) : blocks(middle, last);
        const Piece keep = upper ? blocks(middle, last) : blocks(first, middle);
        (upper ? first : last) = middle;
        if (give.bytes > 0) busy.add(writer.send(peer, origin + give.at, give.bytes, held.ready, tag));
        if (keep.bytes > 0) {
            const std::array pair{std::min(group.me, peer), std::max(group.me, peer)};
            Value own = held;
            own.at = origin + keep.at;
            // The last step's sum may be the result itself.
            const bool ends = reach == 1 && !call.in_place && !folding.paired(group.me);
            held = collect(writer, pair, own, ends ? output() : base + keep.at, keep.bytes, true, tag);
        }
        origin = base;
    }
    if (folding.paired(group.me)) {
        const Piece& theirs = layout[partner.value];
        if (theirs.bytes > 0) busy.add(writer.send(partner, base + theirs.at, theirs.bytes, held.ready, back));
    }
    const bool there = !call.in_place && !folding.paired(group.me);
    if (!there && mine.bytes > 0)
        writer.copy(base + mine.at, output(), mine.bytes, call.in_place ? busy.add(held.ready) : held.ready);
}

// A block begins behind its owner and goes round to it, growing on the way.
void ring(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    if (alone(group, call, layout, writer)) return;
    const std::uint32_t n = group.size;
    const std::uint32_t me = group.me.value;
    const Rank left{(me + n - 1) % n};
    const Rank right{(me + 1) % n};
    const Place given = own_input(call);
    Waits read;  // after what the input is no longer needed
    Value held{given + layout[left.value].at, {}, true, {}};
    for (std::uint32_t t = 0; t + 1 < n; ++t) {
        const std::uint32_t out = (me + 2 * n - 1 - t) % n;
        const std::uint32_t in = (me + 2 * n - 2 - t) % n;
        const bool last = in == me;
        Place room;
        Waits here;
        if (layout[in].bytes > 0) {
            room = last && !call.in_place ? output() : writer.take_scratch(layout[in].bytes);
            here = writer.receive(left, room, layout[in].bytes, {}, in);
        }
        if (layout[out].bytes > 0) read.add(writer.send(right, held.at, layout[out].bytes, held.ready, out));
        if (layout[in].bytes == 0) continue;
        held = {room, writer.reduce(given + layout[in].at, room, layout[in].bytes, here), false, {}};
        if (last && call.in_place) {
            read.add(held.ready);
            writer.copy(room, output(), layout[me].bytes, read);
        }
    }
}

// Up a binomial tree to rank 0, and each block down again.
void reduce_scatter(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    if (alone(group, call, layout, writer)) return;
    const std::uint64_t total = layout.total();
    const Team team = everyone(group);
    const Node node = binomial_node(team.me, team.size());
    const auto cuts = segments(total, call.element, tuning.segment);
    const Piece& mine = layout[team.me];
    const Value own = own_value(own_input(call));
    const auto tag = static_cast<std::uint32_t>(cuts.size());
    const bool top = team.me == 0;
    const Place whole = top && !call.in_place ? writer.take_scratch(total) : output();
    Waits done;
    for (const Waits& cut : reduce_up(writer, team, node, own, whole, cuts, call.commutative)) done.add(cut);
    if (!top && !call.in_place) done = {};
    const Waits free = done;
    const Piece below = layout.range(team.me, team.me + node.span);
    const bool leaf = node.children.empty();
    Place at = whole;  // of what is passed on, as if the whole were there
    if (!top && below.bytes > 0) {
        at = leaf ? output() : writer.take_scratch(below.bytes);
        done = writer.receive(team[node.parent], at, below.bytes, leaf ? free : Waits(), tag);
    } else {
        done = joined(writer, done);
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Piece theirs = layout.range(node.children[i], node.children[i] + node.spans[i]);
        if (theirs.bytes > 0) writer.send(team[node.children[i]], at + (theirs.at - below.at), theirs.bytes, done, tag);
    }
    if (at != output() && mine.bytes > 0) writer.copy(at, output(), mine.bytes, done.add(top ? Waits() : free));
}

constexpr Algorithm list_of(Collective what, int which) {
    const Algorithm all[] = {
        {what, "linear", "each block to its owner at once, which combines: 1 round of ranks-1 messages", false, false,
         always, linear},
        {what, "pairwise", "the same in ranks-1 steps in which nobody is sent to by two: large blocks", false, false,
         always, pairwise},
        {what, "recursive-halving",
         "half of what is left goes to a partner each round: log2(ranks) rounds, all bytes once; it must commute",
         false, false, if_commutative, recursive_halving},
        {what, "ring", "blocks grow from rank to rank: ranks-1 rounds, neighbours only; it must commute", false, false,
         if_commutative, ring},
        {what, "reduce-scatter", "up a binomial tree to rank 0 and down again: 2 log2(ranks) rounds; small blocks",
         true, false, always, reduce_scatter},
    };
    return all[which];
}

constexpr Algorithm list[] = {list_of(Collective::reduce_scatter, 0), list_of(Collective::reduce_scatter, 1),
                              list_of(Collective::reduce_scatter, 2), list_of(Collective::reduce_scatter, 3),
                              list_of(Collective::reduce_scatter, 4)};
constexpr Algorithm block_list[] = {
    list_of(Collective::reduce_scatter_block, 0), list_of(Collective::reduce_scatter_block, 1),
    list_of(Collective::reduce_scatter_block, 2), list_of(Collective::reduce_scatter_block, 3),
    list_of(Collective::reduce_scatter_block, 4)};

}  // namespace

Family reduce_scatters() {
    return list;
}
Family reduce_scatter_blocks() {
    return block_list;
}

}  // namespace loom::coll
