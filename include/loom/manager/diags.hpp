// What perfquery, ibccquery and smpquery of infiniband-diags print, read with care: nothing is assumed that is not
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::manager {

// "# Port counters: Lid 3 port 23 (CapMask: 0x1300)" and the "Name:.....value" lines after it.
struct DiagBlock {
    struct Field {
        std::string_view name;
        std::string_view value;
        std::size_t line = 0;
    };
    std::string source;      // for messages: the command that printed it
    std::string_view title;  // "Port counters"
    std::size_t line = 0;
    Lid lid;
    std::optional<PortNum> port;
    std::optional<std::uint64_t> capabilities;  // CapMask
    std::vector<Field> fields;

    // Throws ParseError when the field is missing, there twice, no number (hexadecimal after 0x) or beyond `most`.
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t most = UINT64_MAX) const;
    [[nodiscard]] bool has(std::string_view name) const;
};

// The blocks of one output, whose text must outlive them. Throws ParseError with the line and what was expected there.
[[nodiscard]] std::vector<DiagBlock> parse_diags(std::string_view text, const std::string& source);

// What one port counts, as far as one output tells.
struct PortReading {
    std::uint64_t xmit_data = 0, rcv_data = 0;  // words of 32 bits
    std::uint64_t xmit_pkts = 0, rcv_pkts = 0;
    std::optional<std::uint64_t> xmit_wait;  // 64 bits wide; older switches have it in the basic counters only
};

// The readers below throw ParseError unless the output is about this LID and just these ports, in this order.

// perfquery -x [-l] LID PORTS
[[nodiscard]] std::vector<PortReading> parse_extended(std::string_view text, const std::string& source, Lid lid,
                                                      std::span<const PortNum> ports);
// perfquery [-l] LID PORTS: PortXmitWait, 32 bits. The tool prints 0 for a switch whose CapMask says that it does not
// count it; that is an error here.
[[nodiscard]] std::vector<std::uint64_t> parse_waits(std::string_view text, const std::string& source, Lid lid,
                                                     std::span<const PortNum> ports);
// perfquery --xmitcc LID PORT: PortXmitTimeCong (PortXmitCongTime in the paper), 32 bits.
[[nodiscard]] std::uint64_t parse_congested_time(std::string_view text, const std::string& source, Lid lid,
                                                 PortNum port);

// Congestion settings of a switch port, or of the switch for ports that have none of their own.
struct CongestionSetting {
    bool valid = true;            // the port's own; otherwise the switch's counts
    bool credit_starved = false;  // Control_Type 1: the value is a return delay, not a rate
    std::uint8_t threshold = 0;   // 0: nothing is marked
    std::uint8_t packet_size = 0;
    std::uint16_t marking_rate = 0;

    friend bool operator==(const CongestionSetting&, const CongestionSetting&) = default;
};
// ibccquery SwitchPortCongestionSetting LID PORT
[[nodiscard]] CongestionSetting parse_port_setting(std::string_view text, const std::string& source, Lid lid);
// ibccquery SwitchCongestionSetting LID
[[nodiscard]] CongestionSetting parse_switch_setting(std::string_view text, const std::string& source, Lid lid);

// smpquery nodeinfo LID: the node's GUID.
[[nodiscard]] Guid parse_node_guid(std::string_view text, const std::string& source, Lid lid);

}  // namespace loom::manager
