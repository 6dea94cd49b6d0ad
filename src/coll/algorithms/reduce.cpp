// Reductions to one rank. Those that are not the root have no output: what they combine is in scratch memory.
#include "coll/algorithms/families.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/hosts.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

Value given(const Group& group, const Call& call) {
    return own_value(group.me == call.root ? own_input(call) : input());
}

void linear(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    const auto ranks = everyone(group).ranks;
    std::uint32_t tag = 0;
    for (const Piece& cut : segments(call.bytes, call.element, tuning.segment)) {
        Value own = given(group, call);
        own.at = own.at + cut.at;
        if (group.me == call.root)
            collect(writer, ranks, own, output(cut.at), cut.bytes, call.commutative, tag);
        else
            writer.send(call.root, own.at, cut.bytes, {}, tag);
        ++tag;
    }
}

// Up a tree whose top is the root. Where order counts the top is rank 0, which has the lowest ranks to its right, and
// the result takes one more step.
void up(const Group& group, const Call& call, Writer& writer, MakeNode make_node, std::uint64_t segment) {
    const auto cuts = segments(call.bytes, call.element, segment);
    const bool detour = !call.commutative && call.root.value != 0;
    const Team team = everyone(group, detour ? Rank{0} : call.root);
    const Node node = make_node(team.me, team.size());
    const Place target = detour && team.me == 0 ? writer.take_scratch(call.bytes) : output();
    const auto done = reduce_up(writer, team, node, given(group, call), target, cuts, call.commutative);
    if (!detour) return;
    const auto tag = static_cast<std::uint32_t>(cuts.size());
    for (std::uint32_t i = 0; i < cuts.size(); ++i) {
        if (team.me == 0) writer.send(call.root, target + cuts[i].at, cuts[i].bytes, done[i], tag + i);
        if (group.me == call.root)
            writer.receive(Rank{0}, output(cuts[i].at), cuts[i].bytes, call.in_place ? done[i] : Waits(), tag + i);
    }
}

void binomial(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up(group, call, writer, binomial_node, tuning.segment);
}

void binary(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up(group, call, writer, binary_node, tuning.segment == 0 ? usual_segment : tuning.segment);
}

void chain(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up(group, call, writer, chain_node, tuning.segment == 0 ? usual_segment : tuning.segment);
}

void rabenseifner(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0 || group.size == 1) return linear(group, call, {}, writer);
    const Folding folding(group.size, call.root);
    if (!folding.stays(group.me)) {
        writer.send(Folding::partner(group.me), input(), call.bytes);
        return;
    }
    const Place base = group.me == call.root ? output() : writer.take_scratch(call.bytes);
    const Value whole = fold_in(writer, folding, call, given(group, call), base, 0);
    const Halved halved = halve(writer, folding, call, whole, base, 1);
    double_to(writer, folding, call, halved, base, call.root, 64);
}

constexpr Algorithm list[] = {
    {Collective::reduce, "linear", "all send to the root, which combines: 1 round, ranks-1 messages into one link",
     true, false, always, linear},
    {Collective::reduce, "binomial", "up a binomial tree: log2(ranks) rounds; small messages", true, false, always,
     binomial},
    {Collective::reduce, "binary", "up a binary tree in segments (64 KiB): every rank receives twice what there is",
     true, false, always, binary, true},
    {Collective::reduce, "chain", "from rank to rank in segments (64 KiB): every link carries the message once", true,
     false, always, chain, true},
    {Collective::reduce, "rabenseifner",
     "halves are exchanged and combined, then collected: 2 log2(ranks) rounds, about 2 messages' bytes a rank; large",
     false, false, always, rabenseifner},
    {Collective::reduce, "hierarchical", "flat inside hosts, binomial between them: one message out of each host",
     false, false, several_hosts_in_order, hierarchical_reduce},
};

}  // namespace

Family reduces() {
    return list;
}

}  // namespace loom::coll
