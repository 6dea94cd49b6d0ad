// Traffic of others, beside the ranks of a job.
#pragma once

#include <cstdint>
#include <string>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::twin {

// Messages from host port to host port, one after the other. It has two ranks of the simulation of its own, behind
// those of the job: number i sends from rank `ranks + 2i` to the next, where counters, flows and recordings have it.
struct BackgroundFlow {
    std::string name;
    PortIndex from = no_port;
    PortIndex to = no_port;
    std::uint64_t bytes = 0;          // in all; not used when endless
    std::uint64_t message = 1 << 20;  // bytes of each send; the last one has what is left
    bool endless = false;             // sends as long as the job runs
    std::uint32_t window = 1;         // sends under way at a time
    Time start;                       // of the first send
    std::uint8_t sl = 0;              // service level
};

}  // namespace loom::twin
