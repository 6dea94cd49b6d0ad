// Prefix reductions: order is always kept, what comes in is of lower ranks.
#include "coll/algorithms/families.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

bool alone(const Group& group, const Call& call, Writer& writer) {
    if (group.size > 1 && call.bytes > 0) return false;
    if (call.what == Collective::scan && !call.in_place && call.bytes > 0) writer.copy(input(), output(), call.bytes);
    return true;
}

// Each rank gives what it has to all higher ones and combines what all lower ones gave.
Waits give_upwards(const Group& group, const Call& call, Writer& writer) {
    Waits sent;
    for (std::uint32_t rank = group.me.value + 1; rank < group.size; ++rank)
        sent.add(writer.send(Rank{rank}, own_input(call), call.bytes));
    return sent;
}

void scan_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    Value own = own_value(own_input(call));
    own.readers = give_upwards(group, call, writer);
    if (group.me.value == 0) {
        if (!call.in_place) writer.copy(input(), output(), call.bytes);
        return;
    }
    const auto ranks = everyone(group).ranks;
    collect(writer, std::span(ranks).first(group.me.value + 1), own, output(), call.bytes, call.commutative);
}

void exscan_linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    const Waits sent = give_upwards(group, call, writer);
    if (group.me.value == 0) return;
    std::vector<Value> values;
    for (std::uint32_t rank = 0; rank < group.me.value; ++rank) {
        const bool last = rank + 1 == group.me.value;
        const Place room = last ? output() : writer.take_scratch(call.bytes);
        const Waits free = last && call.in_place ? sent : Waits();
        values.push_back({room, writer.receive(Rank{rank}, room, call.bytes, free), false, {}});
    }
    combine(writer, values, output(), call.bytes, call.commutative);
}

// The prefix goes from rank to rank, in segments.
void scan_chain(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    if (alone(group, call, writer)) return;
    const std::uint32_t me = group.me.value;
    const bool last = me + 1 == group.size;
    std::uint32_t tag = 0;
    for (const Piece& cut : segments(call.bytes, call.element, tuning.segment)) {
        const Place given = own_input(call) + cut.at;
        const Place result = output(cut.at);
        Waits ready;
        if (me > 0) {
            // Where it commutes what comes in becomes the result; else the own value does, which is put there first.
            const bool direct = call.commutative && !call.in_place;
            const Place room = direct ? result : writer.take_scratch(cut.bytes);
            Waits both = writer.receive(Rank{me - 1}, room, cut.bytes, {}, tag);
            if (!direct && !call.in_place) both.add(writer.copy(given, result, cut.bytes));
            ready =
                direct ? writer.reduce(given, result, cut.bytes, both) : writer.reduce(room, result, cut.bytes, both);
        }
        if (!last) writer.send(Rank{me + 1}, me == 0 ? given : result, cut.bytes, ready, tag);
        if (me == 0 && !call.in_place) writer.copy(given, result, cut.bytes);
        ++tag;
    }
}

void exscan_chain(const Group& group, const Call& call, const Tuning& tuning, Writer& writer) {
    if (alone(group, call, writer)) return;
    const std::uint32_t me = group.me.value;
    const bool last = me + 1 == group.size;
    std::uint32_t tag = 0;
    for (const Piece& cut : segments(call.bytes, call.element, tuning.segment)) {
        const Place given = own_input(call) + cut.at;
        if (me == 0) {
            writer.send(Rank{1}, given, cut.bytes, {}, tag++);
            continue;
        }
        // What is passed on is combined in a copy of the own value: the prefix that came in is the result itself.
        Place next;
        Waits copied;
        if (!last) {
            next = writer.take_scratch(cut.bytes);
            copied = writer.copy(given, next, cut.bytes);
        }
        const Step here =
            writer.receive(Rank{me - 1}, output(cut.at), cut.bytes, call.in_place ? copied : Waits(), tag);
        if (!last) {
            const Step sum = writer.reduce(output(cut.at), next, cut.bytes, copied.add(here));
            writer.send(Rank{me + 1}, next, cut.bytes, {sum}, tag);
        }
        ++tag;
    }
}

