// Hints that a program gives for a communicator by MPI_Info.
#pragma once

#include "mpi/abi/library.hpp"

namespace loom::mpi {

// "loom_reproducible" = "true" or "false": coll::Communicator::set_reproducible. All ranks give the same, as for MPI's
// own hints.
void obey_hints(MPI_Comm handle, MPI_Info info);
// A duplicate has the hints of what it was made of.
void inherit_hints(MPI_Comm handle, MPI_Comm parent);

}  // namespace loom::mpi
