// Broadcasts: the buffer is the output, also at the root.
#include <algorithm>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/hosts.hpp"
#include "coll/algorithms/rings.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

void down(const Group& group, const Call& call, Writer& writer, const Node& node, std::uint64_t segment) {
    send_down(writer, everyone(group, call.root), node, output(), segments(call.bytes, 1, segment), {});
}

std::uint32_t place_of(const Group& group, const Call& call) {
    return (group.me.value + group.size - call.root.value) % group.size;
}

void linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    down(group, call, writer, flat_node(place_of(group, call), group.size), 0);
}

void binomial(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    down(group, call, writer, binomial_node(place_of(group, call), group.size), tuning.segment);
}

void knomial(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const std::uint32_t ways = tuning.ways == 0 ? 3 : std::min(tuning.ways, group.size);
    down(group, call, writer, knomial_node(place_of(group, call), group.size, ways + 1), tuning.segment);
}

void binary(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const std::uint64_t segment = tuning.segment == 0 ? usual_segment : tuning.segment;
    down(group, call, writer, binary_node(place_of(group, call), group.size), segment);
}

void chain(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const std::uint64_t segment = tuning.segment == 0 ? usual_segment : tuning.segment;
    down(group, call, writer, chain_node(place_of(group, call), group.size), segment);
}

// Hoefler 2008, II.3.2. First the root sends every fragment to all by multicast, which may lose it to some; then the
// fragments go down a chain on which nothing is lost, and a rank passes on what it has, wherever it has it from. With
// few losses in a row a rank is at most a few hops behind the multicast, however many ranks there are. Where the
// transport has no multicast, or its datagrams are too short, the chain alone does it.
constexpr std::uint64_t usual_fragment = 1000;  // fits a datagram of 1 KiB and its label

bool is_small(const Group&, const Call& call) {
    return call.bytes <= 64 * usual_fragment;
}

void multicast(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const std::uint64_t fragment = tuning.segment == 0 ? usual_fragment : tuning.segment;
    writer.use_multicast();
    down(group, call, writer, chain_node(place_of(group, call), group.size), fragment);
}

// Van de Geijn: each rank gets a part of the message down a binomial tree, then the parts go round. A subtree's parts
// lie one behind the other, so each message is one piece, and all lie where they belong from the start.
void scatter_allgather(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const Team team = everyone(group, call.root);
    const Node node = binomial_node(team.me, team.size());
    const BlockPieces layout = BlockPieces::split(call.bytes, 1, team.size());
    const Piece mine = layout.range(team.me, team.me + node.span);
    Waits here;
    if (team.me != 0 && mine.bytes > 0)
        here = writer.receive(team[node.parent], output() + mine.at, mine.bytes, {}, team.size());
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Piece theirs = layout.range(node.children[i], node.children[i] + node.spans[i]);
        if (theirs.bytes > 0)
            writer.send(team[node.children[i]], output() + theirs.at, theirs.bytes, here, team.size());
    }
    // A rank that passed others' parts on has them already: they are not sent to it again, the root gets none at all.
    std::vector<std::uint32_t> held(team.size());
    for (std::uint32_t v = 0; v < team.size(); ++v) held[v] = binomial_span(v, team.size());
    pass_round(writer, team, output(), layout, {output() + layout[team.me].at, here, false, {}}, held);
}

constexpr Algorithm list[] = {
    {Collective::broadcast, "linear", "the root sends to each: ranks-1 messages one after another", false, false,
     always, linear},
    {Collective::broadcast, "binomial", "whoever has it passes it on: log2(ranks) rounds; small messages", true, false,
     always, binomial},
    {Collective::broadcast, "knomial", "the same with `ways` (3) others a round: fewer rounds of more messages", true,
     true, always, knomial},
    {Collective::broadcast, "binary", "down a binary tree in segments (64 KiB): every rank sends twice what there is",
     true, false, always, binary, true},
    {Collective::broadcast, "chain", "from rank to rank in segments (64 KiB): every link carries the message once",
     true, false, always, chain, true},
    {Collective::broadcast, "scatter-allgather",
     "parts down a binomial tree, then round a ring: every rank sends about twice the message; large messages", false,
     false, always, scatter_allgather},
    {Collective::broadcast, "multicast",
     "datagrams to all, then a chain of fragments (1,000 B) that makes good what was lost; many ranks, small messages",
     false, false, is_small, multicast},
    {Collective::broadcast, "hierarchical", "binomial between hosts, flat inside each: one message into each host",
     false, false, several_hosts, hierarchical_broadcast},
};

}  // namespace

Family broadcasts() {
    return list;
}

}  // namespace loom::coll
