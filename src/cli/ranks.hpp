// Ranks that a command starts for itself, and what the first of them has to say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "loom/base/ids.hpp"

namespace loom::cli {

// Runs `body` in so many processes under the local launcher; what rank 0 returns comes back, of others it is dropped.
// Some ten kilobytes at most. Throws Error when a rank fails or a minute is up.
[[nodiscard]] std::string ask_ranks(std::uint32_t ranks, const std::function<std::string(Rank)>& body);

}  // namespace loom::cli
