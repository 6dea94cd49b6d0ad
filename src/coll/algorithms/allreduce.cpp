// Reductions whose result all ranks get, on all the same bits: each part is combined once and passed on, or by all in
// the same brackets.
#include <algorithm>
#include <array>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/hosts.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

// Alone, what came in goes out.
bool alone(const Group& group, const Call& call, Writer& writer) {
    if (group.size > 1 && call.bytes > 0) return false;
    if (!call.in_place && call.bytes > 0) writer.copy(input(), output(), call.bytes);
    return true;
}

void full_exchange(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    if (alone(group, call, writer)) return;
    const Team team = everyone(group, group.me);
    const auto ranks = everyone(group).ranks;
    std::uint32_t tag = 0;
    for (const Piece& cut : segments(call.bytes, call.element, tuning.segment)) {
        Value own = own_value(own_input(call) + cut.at);
        for (std::uint32_t i = 1; i < team.size(); ++i)
            own.readers.add(writer.send(team[i], own.at, cut.bytes, {}, tag));
        collect(writer, ranks, own, output(cut.at), cut.bytes, call.commutative, tag);
        ++tag;
    }
}

// Up to rank 0 and down again.
void up_and_down(const Group& group, const Call& call, Writer& writer, MakeNode make_node, std::uint64_t segment) {
    if (alone(group, call, writer)) return;
    const auto cuts = segments(call.bytes, call.element, segment);
    const Team team = everyone(group);
    const Node node = make_node(team.me, team.size());
    auto done = reduce_up(writer, team, node, own_value(own_input(call)), output(), cuts, call.commutative);
    if (team.me != 0 && !call.in_place) done.clear();
    send_down(writer, team, node, output(), cuts, done, static_cast<std::uint32_t>(cuts.size()));
}

void linear(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up_and_down(group, call, writer, flat_node, tuning.segment);
}

void binomial(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up_and_down(group, call, writer, binomial_node, tuning.segment);
}

void binary(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up_and_down(group, call, writer, binary_node, tuning.segment == 0 ? usual_segment : tuning.segment);
}

void chain(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    up_and_down(group, call, writer, chain_node, tuning.segment == 0 ? usual_segment : tuning.segment);
}

// The one of a pair that does not take part gives what it has and gets the result.
void stand_aside(const Group& group, const Call& call, Writer& writer) {
    const Rank partner = Folding::partner(group.me);
    const Step given = writer.send(partner, own_input(call), call.bytes);
    writer.receive(partner, output(), call.bytes, call.in_place ? Waits(given) : Waits(), 1);
}

void recursive_doubling(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    exchange_all(writer, everyone(group), own_value(own_input(call)), output(), call.bytes, call.commutative, 0);
}

void rabenseifner(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    const Folding folding(group.size);
    if (!folding.stays(group.me)) return stand_aside(group, call, writer);
    const Value whole = fold_in(writer, folding, call, own_value(own_input(call)), output(), 0);
    const Halved halved = halve(writer, folding, call, whole, output(), 2);
    Waits done;
    double_up(writer, folding, call, halved, output(), 64, done);
    if (folding.paired(group.me)) writer.send(Folding::partner(group.me), output(), call.bytes, done, 1);
}

