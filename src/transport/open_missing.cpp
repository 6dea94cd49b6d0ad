#include "loom/base/error.hpp"
#include "loom/transport/open.hpp"

namespace loom::transport {

std::unique_ptr<Transport> open_mpi(Bootstrap&) {
    throw Error("the MPI transport is not built");
}

}  // namespace loom::transport
