// A fabric in figures: what an engineer wants to know before anything else.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::fabric {

struct Range {
    std::size_t least = 0;
    std::size_t most = 0;
};

// The switches of one level. Cables count with the level at their lower end as "up".
struct LevelSummary {
    std::size_t switches = 0;
    std::size_t hosts = 0;       // cables to hosts and routers; aggregation nodes do not count
    std::size_t down = 0;        // cables to lower levels, hosts included
    std::size_t up = 0;          // cables to higher levels
    std::size_t open_ports = 0;  // without a cable
    Range hosts_each;            // over its switches
    Range up_each;
    // Capacity from below over capacity upwards, by rate where all rates are known, else by cables; 1 is
    // full bisection, 2 half; 0 where nothing leads up.
    double oversubscription = 0;
};

// A part of the fabric with no cable to the rest.
struct Subnet {
    std::size_t switches = 0;
    std::size_t hosts = 0;  // nodes
    std::size_t links = 0;
};

struct SlowCable {
    std::string cable;  // "A port 1 - B port 2"
    LinkRate rate;
    LinkRate supported;
};

struct Summary {
    std::size_t switches = 0, hosts = 0, routers = 0, aggregation_nodes = 0;
    std::size_t switch_links = 0, host_links = 0;
    std::size_t lids = 0;                        // in use, all those of an LMC counted
    unsigned lmc = 0;                            // the largest
    std::vector<LevelSummary> levels;            // leaves first
    std::map<unsigned, std::size_t> radix;       // ports of a switch -> switches
    std::map<std::string, std::size_t> rates;    // "4xHDR" -> cables
    std::vector<SlowCable> slow;                 // cables that run below what both ends support
    std::size_t support_unknown = 0;             // cables of which the source does not say what their ends support
    std::vector<SlowCable> behind;               // of those: slower than most between the same levels (`supported`)
    std::vector<Subnet> subnets;                 // largest first
    std::size_t servers_on_several_subnets = 0;  // by the first word of their name: a server with several rails
    std::vector<std::string> remarks;            // plain sentences: what deviates from a regular tree
};

// Cost: a few passes over the ports.
[[nodiscard]] Summary summarise(const Fabric& fabric, const Levels& levels);

}  // namespace loom::fabric
