// What breaks while a simulation runs, and when.
#pragma once

#include <cstdint>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::sim {

struct Fault {
    enum class Kind : std::uint8_t {
        link,     // the cable at `port`
        switch_,  // `node`, with all its cables
        rank,     // `rank` dies
    };
    Kind kind = Kind::rank;
    Time at;
    PortIndex port = no_port;
    NodeId node = no_node;
    Rank rank;
};

}  // namespace loom::sim
