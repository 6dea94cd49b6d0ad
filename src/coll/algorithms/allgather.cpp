// Allgathers: all ranks know all sizes, but blocks may lie elsewhere on each.
#include <algorithm>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/rings.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

BlockPieces layout_of(const Group& group, const Call& call) {
    return call.what == Collective::allgather ? BlockPieces::even(call.bytes, group.size)
                                              : BlockPieces::given(call.received);
}

// Where the rank's own block is at the start.
Place given_block(const Group& group, const Call& call, const BlockPieces& layout) {
    return call.in_place ? output(layout[group.me.value].at) : input();
}

// Brings it to its place in the output. Written last: messages should be on their way first.
void keep_own(const Group& group, const Call& call, const BlockPieces& layout, Writer& writer) {
    const Piece& own = layout[group.me.value];
    if (!call.in_place && own.bytes > 0) writer.copy(input(), output(own.at), own.bytes);
}

void linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    const Team team = everyone(group, group.me);
    for (std::uint32_t i = team.size() - 1; i > 0; --i) {
        const Piece& block = layout[team[i].value];
        if (block.bytes > 0) writer.receive(team[i], output(block.at), block.bytes);
    }
    const Piece& own = layout[group.me.value];
    const Place from = given_block(group, call, layout);
    for (std::uint32_t i = 1; i < team.size() && own.bytes > 0; ++i) writer.send(team[i], from, own.bytes);
    keep_own(group, call, layout, writer);
}

void ring(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    pass_round(writer, everyone(group), output(), layout, {given_block(group, call, layout), {}, true, {}});
    keep_own(group, call, layout, writer);
}

// Where blocks are worked on that must lie one behind the other: right in the output where they do, else in scratch.
struct Field {
    Place base;
    BlockPieces layout;
    bool direct = false;
};

// Distance doubles: after k rounds a rank has the 2^k blocks from its own on, going round. They are kept in that order
// in scratch memory, so that each message is one piece, and put in their places at the end.
void bruck(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    const BlockPieces turned = layout.rotated(group.me.value);
    const std::uint32_t n = group.size;
    const Piece& own = layout[group.me.value];
    const Place room = writer.take_scratch(n == 1 ? 0 : turned.total());
    const Place given = given_block(group, call, layout);
    Waits here;
    std::uint32_t round = 0;
    for (std::uint32_t reach = 1; reach < n; reach *= 2, ++round) {
        const std::uint32_t count = std::min(reach, n - reach);
        const Rank from{(group.me.value + reach) % n};
        const Rank to{(group.me.value + n - reach) % n};
        const Piece in = turned.range(reach, reach + count);
        const Piece out = turned.range(0, count);
        Waits next = here;
        if (in.bytes > 0) next.add(writer.receive(from, room + in.at, in.bytes, {}, round));
        if (out.bytes > 0) {
            if (count == 1 && round == 0)
                writer.send(to, given, out.bytes, {}, round);
            else
                writer.send(to, room, out.bytes, here, round);
        }
        // Later rounds send the own block from the scratch memory.
        if (round == 0 && n > 2 && own.bytes > 0) next.add(writer.copy(given, room, own.bytes));
        here = next;
    }
    here = joined(writer, here);
    // The own block is the first in the scratch memory, but may not be there (two ranks).
    copy_blocks(writer, room, turned, output(), layout, group.me.value, here, group.me.value);
    keep_own(group, call, layout, writer);
}

Field field_of(const BlockPieces& layout, Writer& writer) {
    if (layout.dense()) return {output(), layout, true};
    const BlockPieces packed = layout.rotated(0);
    return {writer.take_scratch(packed.total()), packed, false};
}

