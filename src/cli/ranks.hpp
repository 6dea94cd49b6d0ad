// Ranks that a command starts for itself: transport::ask_ranks with what all commands have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "loom/base/ids.hpp"

namespace loom::cli {

// What rank 0 returns. What the ranks print goes to our standard error. Throws Error when a rank fails or a minute is
// up.
[[nodiscard]] std::string ask_ranks(std::uint32_t ranks, const std::function<std::string(Rank)>& body);

}  // namespace loom::cli
