// Start-up of Loomband's ranks by MPI: they are those of MPI_COMM_WORLD.
#pragma once

#include <memory>

#include "loom/transport/bootstrap.hpp"

namespace loom::mpi {

// Collective over MPI_COMM_WORLD, of which it keeps a duplicate until it is destroyed. A fence carries everything put.
[[nodiscard]] std::unique_ptr<transport::Bootstrap> mpi_bootstrap();

}  // namespace loom::mpi
