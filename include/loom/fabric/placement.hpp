// Which rank sits on which host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// hosts[r] is the host port that rank r uses; no_port is a place keeper: the rank keeps its number, sends
// nothing and is sent nothing. Several ranks may share a port.
struct Placement {
    std::vector<PortIndex> hosts;

    [[nodiscard]] std::size_t ranks() const { return hosts.size(); }
    friend bool operator==(const Placement&, const Placement&) = default;
};

// Rank by (leaf, port), as host_order says: the default everywhere.
[[nodiscard]] Placement place_in_order(const Fabric& fabric);

// The same with every leaf filled up by place keepers to the places that the leaves have, so that a host
// missing from a tree does not move the hosts after it (Zahavi 2009, section 3). A place is a port where the
// leaves have their hosts on the same ports. Leaves without any host stay out.
[[nodiscard]] Placement place_with_keepers(const Fabric& fabric);

// A random order of the same ranks.
[[nodiscard]] Placement shuffled(Placement placement, std::uint64_t seed);

// One host a line in rank order: a node's name or the first word of it, a Slurm host list
// ("node[001-018,020]", one rank each), a GUID (0x...; node or port), a LID (decimal), or "-" for a
// place keeper. '#' starts a comment at the start of a line. A node that is named again gives its
// next connected port, in turn. OpenSM's host order (host_order_io.hpp) is read too. Throws ParseError with `file` and
// the line for a host that is unknown or not connected to a switch.
[[nodiscard]] Placement read_placement(const Fabric& fabric, std::string_view text, const std::string& file);

// A Slurm host list on the command line: "node[001-018,020],login1". Throws UsageError.
[[nodiscard]] Placement place_on_hosts(const Fabric& fabric, std::string_view host_list);

// "a[01-03],b" is a01, a02, a03, b; zeros are kept, several brackets multiply. Throws UsageError for
// a range or bracket that makes no sense and beyond 1,000,000 names.
[[nodiscard]] std::vector<std::string> expand_host_list(std::string_view text);

// How a command or a scenario says where ranks sit.
struct PlaceRequest {
    std::string how = {};               // order (also when empty), keepers, random, or a file with a host a line
    std::string hosts = {};             // instead: a Slurm host list
    std::uint64_t seed = 1;             // of random
    std::filesystem::path folder = {};  // the file's name is relative to it
};

// Adds to `remarks` what may have been meant otherwise (placement_doubts.hpp). Throws as the functions above do, and
// IoError.
[[nodiscard]] Placement place_ranks(const Fabric& fabric, const PlaceRequest& request,
                                    std::vector<std::string>& remarks);

// The text that read_placement reads back: names where they are unique, GUIDs otherwise.
[[nodiscard]] std::string to_text(const Fabric& fabric, const Placement& placement);

}  // namespace loom::fabric
