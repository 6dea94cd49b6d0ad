#include "coll/algorithms/trees.hpp"

#include <algorithm>

namespace loom::coll {

Node binomial_node(std::uint32_t v, std::uint32_t n) {
    return knomial_node(v, n, 2);
}

std::vector<Waits> send_down(Writer& writer, const Team& team, const Node& node, Place at, std::span<const Piece> cuts,
                             std::span<const Waits> ready, std::uint32_t tag) {
    std::vector<Waits> arrived;
    arrived.reserve(cuts.size());
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const Piece& cut = cuts[i];
        const auto number = tag + static_cast<std::uint32_t>(i);
        Waits here = ready.empty() ? Waits() : ready[i];
        if (team.me != 0) here = writer.receive(team[node.parent], at + cut.at, cut.bytes, here, number);
        for (const std::uint32_t child : node.children) writer.send(team[child], at + cut.at, cut.bytes, here, number);
        arrived.push_back(here);
    }
    return arrived;
}

Value collect(Writer& writer, std::span<const Rank> ranks, const Value& own, std::optional<Place> target,
              std::uint64_t bytes, bool commutative, std::uint32_t tag, const Waits& free, const Rooms& rooms) {
    // One message may go right to the target if nothing else is there: the last, or any where order does not count.
    std::optional<Rank> direct;
    if (target && own.at != *target && ranks.size() > 1) {
        if (ranks.back() != writer.me())
            direct = ranks.back();
        else if (commutative)
            direct = ranks.front();
    }
    std::vector<Value> values;
    values.reserve(ranks.size());
    std::size_t taken = 0;
    for (const Rank rank : ranks) {
        if (rank == writer.me()) {
            values.push_back(own);
            continue;
        }
        if (rank == direct) {
            values.push_back({*target, writer.receive(rank, *target, bytes, free, tag), false, {}});
            continue;
        }
        const bool given = taken < rooms.places.size();
        const Place room = given ? rooms.places[taken++] : writer.take_scratch(bytes);
        values.push_back({room, writer.receive(rank, room, bytes, given ? rooms.free : Waits(), tag), false, {}});
    }
    if (target) return combine(writer, values, *target, bytes, commutative, direct ? Waits() : free);
    return combine(writer, values, bytes, commutative);
}

std::vector<Waits> reduce_up(Writer& writer, const Team& team, const Node& node, const Value& own, Place target,
                             std::span<const Piece> cuts, bool commutative, std::uint32_t tag, const Waits& free) {
    std::vector<std::uint32_t> order = node.children;
    std::sort(order.begin(), order.end());
    std::vector<Rank> ranks{team[team.me]};
    for (const std::uint32_t child : order) ranks.push_back(team[child]);
    std::vector<Waits> done;
    done.reserve(cuts.size());
    // At the top one message may come right to the target.
    const bool top = team.me == 0;
    const std::size_t coming = ranks.size() - 1 - (top && own.at != target && ranks.size() > 1 ? 1 : 0);
    Rooms rooms[window];
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const Piece& cut = cuts[i];
        Rooms& here = rooms[i % window];
        if (i < window)  // the first cuts are the largest
            for (std::size_t k = 0; k < coming; ++k) here.places.push_back(writer.take_scratch(cut.bytes));
        else
            here.free = done[i - window];
        Value mine = own;
        mine.at = own.at + cut.at;
        const auto number = tag + static_cast<std::uint32_t>(i);
        if (top) {
            done.push_back(
                collect(writer, ranks, mine, target + cut.at, cut.bytes, commutative, number, free, here).ready);
        } else {
            const Value sum = collect(writer, ranks, mine, std::nullopt, cut.bytes, commutative, number, {}, here);
            done.emplace_back(writer.send(team[node.parent], sum.at, cut.bytes, sum.ready, number));
        }
    }
    return done;
}

Step signal(Writer& writer, Rank to, const Waits& after, std::uint32_t tag) {
    return writer.send(to, {}, 0, after, tag);
}

Step await(Writer& writer, Rank from, std::uint32_t tag) {
    return writer.receive(from, {}, 0, {}, tag);
}

// After the rounds so far a rank has heard of itself and the reach - 1 before it, and tells those i * reach further on.
// A step beyond the circle would tell what is known, and is left out: so no round has a partner twice, whatever `ways`
// is. What is sent tells of all that was heard in all rounds before, so it waits for all of that: a later round's
// message may come before an earlier round's.
Waits disseminate(Writer& writer, const Team& team, std::uint32_t ways, const Waits& ready, std::uint32_t tag) {
    const std::uint64_t size = team.size();
    const auto peer = [&](std::uint64_t distance) {
        return team[static_cast<std::uint32_t>((team.me + distance) % size)];
    };
    Waits heard = ready;
    for (std::uint64_t reach = 1; reach < size; reach *= std::uint64_t{ways} + 1, ++tag) {
        Waits hear;
        for (std::uint64_t i = 1; i <= ways && i * reach < size; ++i)
            hear.add(await(writer, peer(size - i * reach), tag));
        if (hear.size() > 1) heard = joined(writer, heard);
        Step told{};
        for (std::uint64_t i = 1; i <= ways && i * reach < size; ++i)
            told = signal(writer, peer(i * reach), heard, tag);
        if (heard.size() == 1)
            hear.add(heard);
        else if (!heard.empty())
            hear.add(told);  // which waited for all of them
        heard = hear;
    }
    return heard;
}

}  // namespace loom::coll
