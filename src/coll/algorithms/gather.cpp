// Gathers and scatters, of equal blocks and of blocks whose sizes only the root knows.
#include "coll/algorithms/families.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

void gather_flat(const Group& group, const Call& call, const BlockPieces& layout, std::uint64_t mine, Writer& writer) {
    if (group.me != call.root) {
        if (mine > 0) writer.send(call.root, input(), mine);
        return;
    }
    const Team team = everyone(group, call.root);
    for (std::uint32_t i = 1; i < team.size(); ++i) {
        const Piece& block = layout[team[i].value];
        if (block.bytes > 0) writer.receive(team[i], output(block.at), block.bytes);
    }
    const Piece& own = layout[group.me.value];
    if (!call.in_place && own.bytes > 0) writer.copy(input(), output(own.at), own.bytes);
}

void scatter_flat(const Group& group, const Call& call, const BlockPieces& layout, std::uint64_t mine, Writer& writer) {
    if (group.me != call.root) {
        if (mine > 0) writer.receive(call.root, output(), mine);
        return;
    }
    const Team team = everyone(group, call.root);
    for (std::uint32_t i = 1; i < team.size(); ++i) {
        const Piece& block = layout[team[i].value];
        if (block.bytes > 0) writer.send(team[i], input(block.at), block.bytes);
    }
    const Piece& own = layout[group.me.value];
    if (!call.in_place && own.bytes > 0) writer.copy(input(own.at), output(), own.bytes);
}

void gather_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    gather_flat(group, call, BlockPieces::even(call.bytes, group.size), call.bytes, writer);
}

void scatter_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    scatter_flat(group, call, BlockPieces::even(call.bytes, group.size), call.bytes, writer);
}

void gatherv_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (group.me == call.root)
        gather_flat(group, call, BlockPieces::given(call.received), 0, writer);
    else
        gather_flat(group, call, {}, call.sent.bytes[0], writer);
}

void scatterv_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (group.me == call.root)
        scatter_flat(group, call, BlockPieces::given(call.sent), 0, writer);
    else
        scatter_flat(group, call, {}, call.received.bytes[0], writer);
}

// A subtree's blocks lie one behind the other in the order of the tree; the root's buffer is in the order of ranks. A
// subtree that goes round its end comes in two pieces.
struct Wrapped {
    Piece first, second;  // the second may be empty
};
Wrapped in_ranks(const Team& team, std::uint32_t v, std::uint32_t span, std::uint64_t bytes) {
    const std::uint32_t begin = team[v].value;
    const std::uint32_t before = std::min(span, team.size() - begin);
    return {{begin * bytes, before * bytes}, {0, (span - before) * bytes}};
}

void gather_binomial(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const Team team = everyone(group, call.root);
    const Node node = binomial_node(team.me, team.size());
    if (team.me != 0 && node.children.empty()) {
        writer.send(team[node.parent], input(), call.bytes);
        return;
    }
    if (team.me != 0) {
        const Place room = writer.take_scratch(node.span * call.bytes);
        Waits here;
        for (std::size_t i = 0; i < node.children.size(); ++i)
            here.add(writer.receive(team[node.children[i]], room + (node.children[i] - team.me) * call.bytes,
                                    node.spans[i] * call.bytes));
        here.add(writer.copy(input(), room, call.bytes));
        writer.send(team[node.parent], room, node.span * call.bytes, here);
        return;
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Rank child = team[node.children[i]];
        const auto [first, second] = in_ranks(team, node.children[i], node.spans[i], call.bytes);
        if (second.bytes == 0) {
            writer.receive(child, output(first.at), first.bytes);
            continue;
        }
        const Place room = writer.take_scratch(first.bytes + second.bytes);
        const Step here = writer.receive(child, room, first.bytes + second.bytes);
        writer.copy(room, output(first.at), first.bytes, {here});
        writer.copy(room + first.bytes, output(second.at), second.bytes, {here});
    }
    if (!call.in_place) writer.copy(input(), output(group.me.value * call.bytes), call.bytes);
}

void scatter_binomial(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const Team team = everyone(group, call.root);
    const Node node = binomial_node(team.me, team.size());
    if (team.me != 0 && node.children.empty()) {
        writer.receive(team[node.parent], output(), call.bytes);
        return;
    }
    if (team.me != 0) {
        const Place room = writer.take_scratch(node.span * call.bytes);
        const Step here = writer.receive(team[node.parent], room, node.span * call.bytes);
        for (std::size_t i = 0; i < node.children.size(); ++i)
            writer.send(team[node.children[i]], room + (node.children[i] - team.me) * call.bytes,
                        node.spans[i] * call.bytes, {here});
        writer.copy(room, output(), call.bytes, {here});
        return;
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Rank child = team[node.children[i]];
        const auto [first, second] = in_ranks(team, node.children[i], node.spans[i], call.bytes);
        if (second.bytes == 0) {
            writer.send(child, input(first.at), first.bytes);
            continue;
        }
        const Place room = writer.take_scratch(first.bytes + second.bytes);
        const Step one = writer.copy(input(first.at), room, first.bytes);
        const Step other = writer.copy(input(second.at), room + first.bytes, second.bytes);
        writer.send(child, room, first.bytes + second.bytes, {one, other});
    }
    if (!call.in_place) writer.copy(input(group.me.value * call.bytes), output(), call.bytes);
}

constexpr Algorithm gather_list[] = {
    {Collective::gather, "linear", "all send to the root: ranks-1 messages into one link, no copy on the way", false,
     false, always, gather_linear},
    {Collective::gather, "binomial", "up a binomial tree: log2(ranks) messages at the root; small blocks", false, false,
     always, gather_binomial},
};
constexpr Algorithm gatherv_list[] = {
    {Collective::gatherv, "linear", "all send to the root, which alone knows the sizes", false, false, always,
     gatherv_linear},
};
constexpr Algorithm scatter_list[] = {
    {Collective::scatter, "linear", "the root sends to each: ranks-1 messages out of one link, no copy on the way",
     false, false, always, scatter_linear},
    {Collective::scatter, "binomial", "down a binomial tree: log2(ranks) messages at the root; small blocks", false,
     false, always, scatter_binomial},
};
constexpr Algorithm scatterv_list[] = {
    {Collective::scatterv, "linear", "the root, which alone knows the sizes, sends to each", false, false, always,
     scatterv_linear},
};

}  // namespace

Family gathers() {
    return gather_list;
}
Family gathervs() {
    return gatherv_list;
}
Family scatters() {
    return scatter_list;
}
Family scattervs() {
    return scatterv_list;
}

}  // namespace loom::coll
