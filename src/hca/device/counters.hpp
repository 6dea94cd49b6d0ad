// The counters by name, for those who show them.
#pragma once

#include "hca/host/shared.hpp"
#include "loom/hca/counters.hpp"

namespace loom::hca {

// In a fixed order; each is read once.
[[nodiscard]] std::vector<Counter> named_counters(const PortCounters& port);

// Of one HCA in this process; all zero while no device is open.
[[nodiscard]] std::vector<Counter> own_counters(std::uint32_t hca);

}  // namespace loom::hca
