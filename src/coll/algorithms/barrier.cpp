// Barriers: messages without bytes.
#include <algorithm>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/hosts.hpp"
#include "coll/algorithms/trees.hpp"

namespace loom::coll {
namespace {

void dissemination(const Group& group, const Call&, const Tuning& tuning, Writer& writer) {
    disseminate(writer, everyone(group), std::max(tuning.ways, 1u), {}, 0);
}

void fan(const Group& group, Writer& writer, MakeNode make_node) {
    const Team team = everyone(group);
    const Node node = make_node(team.me, team.size());
    Waits below;
    for (const std::uint32_t child : node.children) below.add(await(writer, team[child], 0));
    Waits released = below;
    if (team.me != 0) {
        released = await(writer, team[node.parent], 1);
        signal(writer, team[node.parent], below, 0);
    } else if (node.children.size() > 1) {
        released = joined(writer, below);
    }
    for (const std::uint32_t child : node.children) signal(writer, team[child], released, 1);
}

void linear(const Group& group, const Call&, const Tuning&, Writer& writer) {
    fan(group, writer, flat_node);
}

void binomial(const Group& group, const Call&, const Tuning&, Writer& writer) {
    fan(group, writer, binomial_node);
}

constexpr Algorithm list[] = {
    {Collective::barrier, "dissemination",
     "each round tells `ways` others what was heard: log(ranks) base ways+1 rounds of `ways` messages", false, true,
     always, dissemination},
    {Collective::barrier, "linear", "all tell rank 0, which answers: 2 rounds, ranks-1 messages each", false, false,
     always, linear},
    {Collective::barrier, "binomial", "up and down a binomial tree: 2 log2(ranks) rounds, 2(ranks-1) messages in all",
     false, false, always, binomial},
    {Collective::barrier, "hierarchical", "flat inside hosts, dissemination between their first ranks", false, true,
     several_hosts, hierarchical_barrier},
};

}  // namespace

Family barriers() {
    return list;
}

}  // namespace loom::coll
