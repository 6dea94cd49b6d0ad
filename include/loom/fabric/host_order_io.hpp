// OpenSM's host order (opensm-ftree-ca-order.dump): the host ports of a fat tree in rank order, one a
// line, "0x0002<TAB>name"; "0xFFFF<TAB>DUMMY" keeps the place of a host that a leaf lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/levels.hpp"

namespace loom::fabric {

struct RankedHost {
    Lid lid;  // no_lid: a place keeper
    std::string name;
    std::size_t line = 0;
};

// True when the first line that is no comment looks like one of these.
[[nodiscard]] bool is_host_order(std::string_view text);

// Throws ParseError with the line when one is no "0xLID NAME", the LID is no unicast LID, or it comes a
// second time.
[[nodiscard]] std::vector<RankedHost> parse_host_order(std::string_view text, const std::string& file_name);

enum class PlaceKeepers : std::uint8_t { keep, drop };

// The hosts by rank, as host_order() gives them. Kept place keepers have no_port at both ends. Throws
// ParseError naming the line when a LID is not that of a host port behind a switch.
[[nodiscard]] std::vector<HostPort> bind_host_order(const std::vector<RankedHost>& order, const Fabric& fabric,
                                                    const std::string& file_name,
                                                    PlaceKeepers keepers = PlaceKeepers::drop);

// As OpenSM writes it. With kept place keepers every switch is filled up to the one with most hosts, so
// that rank / hosts per leaf is the leaf. Throws Error when a host port has no LID.
void write_host_order(const Fabric& fabric, std::span<const HostPort> order, std::ostream& out,
                      PlaceKeepers keepers = PlaceKeepers::keep);

}  // namespace loom::fabric
