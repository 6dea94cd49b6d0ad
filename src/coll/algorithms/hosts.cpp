#include "coll/algorithms/hosts.hpp"

#include <algorithm>

#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {

bool several_hosts(const Group& group, const Call&) {
    if (group.hosts.size() != group.size || group.size < 3) return false;
    const std::uint32_t hosts = *std::max_element(group.hosts.begin(), group.hosts.end()) + 1;
    return hosts > 1 && hosts < group.size;
}

bool several_hosts_in_order(const Group& group, const Call& call) {
    return several_hosts(group, call) && (call.commutative || std::is_sorted(group.hosts.begin(), group.hosts.end()));
}

Hosts hosts_of(const Group& group, Rank first) {
    const std::uint32_t home = group.hosts[group.me.value];
    const std::uint32_t first_home = group.hosts[first.value];
    const std::uint32_t hosts = *std::max_element(group.hosts.begin(), group.hosts.end()) + 1;
    std::vector<Rank> head(hosts, no_rank);
    head[first_home] = first;
    for (std::uint32_t rank = 0; rank < group.size; ++rank)
        if (head[group.hosts[rank]] == no_rank) head[group.hosts[rank]] = Rank{rank};
    Hosts all;
    for (std::uint32_t i = 0; i < hosts; ++i) all.heads.ranks.push_back(head[(first_home + i) % hosts]);
    all.heads.me = (home + hosts - first_home) % hosts;
    all.inside.ranks.push_back(head[home]);
    for (std::uint32_t rank = 0; rank < group.size; ++rank) {
        if (group.hosts[rank] != home || Rank{rank} == head[home]) continue;
        if (Rank{rank} == group.me) all.inside.me = all.inside.size();
        all.inside.ranks.push_back(Rank{rank});
    }
    return all;
}

namespace {

constexpr std::uint32_t inside_tag = 1u << 20;  // beyond those used between hosts

std::vector<Piece> whole(std::uint64_t bytes) {
    return segments(bytes, 1, 0);
}

}  // namespace

void hierarchical_barrier(const Group& group, const Call&, const Tuning& tuning, Writer& writer) {
    const auto [inside, heads] = hosts_of(group, Rank{0});
    if (inside.me != 0) {
        await(writer, inside[0], inside_tag);
        signal(writer, inside[0], {}, inside_tag);
        return;
    }
    Waits heard;
    for (std::uint32_t i = 1; i < inside.size(); ++i) heard.add(await(writer, inside[i], inside_tag));
    heard = disseminate(writer, heads, std::max(tuning.ways, 1u), heard, 0);
    if (inside.size() > 2) heard = joined(writer, heard);
    for (std::uint32_t i = 1; i < inside.size(); ++i) signal(writer, inside[i], heard, inside_tag);
}

void hierarchical_broadcast(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const auto [inside, heads] = hosts_of(group, call.root);
    const auto cuts = whole(call.bytes);
    std::vector<Waits> here;
    if (inside.me == 0) here = send_down(writer, heads, binomial_node(heads.me, heads.size()), output(), cuts, {});
    send_down(writer, inside, flat_node(inside.me, inside.size()), output(), cuts, here, inside_tag);
}

// Where order counts, hosts follow each other and rank 0 is the first: its host's head goes ahead of the rest, and the
// result takes one more step to the root.
void hierarchical_reduce(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const Rank first = call.commutative ? call.root : Rank{0};
    const bool detour = first != call.root;
    const auto [inside, heads] = hosts_of(group, first);
    const auto cuts = whole(call.bytes);
    const bool ends_here = group.me == first && !detour;
    const Value own = own_value(group.me == call.root ? own_input(call) : input());
    if (inside.me != 0) {
        const Step sent = writer.send(inside[0], own.at, call.bytes, {}, inside_tag);
        if (detour && group.me == call.root)
            writer.receive(first, output(), call.bytes, call.in_place ? Waits(sent) : Waits(), inside_tag + 1);
        return;
    }
    const Value mine = collect(writer, inside.ranks, own, std::nullopt, call.bytes, call.commutative, inside_tag);
    const Place target = ends_here || group.me != first ? output() : writer.take_scratch(call.bytes);
    const Waits free = own.at == target && mine.at != target ? mine.ready : Waits();
    const auto done =
        reduce_up(writer, heads, binomial_node(heads.me, heads.size()), mine, target, cuts, call.commutative, 0, free);
    if (detour && group.me == first) writer.send(call.root, target, call.bytes, done[0], inside_tag + 1);
    if (detour && group.me == call.root)
        writer.receive(first, output(), call.bytes, call.in_place ? done[0] : Waits(), inside_tag + 1);
}

void hierarchical_allreduce(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    if (call.bytes == 0) return;
    const auto [inside, heads] = hosts_of(group, Rank{0});
    const Value own = own_value(own_input(call));
    if (inside.me != 0) {
        const Step sent = writer.send(inside[0], own.at, call.bytes, {}, inside_tag);
        writer.receive(inside[0], output(), call.bytes, call.in_place ? Waits(sent) : Waits(), inside_tag + 1);
        return;
    }
    const Value mine = collect(writer, inside.ranks, own, std::nullopt, call.bytes, call.commutative, inside_tag);
    const Waits free = own.at == output() && mine.at != output() ? mine.ready : Waits();
    const Waits here = exchange_all(writer, heads, mine, output(), call.bytes, call.commutative, 0, free);
    for (std::uint32_t i = 1; i < inside.size(); ++i)
        writer.send(inside[i], output(), call.bytes, here, inside_tag + 1);
}

}  // namespace loom::coll
