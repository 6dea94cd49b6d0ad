// What may have been meant otherwise in a placement: for commands, which tell people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// A sentence for names that fit several hosts of which not all are named (they are taken in turn), and one for names
// that are LIDs of other hosts (the name was taken), each with the first example. `text` is one that read_placement,
// `host_list` one that place_on_hosts has taken. Cost: that of reading them.
[[nodiscard]] std::vector<std::string> placement_doubts(const Fabric& fabric, std::string_view text);
[[nodiscard]] std::vector<std::string> host_list_doubts(const Fabric& fabric, std::string_view host_list);

}  // namespace loom::fabric
