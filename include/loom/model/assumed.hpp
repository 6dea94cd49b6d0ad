// Charges of hosts that nobody measured, and the one line that says what a prediction was made with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loom/model/assumptions.hpp"
#include "loom/model/walk.hpp"

namespace loom::model {

// Copies and reductions as assumptions() has them.
[[nodiscard]] LocalCosts assumed_local();

// Ranks on hosts, by rank; `cores` for those of one host, whose turns cost where there are more ranks. Between hosts a
// software HCA over Ethernet is assumed.
[[nodiscard]] Charges assumed_charges(std::span<const std::uint32_t> hosts, std::uint32_t cores);

// The way between two hosts of a fabric, as the packet and flow level of a simulation have it.
struct Link {
    std::uint32_t megabits = assumed::megabits;  // of the hosts' ports, after line coding
    std::uint32_t switches = assumed::switches;  // on the way
    Time cable_delay = assumed::cable_delay;
    Time switch_delay = assumed::switch_delay;
    Time host_delay = assumed::host_delay;

    [[nodiscard]] Time latency() const;          // from posting to completion, without the bytes
    [[nodiscard]] std::int64_t byte_ps() const;  // picoseconds a byte on the wire
};

// The same cores, whose messages between hosts go over such links: L, g and G are the link's, o and the costs of a
// byte at the cores what they were. Throws UsageError for a link without a rate.
[[nodiscard]] Charges with_link(Charges charges, const Link& link);

// "costs: copy 0.1 ns/B, reduce 0.2 ns/B, step 30 ns (assumed)"; `origin` is "assumed", "measured 2026-11-16 10:00 UTC"
// or "from FILE".
[[nodiscard]] std::string costs_line(const LocalCosts& local, std::string_view origin);
// The same with o, L, g and G of small messages between hosts (inside the host where there is only one) behind it.
[[nodiscard]] std::string costs_line(const Charges& charges, std::string_view origin);

}  // namespace loom::model