// Each part goes once round to be combined and once more to be known: 2(ranks-1) steps between neighbours. What arrives
// is combined where it will be sent from, and where the result belongs.
void ring(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    if (alone(group, call, writer)) return;
    const std::uint32_t n = group.size;
    const std::uint32_t me = group.me.value;
    const Rank left{(me + n - 1) % n};
    const Rank right{(me + 1) % n};
    const std::uint64_t largest = part(call.bytes, call.element, 0, n).bytes;
    const std::uint64_t most = std::max<std::uint64_t>(1, (1u << 23) / n);
    const auto count = static_cast<std::uint32_t>(segments(largest, call.element, tuning.segment, most).size());
    struct Cut {
        Piece piece;
        Waits ready;
        Waits sent;
    };
    std::vector<std::vector<Cut>> cuts(n);  // by part
    for (std::uint32_t i = 0; i < n; ++i) {
        const Piece whole = part(call.bytes, call.element, i, n);
        for (const Piece& cut : segments(whole.bytes, call.element, tuning.segment, most))
            cuts[i].push_back({{whole.at + cut.at, cut.bytes}, {}, {}});
    }
    const Place given = own_input(call);
    // In place, what comes in waits in scratch memory to be combined.
    Rooms rooms[window];
    std::size_t coming = 0;
    for (std::uint32_t t = 0; t + 1 < n; ++t) {
        const std::uint32_t out = (me + n - t) % n;
        const std::uint32_t in = (me + 2 * n - 1 - t) % n;
        for (std::uint32_t s = 0; s < cuts[out].size(); ++s) {
            Cut& cut = cuts[out][s];
            const Place from = (t == 0 ? given : output()) + cut.piece.at;
            cut.sent = writer.send(right, from, cut.piece.bytes, cut.ready, out * count + s);
            if (t == 0 && !call.in_place) cut.sent = {};
        }
        for (std::uint32_t s = 0; s < cuts[in].size(); ++s) {
            Cut& cut = cuts[in][s];
            const Piece& piece = cut.piece;
            if (!call.in_place) {
                const Step here = writer.receive(left, output(piece.at), piece.bytes, {}, in * count + s);
                cut.ready = writer.reduce(input(piece.at), output(piece.at), piece.bytes, {here});
                continue;
            }
            Rooms& room = rooms[coming++ % window];
            if (room.places.empty()) room.places.push_back(writer.take_scratch(cuts[0][0].piece.bytes));
            const Step here = writer.receive(left, room.places[0], piece.bytes, room.free, in * count + s);
            cut.ready = writer.reduce(room.places[0], output(piece.at), piece.bytes, {here});
            room.free = cut.ready;
        }
    }
    for (std::uint32_t t = 0; t + 1 < n; ++t) {
        const std::uint32_t out = (me + 1 + n - t) % n;
        const std::uint32_t in = (me + n - t) % n;
        for (std::uint32_t s = 0; s < cuts[out].size(); ++s) {
            const Cut& cut = cuts[out][s];
            writer.send(right, output(cut.piece.at), cut.piece.bytes, cut.ready, (n + out) * count + s);
        }
        for (std::uint32_t s = 0; s < cuts[in].size(); ++s) {
            Cut& cut = cuts[in][s];
            cut.ready = writer.receive(left, output(cut.piece.at), cut.piece.bytes, cut.sent, (n + in) * count + s);
        }
    }
}

constexpr Algorithm list[] = {
    {Collective::allreduce, "recursive-doubling",
     "pairs exchange and combine all: log2(ranks) rounds, 2 more if ranks are no power of two; small messages", false,
     false, always, recursive_doubling},
    {Collective::allreduce, "full-exchange",
     "each sends all to each and combines: 1 round of ranks-1 messages; small messages, few ranks", true, false, always,
     full_exchange},
    {Collective::allreduce, "linear", "all to rank 0 and back: 2 rounds, 2(ranks-1) messages in all", true, false,
     always, linear},
    {Collective::allreduce, "binomial", "up a binomial tree and down again: 2 log2(ranks) rounds", true, false, always,
     binomial},
    {Collective::allreduce, "binary", "up and down a binary tree in segments (64 KiB)", true, false, always, binary,
     true},
    {Collective::allreduce, "chain", "up and down a chain in segments (64 KiB): every link carries the message twice",
     true, false, always, chain, true},
    {Collective::allreduce, "rabenseifner",
     "halves are exchanged and combined, then collected by all: 2 log2(ranks) rounds, 2 messages' bytes a rank; large",
     false, false, always, rabenseifner},
    {Collective::allreduce, "ring",
     "parts go round to be combined and round again: 2(ranks-1) rounds, 2 messages' bytes a rank, neighbours only",
     true, false, if_commutative, ring},
    {Collective::allreduce, "hierarchical", "flat inside hosts, recursive doubling between their first ranks", false,
     false, several_hosts_in_order, hierarchical_allreduce},
};

}  // namespace

Family allreduces() {
    return list;
}

}  // namespace loom::coll
