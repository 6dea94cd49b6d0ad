// What breaks: cables, switches and hosts taken out by name or at random, by seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// So many, or such a share of all there are (rounded to the nearest).
struct Amount {
    std::size_t count = 0;
    double share = 0;  // 0..1; used when count is 0

    [[nodiscard]] std::size_t of(std::size_t total) const;
};

// May random damage take the last cable of a host (and, with it, the host)?
enum class LastCable : std::uint8_t { keep, take };

// Counts and shares refer to the fabric as given. A node that ends up without any cable would not be
// discovered: it is taken out too. Order of events: named nodes, named cables, then at random switches,
// hosts, links, and last the links that only become slow.
struct Damage {
    std::uint64_t seed = 1;
    Amount switches = {};
    Amount hosts = {};  // nodes, with all their ports
    Amount links = {};
    Amount slow_links = {};  // run at a quarter of their width or less (1x), as with a bad cable
    LastCable last_cable = LastCable::keep;
    std::vector<std::string> nodes = {};                       // by name, which must be theirs alone, or GUID
    std::vector<std::pair<std::string, PortNum>> cables = {};  // by either end
};

struct Damaged {
    Fabric fabric;                      // a new one without gaps; GUIDs, names and LIDs are kept
    std::vector<std::string> switches;  // that are gone, by name
    std::vector<std::string> hosts;
    std::vector<std::string> links;  // "A port 1 - B port 2", those of nodes that are gone not included
    std::vector<std::string> slow;   // the same
};

// Equal input and seed give equal damage. Throws UsageError when there is not as much to take as asked,
// or a name is unknown or that of several nodes. Cost: a few passes over the ports.
[[nodiscard]] Damaged damage(const Fabric& fabric, const Damage& what);

}  // namespace loom::fabric
