// Transports by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport {

// "auto" (LOOM_TRANSPORT, else verbs), "verbs", or "mpi" (a plug-in). Collective: every rank of the bootstrap calls it.
// The bootstrap must outlive the transport. Throws UsageError for an unknown name, Error when it cannot be opened.
[[nodiscard]] std::unique_ptr<Transport> open_transport(Bootstrap& bootstrap, std::string_view name = "auto");

// The two that open_transport chooses from.
[[nodiscard]] std::unique_ptr<Transport> open_verbs(Bootstrap& bootstrap);
[[nodiscard]] std::unique_ptr<Transport> open_mpi(Bootstrap& bootstrap);

// Runs `body` as `ranks` threads of this process, each with its own transport of the kind "local", and returns when all
// have ended. The first exception is thrown again, after the others were told that the rank is lost; until
// then they may still read what it was sending, which a body that throws must therefore leave where it is.
void run_local(std::uint32_t ranks, const std::function<void(Transport&)>& body);

}  // namespace loom::transport
