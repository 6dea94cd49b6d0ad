// LIDs that cannot work as they stand: read from files, or set by hand on a subnet in trouble.
#pragma once

#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// A LID of two ports that a cable or a chain of switches joins: packets to it reach one of them at most.
struct SharedLid {
    Lid lid;
    PortIndex first, second;
};

// In the order of their LIDs; a LID of three ports comes twice. Ports without a cable do not count, nor do LIDs that
// come again in a part of the fabric that no cable joins to the first: each subnet has LIDs of its own. Cost: a pass
// over the ports, and a walk over the switches where a LID comes twice.
[[nodiscard]] std::vector<SharedLid> shared_lids(const Fabric& fabric);

// "LID 5 belongs to two ports: a port 1 and b port 1".
[[nodiscard]] std::string describe(const Fabric& fabric, const SharedLid& shared);

// A plain sentence for each kind of fault there is, with the first example: LIDs of several ports, LIDs beyond those
// of a subnet, and LMC ranges that do not begin at a multiple of their size, of which a port takes others than meant.
[[nodiscard]] std::vector<std::string> lid_faults(const Fabric& fabric);

}  // namespace loom::fabric
