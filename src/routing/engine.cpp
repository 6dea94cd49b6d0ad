#include "loom/routing/engine.hpp"

#include <array>

#include "loom/base/error.hpp"

namespace loom::routing {

std::span<const Engine> engines() {
    static constexpr std::array all{
        Engine{"minhop", "shortest paths, balanced at each switch by counters, as OpenSM's default", route_minhop},
        Engine{"updn", "up first, then down: no deadlocks on any fabric, with one lane", route_updn},
        Engine{"ftree", "fat trees, whole or damaged: shifts without contention (Zahavi 2009)", route_ftree},
        Engine{"dmodk", "complete fat trees in closed form: d-mod-k", route_dmodk},
        Engine{"sssp", "shortest paths that avoid what is already full (Hoefler 2008)", route_sssp},
        Engine{"dfsssp", "sssp over as many virtual lanes as deadlock freedom takes", route_dfsssp},
        Engine{"random", "a random shortest path for each entry: the control", route_random},
    };
    return all;
}

const Engine& find_engine(std::string_view name) {
    std::string known;
    for (const Engine& engine : engines()) {
        if (engine.name == name) return engine;
        known += known.empty() ? "" : ", ";
        known += engine.name;
    }
    throw UsageError("no engine is called '" + std::string(name) + "', expected one of " + known);
}

}  // namespace loom::routing
