#include "loom/transport/open.hpp"

#include <cstdlib>

#include "loom/base/error.hpp"

namespace loom::transport {

std::unique_ptr<Transport> open_transport(Bootstrap& bootstrap, std::string_view name) {
    std::string wanted(name), origin;
    if (wanted == "auto") {
        const char* variable = std::getenv("LOOM_TRANSPORT");
        wanted = variable == nullptr || *variable == '\0' ? "verbs" : variable;
        origin = "LOOM_TRANSPORT: ";
    }
    if (wanted == "verbs") return open_verbs(bootstrap);
    if (wanted == "mpi") return open_mpi(bootstrap);
    throw UsageError(origin + "no such transport: " + wanted + "; expected verbs or mpi");
}

}  // namespace loom::transport