void recursive_doubling(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    const Field field = field_of(layout, writer);
    const std::uint32_t me = group.me.value;
    const Piece& own = field.layout[me];
    const Place given = given_block(group, call, layout);
    Waits here;
    if (own.bytes > 0 && !(field.direct && call.in_place) && group.size > 1)
        here = writer.copy(given, field.base + own.at, own.bytes);
    std::uint32_t round = 0;
    for (std::uint32_t reach = 1; reach < group.size; reach *= 2, ++round) {
        const std::uint32_t mine = me / reach * reach;
        const std::uint32_t theirs = mine ^ reach;
        const Rank peer{me ^ reach};
        const Piece in = field.layout.range(theirs, theirs + reach);
        const Piece out = field.layout.range(mine, mine + reach);
        Waits next = here;
        if (in.bytes > 0) next.add(writer.receive(peer, field.base + in.at, in.bytes, {}, round));
        if (out.bytes > 0) {
            if (round == 0)
                writer.send(peer, given, out.bytes, {}, round);
            else
                writer.send(peer, field.base + out.at, out.bytes, here, round);
        }
        here = next;
    }
    if (!field.direct) copy_blocks(writer, field.base, field.layout, output(), layout, 0, joined(writer, here), me);
    if (!field.direct || group.size == 1) keep_own(group, call, layout, writer);
}

// Up a binomial tree to rank 0 and down again, all blocks as one message.
void gather_broadcast(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const BlockPieces layout = layout_of(group, call);
    const Field field = field_of(layout, writer);
    const Team team = everyone(group);
    const Node node = binomial_node(team.me, team.size());
    const Piece own = field.layout[team.me];
    const Place given = given_block(group, call, layout);
    const std::uint64_t total = field.layout.total();

    Waits here;
    for (std::size_t i = node.children.size(); i-- > 0;) {
        const Piece in = field.layout.range(node.children[i], node.children[i] + node.spans[i]);
        if (in.bytes > 0) here.add(writer.receive(team[node.children[i]], field.base + in.at, in.bytes));
    }
    const bool leaf = team.me != 0 && node.children.empty();
    if (!leaf && own.bytes > 0 && !(field.direct && call.in_place))
        here.add(writer.copy(given, field.base + own.at, own.bytes));
    Waits free;  // what is sent up lies where the whole will be put
    if (team.me != 0) {
        const Piece out = field.layout.range(team.me, team.me + node.span);
        const Place from = leaf ? given : field.base + out.at;
        if (out.bytes > 0) {
            const Step sent = writer.send(team[node.parent], from, out.bytes, here);
            if (from.buffer == field.base.buffer) free = sent;
        }
    } else {
        free = joined(writer, here);
    }
    const auto cuts = segments(total, 1, tuning.segment);
    const Place first = field.base + (field.layout.size() > 0 ? field.layout[0].at : 0);
    Waits whole;
    for (const Waits& here_too : send_down(writer, team, node, first, cuts, std::vector(cuts.size(), free), 1))
        whole.add(here_too);
    if (!field.direct)
        copy_blocks(writer, field.base, field.layout, output(), layout, 0, joined(writer, whole),
                    call.in_place ? team.me : team.size());
}

constexpr Algorithm list_of(Collective what, int which) {
    const Algorithm all[] = {
        {what, "linear", "each sends to each: 1 round of ranks-1 messages, no copy", false, false, always, linear},
        {what, "ring", "blocks go from rank to rank: ranks-1 rounds, neighbours only; large blocks", false, false,
         always, ring},
        {what, "bruck", "distance doubles: log2(ranks) rounds for any number of ranks, one copy; small blocks", false,
         false, always, bruck},
        {what, "recursive-doubling", "pairs exchange all they have: log2(ranks) rounds; ranks a power of two", false,
         false, if_power, recursive_doubling},
        {what, "gather-broadcast", "up a binomial tree and down again: 2 log2(ranks) rounds, few messages in all", true,
         false, always, gather_broadcast},
    };
    return all[which];
}

constexpr Algorithm allgather_list[] = {list_of(Collective::allgather, 0), list_of(Collective::allgather, 1),
                                        list_of(Collective::allgather, 2), list_of(Collective::allgather, 3),
                                        list_of(Collective::allgather, 4)};
constexpr Algorithm allgatherv_list[] = {list_of(Collective::allgatherv, 0), list_of(Collective::allgatherv, 1),
                                         list_of(Collective::allgatherv, 2), list_of(Collective::allgatherv, 3),
                                         list_of(Collective::allgatherv, 4)};

}  // namespace

Family allgathers() {
    return allgather_list;
}
Family allgathervs() {
    return allgatherv_list;
}

}  // namespace loom::coll
