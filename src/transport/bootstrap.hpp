// The bootstraps there are, for find_bootstrap to choose from.
#pragma once

#include <chrono>
#include <memory>

#include "loom/transport/bootstrap.hpp"

namespace loom::transport {

// How long a fence waits: LOOM_BOOTSTRAP_TIMEOUT in seconds, else a minute. Throws BootstrapError when it is no number.
[[nodiscard]] std::chrono::milliseconds bootstrap_timeout();

[[nodiscard]] std::unique_ptr<Bootstrap> alone_bootstrap();
// At the socket that LOOM_RUN names. One at a time in a process.
[[nodiscard]] std::unique_ptr<Bootstrap> launcher_bootstrap();

}  // namespace loom::transport
