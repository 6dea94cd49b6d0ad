#include "loom/routing/tables.hpp"

#include <algorithm>

namespace loom::routing {

Tables::Tables(std::uint32_t switch_count, Lid top_lid)
    : switches_(switch_count), width_(std::size_t{top_lid.value} + 1), ports_(switches_ * width_, no_route) {}

void Tables::use_lanes() {
    if (lanes_.empty()) lanes_.assign(ports_.size(), 0);
}

unsigned Tables::lane_count() const {
    return lanes_.empty() ? 1u : *std::max_element(lanes_.begin(), lanes_.end()) + 1u;
}

}  // namespace loom::routing
