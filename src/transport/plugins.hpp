// Plug-ins: shared libraries beside libloom-verbs.so, loaded when they are wanted.
#pragma once

#include <memory>
#include <string>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport {

// "pmix", "transport-openmpi" or "transport-mpich": libloom-NAME.so, in the folder LOOM_PLUGINS or beside
// libloom-verbs.so. Throws BootstrapError when it cannot be loaded, or what the plug-in throws.
[[nodiscard]] std::unique_ptr<Bootstrap> plugged_bootstrap(const std::string& name);
[[nodiscard]] std::unique_ptr<Transport> plugged_transport(const std::string& name, Bootstrap& bootstrap);

// The MPI library that this process has loaded, else the one whose launcher started it: "openmpi", "mpich" or nothing.
[[nodiscard]] std::string mpi_of_this_process();

}  // namespace loom::transport
