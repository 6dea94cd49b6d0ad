// Ranks that a program starts for itself, and what the first of them has to say.
#pragma once

#include <functional>
#include <string>

#include "loom/base/ids.hpp"
#include "loom/transport/launch.hpp"

namespace loom::transport {

// Runs `body` in the processes of `job` (whose own program and body are not looked at): what rank 0 returns comes back,
// however long it is, of others it is dropped. Like Launch::body it forks: the caller must have no other threads.
// Throws Error when a rank fails or the job's time is up, IoError when an answer finds no memory.
[[nodiscard]] std::string ask_ranks(Launch job, const std::function<std::string(Rank)>& body);

}  // namespace loom::transport
