// Neighbour collectives that send fewer messages than there are neighbours: blocks that go the same way go together.
//
// All ranks know all neighbours and blocks are of one size, so that both ends of every message know without asking
// which blocks it holds, in which order. Of an allgather a block goes over a link once, however many want it behind it.
#include <algorithm>
#include <map>

#include "coll/algorithms/hosts.hpp"
#include "coll/algorithms/neighbours.hpp"

namespace loom::coll {
namespace {

// A block by where it came from: its rank and which of its destinations it is for (0 in an allgather: for all).
struct Item {
    std::uint32_t source;
    std::uint32_t index;
    friend auto operator<=>(const Item&, const Item&) = default;
};
using Items = std::vector<Item>;  // sorted, none twice

void tidy(Items& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

Items without(const Items& items, const Items& others) {
    Items left;
    std::set_difference(items.begin(), items.end(), others.begin(), others.end(), std::back_inserter(left));
    return left;
}

// What a rank has, and what it wants.
class Carrier {
public:
    Carrier(const Group& group, const Call& call, Writer& writer)
        : bytes_(call.bytes), gathers_(call.what == Collective::neighbour_allgather), writer_(writer) {
        const Neighbours& mine = group.neighbours[group.me.value];
        for (std::uint32_t i = 0; i < mine.destinations.size(); ++i)
            held_[item(group.me.value, i)] = {input(gathers_ ? 0 : i * bytes_), {}};
        for (std::uint32_t i = 0; i < mine.sources.size(); ++i)
            if (mine.sources[i] != no_rank)
                wanted_[item(mine.sources[i].value, destination_of(group, group.me, i))].push_back(i);
    }

    [[nodiscard]] Item item(std::uint32_t source, std::uint32_t index) const { return {source, gathers_ ? 0 : index}; }

    // All as one message; packed unless they lie in that order already.
    void send(Rank to, const Items& items, std::uint32_t tag) {
        if (items.empty()) return;
        struct Run {
            Place from;
            std::uint64_t bytes;
            Waits after;
        };
        std::vector<Run> runs;
        for (const Item& one : items) {
            const Held& held = held_.at(one);
            if (!runs.empty() && runs.back().from + runs.back().bytes == held.at)
                runs.back().bytes += bytes_;
            else
                runs.push_back({held.at, bytes_, {}});
            runs.back().after.add(held.ready);
        }
        if (runs.size() == 1) {
            writer_.send(to, runs[0].from, runs[0].bytes, runs[0].after, tag);
            return;
        }
        const Place room = writer_.take_scratch(items.size() * bytes_);
        Waits packed;
        std::uint64_t at = 0;
        for (const Run& run : runs) {
            packed.add(writer_.copy(run.from, room + at, run.bytes, run.after));
            at += run.bytes;
        }
        writer_.send(to, room, at, packed, tag);
    }

    // A single block that is wanted here comes right to its place.
    void receive(Rank from, const Items& items, std::uint32_t tag) {
        if (items.empty()) return;
        const auto wanted = wanted_.find(items[0]);
        const bool direct = items.size() == 1 && wanted != wanted_.end();
        const Place room = direct ? output(wanted->second[0] * bytes_) : writer_.take_scratch(items.size() * bytes_);
        const Step here = writer_.receive(from, room, items.size() * bytes_, {}, tag);
        for (std::size_t i = 0; i < items.size(); ++i) held_[items[i]] = {room + i * bytes_, here};
    }

    // Everything that is wanted to where it belongs; all is here.
    void deliver() {
        for (const auto& [one, slots] : wanted_) {
            const Held& held = held_.at(one);
            for (const std::uint32_t slot : slots)
                if (held.at != output(slot * bytes_)) writer_.copy(held.at, output(slot * bytes_), bytes_, held.ready);
        }
    }

private:
    struct Held {
        Place at;
        Waits ready;
    };
    std::uint64_t bytes_;
    bool gathers_;
    Writer& writer_;
    std::map<Item, Held> held_;
    std::map<Item, std::vector<std::uint32_t>> wanted_;  // and its places
};

// Calls visit(source, index of the destination, destination) for every edge.
template <class Visit>
void each_edge(const Group& group, Visit visit) {
    for (std::uint32_t source = 0; source < group.size; ++source) {
        const auto& list = group.neighbours[source].destinations;
        for (std::uint32_t i = 0; i < list.size(); ++i)
            if (list[i] != no_rank) visit(source, i, list[i].value);
    }
}

}  // namespace

// A block that has to go D ranks ahead (round the circle) goes 2^k ahead for each bit k of D, low bits first, as in
// Bruck's alltoall: before round k it is D mod 2^k ahead of where it came from. So a rank sends at most one message a
// round.
void neighbours_by_distance(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const std::uint32_t n = group.size;
    const std::uint32_t me = group.me.value;
    Carrier carrier(group, call, writer);
    std::uint32_t round = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= 2, ++round) {
        Items in, out;
        const auto left = static_cast<std::uint32_t>((me + n - reach) % n);
        each_edge(group, [&](std::uint32_t source, std::uint32_t i, std::uint32_t destination) {
            const std::uint32_t distance = (destination + n - source) % n;
            if ((distance & reach) == 0) return;
            const std::uint32_t now = static_cast<std::uint32_t>((source + distance % reach) % n);
            if (now == me) out.push_back(carrier.item(source, i));
            if (now == left) in.push_back(carrier.item(source, i));
        });
        tidy(in);
        tidy(out);
        carrier.receive(Rank{left}, in, round);
        carrier.send(Rank{static_cast<std::uint32_t>((me + reach) % n)}, out, round);
    }
    carrier.deliver();
}

bool neighbours_on_hosts(const Group& group, const Call& call) {
    return has_neighbours(group, call) && several_hosts(group, call);
}

// Inside a host straight to the neighbour. What leaves the host goes to the host's first rank, from there as one
// message to the first rank of each host that has takers, and from there as one message to each of them.
void neighbours_by_host(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const std::uint32_t me = group.me.value;
    const auto [inside, heads] = hosts_of(group, Rank{0});
    const std::uint32_t home = group.hosts[me];
    const bool head = inside.me == 0;
    const auto head_of = [&, &all = heads](std::uint32_t host) {
        return all[(host + all.size() - group.hosts[0]) % all.size()];
    };
    Carrier carrier(group, call, writer);
    constexpr std::uint32_t to_head = 0, between = 1, from_head = 2, near = 3;

    std::map<std::uint32_t, Items> near_in, near_out;  // by rank
    std::map<std::uint32_t, Items> collected, handed;  // by rank of this host: from it, to it
    std::map<std::uint32_t, Items> far_in, far_out;    // by host
    each_edge(group, [&](std::uint32_t source, std::uint32_t i, std::uint32_t destination) {
        const Item one = carrier.item(source, i);
        const std::uint32_t source_host = group.hosts[source];
        const std::uint32_t destination_host = group.hosts[destination];
        if (source_host == destination_host) {
            if (source == destination) return;
            if (source == me) near_out[destination].push_back(one);
            if (destination == me) near_in[source].push_back(one);
        } else if (source_host == home) {
            collected[source].push_back(one);
            far_out[destination_host].push_back(one);
        } else if (destination_host == home) {
            handed[destination].push_back(one);
            far_in[source_host].push_back(one);
        }
    });
    for (auto* lists : {&near_in, &near_out, &collected, &handed, &far_in, &far_out})
        for (auto& [peer, items] : *lists) tidy(items);
    // What the first rank gets to pass on it needs not be given as a neighbour as well.
    if (head)
        for (auto& [peer, items] : near_in) items = without(items, collected[peer]);
    else
        near_out[inside[0].value] = without(near_out[inside[0].value], collected[me]);

    for (const auto& [peer, items] : near_in) carrier.receive(Rank{peer}, items, near);
    if (head)
        for (const auto& [member, items] : collected)
            if (member != me) carrier.receive(Rank{member}, items, to_head);
    if (!head) carrier.send(inside[0], collected[me], to_head);
    for (const auto& [peer, items] : near_out) carrier.send(Rank{peer}, items, near);
    if (head) {
        for (const auto& [host, items] : far_in) carrier.receive(head_of(host), items, between);
        for (const auto& [host, items] : far_out) carrier.send(head_of(host), items, between);
        for (const auto& [member, items] : handed)
            if (member != me) carrier.send(Rank{member}, items, from_head);
    } else {
        carrier.receive(inside[0], handed[me], from_head);
    }
    carrier.deliver();
}

}  // namespace loom::coll
