// Counters of software HCAs, in this process and in others of this user while they run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loom::hca {

// Bytes are payload. By path: "store" (written into shared memory), "direct" (copied between the processes' memory),
// "target" (copied by the other side's own thread), "roce" (packets on UDP).
struct Counter {
    std::string name;  // sent_bytes_store, retransmitted, ...
    std::uint64_t value = 0;
};

struct HcaCounters {
    std::string device;  // loomN
    std::vector<Counter> counters;
};

struct ProcessCounters {
    int pid = 0;
    std::string program;
    std::vector<HcaCounters> hcas;
};

// Of every process that has a software HCA open and may be looked at, by pid. Costs a look at every descriptor of the
// user's processes.
[[nodiscard]] std::vector<ProcessCounters> live_counters();

// Of one process; nothing when it is not there, has no HCA open, or is another user's.
[[nodiscard]] std::optional<ProcessCounters> live_counters(int pid);

}  // namespace loom::hca
