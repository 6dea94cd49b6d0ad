// New tables after a fault or an extension that change as little as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "loom/routing/engine.hpp"

namespace loom::routing {

// How the old routes were mended.
enum class Mending : std::uint8_t {
    up_down,    // the old routes of hosts go up first and down then, and so do the new ones
    shortest,   // broken routes join what still works; the channel dependencies were checked afterwards
    recomputed  // that would have closed a credit loop: up/down routes, keeping entries where they allow it
};

struct Rerouted {
    Tables tables;
    Mending mending = Mending::up_down;
    std::size_t entries = 0;           // (switch, LID) that cables join
    std::size_t changed = 0;           // of these, entries that name another port than before
    std::size_t added = 0;             // entries that were not there: new switches, new LIDs
    std::size_t unavoidable = 0;       // no tables at all can change fewer: the port's cable is gone, or leads away
    std::size_t switches_changed = 0;  // switches with a changed entry
    std::vector<std::string> remarks;
};

// `old` is bound to the graph of the changed fabric (bind_tables with Fit::changed): an entry that no longer leads
// anywhere is to be replaced, the others are kept where the result stays reachable, loop-free and free of credit
// loops. Where the old tables had credit loops already, they may stay; the remarks say so. Lanes of routes that
// did not change are kept; changed ones get the first lane that takes them, options.lanes at most.
// Cost: a few steps for each (switch, LID), more for those that are broken; no more than computing them anew.
[[nodiscard]] Rerouted reroute(const SwitchGraph& graph, const Tables& old, const RouteOptions& options);

}  // namespace loom::routing
