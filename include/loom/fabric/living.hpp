// The narrow interfaces to a fabric that is alive: what its ports count, what its congestion control is set to,
// and what time it is. The simulator serves all three, and so do the diagnostic tools of a real subnet.
#pragma once

#include <cstdint>
#include <span>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"

namespace loom::fabric {

// As an InfiniBand port counts. Never reset here: readers take differences.
struct PortCounters {
    std::uint64_t xmit_data = 0;  // 32-bit words
    std::uint64_t rcv_data = 0;   // 32-bit words
    std::uint64_t xmit_pkts = 0;
    std::uint64_t rcv_pkts = 0;
    std::uint64_t xmit_wait = 0;       // ticks with data to send and no credit to send it
    std::uint64_t xmit_cong_time = 0;  // ticks in the congested state
    std::uint64_t marked_fecn = 0;     // packets this port sent with a fresh mark
    std::uint64_t rcv_fecn = 0;        // marked packets that arrived (host ports)
    std::uint64_t rcv_becn = 0;        // notifications that arrived (host ports)

    friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

class CounterSource {
public:
    virtual ~CounterSource() = default;
    // counters[i] of ports[i], read together as far as the fabric allows. Throws Error when a port cannot be
    // read. Cost on a living subnet: one or two management packets a port.
    virtual void read(std::span<const PortIndex> ports, std::span<PortCounters> counters) = 0;
};

class CongestionParameters {
public:
    virtual ~CongestionParameters() = default;
    // Mean number of packets that leave a congested switch port unmarked between two marked ones; 0 marks all.
    [[nodiscard]] virtual std::uint16_t marking_rate(PortIndex switch_port) = 0;
    virtual void set_marking_rate(PortIndex switch_port, std::uint16_t rate) = 0;
};

class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Time now() = 0;
    // Returns at `time` or as soon after as can be. The simulator plays the fabric until then. False: there
    // is nothing more to wait for (the scenario is over, or someone asked to stop).
    virtual bool sleep_until(Time time) = 0;
};

}  // namespace loom::fabric