// Hillis and Steele: after k rounds a rank has combined the 2^k values up to its own; it gives that to the one 2^k
// ahead.
void scan_doubling(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    const std::uint32_t me = group.me.value;
    Value held = own_value(own_input(call));
    Waits free;  // when the input in the output is no longer read
    std::uint32_t tag = 0;
    for (std::uint32_t reach = 1; reach < group.size; reach *= 2, ++tag) {
        const bool gives = me + reach < group.size;
        const bool takes = me >= reach;
        Waits sent;
        if (gives) sent = writer.send(Rank{me + reach}, held.at, call.bytes, held.ready, tag);
        const bool there = held.at == output();
        if (there) free.add(sent);
        if (!takes) continue;
        const bool last = me < 2 * reach;  // nothing more will come
        const bool direct = last && !there && call.commutative;
        // What is being sent stays as it is where it may.
        held.readers = sent;
        held.kept = held.kept || (call.commutative && !(last && there));
        const Place room = direct ? output() : writer.take_scratch(call.bytes);
        const Value came{
            room, writer.receive(Rank{me - reach}, room, call.bytes, direct ? free : Waits(), tag), false, {}};
        const Value values[] = {came, held};
        held = last ? combine(writer, values, output(), call.bytes, call.commutative, free)
                    : combine(writer, values, call.bytes, call.commutative);
        if (there) free.add(held.ready);
    }
    if (me == 0 && !call.in_place) writer.copy(input(), output(), call.bytes);
}

void exscan_doubling(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (alone(group, call, writer)) return;
    const std::uint32_t me = group.me.value;
    Value held = own_value(own_input(call));  // with the own value, to give
    Value before;                             // without, the result
    Waits free;                               // when the input in the output is no longer read
    std::uint32_t tag = 0;
    for (std::uint32_t reach = 1; reach < group.size; reach *= 2, ++tag) {
        const bool gives = me + reach < group.size;
        const bool takes = me >= reach;
        const bool gives_more = me + 2 * reach < group.size;
        if (gives) {
            const Step sent = writer.send(Rank{me + reach}, held.at, call.bytes, held.ready, tag);
            held.readers = sent;
            if (held.at == output()) free.add(sent);
        }
        if (!takes) continue;
        const bool first = reach == 1;
        if (first && call.in_place && gives_more) {
            // The result takes the input's place.
            const Place room = writer.take_scratch(call.bytes);
            const Step aside = writer.copy(held.at, room, call.bytes);
            held = {room, aside, false, {}};
            free.add(aside);
        }
        const Place room = first ? output() : writer.take_scratch(call.bytes);
        const Value came{
            room, writer.receive(Rank{me - reach}, room, call.bytes, first ? free : Waits(), tag), true, {}};
        if (gives_more) {
            const Value values[] = {came, held};
            held = combine(writer, values, call.bytes, call.commutative);
            if (first) before.readers = held.ready;
        }
        if (first) {
            before.at = output();
            before.ready = came.ready;
        } else {
            // Both sums read what came in.
            const Value values[] = {came, before};
            before = combine(writer, values, output(), call.bytes, call.commutative);
        }
    }
}

constexpr Algorithm scan_list[] = {
    {Collective::scan, "linear", "each rank gives to all higher ones: 1 round; small messages, few ranks", false, false,
     always, scan_linear},
    {Collective::scan, "chain", "from rank to rank, in segments if asked: ranks-1 rounds; few ranks or large messages",
     true, false, always, scan_chain},
    {Collective::scan, "recursive-doubling", "partners 1, 2, 4... behind (Hillis, Steele): log2(ranks) rounds; small",
     false, false, always, scan_doubling},
};
constexpr Algorithm exscan_list[] = {
    {Collective::exscan, "linear", "each rank gives to all higher ones: 1 round; small messages, few ranks", false,
     false, always, exscan_linear},
    {Collective::exscan, "chain",
     "from rank to rank, in segments if asked: ranks-1 rounds; few ranks or large messages", true, false, always,
     exscan_chain},
    {Collective::exscan, "recursive-doubling", "partners 1, 2, 4... behind (Hillis, Steele): log2(ranks) rounds; small",
     false, false, always, exscan_doubling},
};

}  // namespace

Family scans() {
    return scan_list;
}
Family exscans() {
    return exscan_list;
}

}  // namespace loom::coll
