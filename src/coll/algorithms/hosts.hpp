// By host: inside one all are near, between them one rank speaks for all.
#pragma once

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

// Whether ranks are on several hosts and some share one.
bool several_hosts(const Group& group, const Call& call);
// And for reductions: the operation commutes, or each host's ranks follow each other.
bool several_hosts_in_order(const Group& group, const Call& call);

void hierarchical_barrier(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);
void hierarchical_broadcast(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);
void hierarchical_reduce(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);
void hierarchical_allreduce(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);

// The ranks of this rank's host with `first` (or the lowest) at the head, and the heads of all hosts, beginning with
// first's host. `heads.me` means something only at a head (inside.me == 0).
struct Hosts {
    Team inside;
    Team heads;
};
[[nodiscard]] Hosts hosts_of(const Group& group, Rank first);

}  // namespace loom::coll
