// Alltoalls: each rank has a block for each.
#include <algorithm>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/parts.hpp"

namespace loom::coll {
namespace {

// Where blocks are read and written. In place, what is there is put aside first: it is overwritten by what arrives.
struct Exchange {
    Place from;
    BlockPieces sent;
    BlockPieces received;
    Waits aside;  // the copies, when there are any
};

Exchange exchange_of(const Group& group, const Call& call, Writer& writer) {
    const bool even = call.what == Collective::alltoall;
    Exchange exchange;
    exchange.received = even ? BlockPieces::even(call.bytes, group.size) : BlockPieces::given(call.received);
    if (!call.in_place) {
        exchange.from = input();
        exchange.sent = even ? exchange.received : BlockPieces::given(call.sent);
        return exchange;
    }
    exchange.sent = exchange.received.rotated(0);
    if (group.size == 1) return exchange;
    exchange.from = writer.take_scratch(exchange.sent.total());
    exchange.aside = joined(writer, copy_blocks(writer, output(), exchange.received, exchange.from, exchange.sent, 0,
                                                {}, exchange.received.dense() ? group.size : group.me.value));
    return exchange;
}

void keep_own(const Group& group, const Call& call, const Exchange& exchange, Writer& writer) {
    const std::uint32_t me = group.me.value;
    if (call.in_place || exchange.received[me].bytes == 0) return;
    writer.copy(exchange.from + exchange.sent[me].at, output(exchange.received[me].at), exchange.received[me].bytes);
}

void linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const Exchange exchange = exchange_of(group, call, writer);
    const Team team = everyone(group, group.me);
    for (std::uint32_t i = team.size() - 1; i > 0; --i) {
        const Piece& in = exchange.received[team[i].value];
        if (in.bytes > 0) writer.receive(team[i], output(in.at), in.bytes, exchange.aside);
    }
    for (std::uint32_t i = 1; i < team.size(); ++i) {
        const Piece& out = exchange.sent[team[i].value];
        if (out.bytes > 0) writer.send(team[i], exchange.from + out.at, out.bytes, exchange.aside);
    }
    keep_own(group, call, exchange, writer);
}

// In step i a rank sends i ahead and receives from i behind, and begins the next when both are done: no rank is sent to
// by two at once. Receives are ready from the start.
void pairwise(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const Exchange exchange = exchange_of(group, call, writer);
    const Team team = everyone(group, group.me);
    const std::uint32_t n = team.size();
    std::vector<Waits> received(n);
    for (std::uint32_t i = 1; i < n; ++i) {
        const Rank from = team[n - i];
        const Piece& in = exchange.received[from.value];
        if (in.bytes > 0) received[i] = writer.receive(from, output(in.at), in.bytes, exchange.aside);
    }
    Waits turn = exchange.aside;
    for (std::uint32_t i = 1; i < n; ++i) {
        const Rank to = team[i];
        const Piece& out = exchange.sent[to.value];
        Waits done;
        if (out.bytes > 0) done = writer.send(to, exchange.from + out.at, out.bytes, turn);
        done.add(received[i]);
        if (!done.empty()) turn = done;
    }
    keep_own(group, call, exchange, writer);
}

// Blocks travel by the digits of their distance: in round k those whose distance has bit k go 2^k ahead, as one
// message. A block that arrived is left where it is until it is packed for its next round or copied to its place.
void bruck(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const std::uint32_t n = group.size;
    const std::uint32_t me = group.me.value;
    const std::uint64_t bytes = call.bytes;
    if (bytes == 0) return;
    const Place given = own_input(call);
    struct Held {
        Place at;
        Waits ready;
    };
    std::vector<Held> held(n);  // by distance still to go and gone: the block that began that far from its goal
    for (std::uint32_t d = 0; d < n; ++d) held[d].at = given + (me + d) % n * bytes;
    Waits packed;
    Waits received;
    std::uint32_t round = 0;
    for (std::uint32_t reach = 1; reach < n; reach *= 2, ++round) {
        std::vector<std::uint32_t> moving;
        for (std::uint32_t d = reach; d < n; ++d)
            if ((d & reach) != 0) moving.push_back(d);
        const Place in = writer.take_scratch(moving.size() * bytes);
        const Step here = writer.receive(Rank{(me + n - reach) % n}, in, moving.size() * bytes, {}, round);
        received.add(here);
        Place out = held[moving[0]].at;
        Waits ready = held[moving[0]].ready;
        if (moving.size() > 1) {
            out = writer.take_scratch(moving.size() * bytes);
            ready = {};
            for (std::size_t i = 0; i < moving.size();) {
                std::size_t j = i + 1;
                Waits after = held[moving[i]].ready;
                const Place begin = held[moving[i]].at;
                while (j < moving.size() && held[moving[j]].at == begin + (j - i) * bytes)
                    after.add(held[moving[j++]].ready);
                ready.add(writer.copy(begin, out + i * bytes, (j - i) * bytes, after));
                i = j;
            }
        }
        const Step sent = writer.send(Rank{(me + reach) % n}, out, moving.size() * bytes, ready, round);
        packed.add(moving.size() > 1 ? ready : Waits(sent));
        for (std::size_t i = 0; i < moving.size(); ++i) held[moving[i]] = {in + i * bytes, here};
    }
    // In place, a block's goal may still hold one that is not packed yet.
    const Waits clear = call.in_place ? joined(writer, packed) : Waits();
    for (std::uint32_t d = call.in_place ? 1 : 0; d < n; ++d) {
        Waits after = held[d].ready;
        after.add(clear);
        writer.copy(held[d].at, output((me + n - d) % n * bytes), bytes, after);
    }
}

constexpr Algorithm alltoall_list[] = {
    {Collective::alltoall, "linear", "all at once: 1 round of ranks-1 messages, no copy", false, false, always, linear},
    {Collective::alltoall, "pairwise", "ranks-1 steps in which nobody is sent to by two: large blocks", false, false,
     always, pairwise},
    {Collective::alltoall, "bruck",
     "log2(ranks) messages of half of all blocks, packed and passed on: small blocks, many ranks", false, false, always,
     bruck},
};
constexpr Algorithm alltoallv_list[] = {
    {Collective::alltoallv, "linear", "all at once: 1 round of up to ranks-1 messages, no copy", false, false, always,
     linear},
    {Collective::alltoallv, "pairwise", "ranks-1 steps in which nobody is sent to by two: large blocks", false, false,
     always, pairwise},
};

}  // namespace

Family alltoalls() {
    return alltoall_list;
}
Family alltoallvs() {
    return alltoallv_list;
}

}  // namespace loom::coll
