// What the functions of the Fortran bindings are called, and where the addresses are that mean something.
#pragma once

#include <mpi.h>

// LOOM_FORTRAN(X, NAME, PARAMETERS...) begins a function: NAME is that of MPI without "mpi_"; X is nothing, or x where
// Open MPI's names begin with "mpix", or _large where MPICH's counts are wide.
#if defined(OPEN_MPI)
// mpif.h and the module mpi call mpi_wait_, the module mpi_f08 calls ompi_wait_f, or pmpi_test_ where there is a
// LOGICAL.
#define LOOM_FORTRAN(X, NAME, ...)                                                                       \
    void ompi##X##_##NAME##_f(__VA_ARGS__);                                                              \
    decltype(ompi##X##_##NAME##_f) mpi##X##_##NAME##_ __attribute__((alias("ompi" #X "_" #NAME "_f")));  \
    decltype(ompi##X##_##NAME##_f) pmpi##X##_##NAME##_ __attribute__((alias("ompi" #X "_" #NAME "_f"))); \
    void ompi##X##_##NAME##_f(__VA_ARGS__)
#else
// mpif.h and the module mpi call the C functions. The module mpi_f08 does so where there is a buffer; elsewhere it
// calls PMPI's, and its own functions must be taken over.
#define LOOM_FORTRAN(X, NAME, ...)                                                                                \
    void mpi_##NAME##_f08##X##_(__VA_ARGS__);                                                                     \
    decltype(mpi_##NAME##_f08##X##_) pmpir_##NAME##_f08##X##_ __attribute__((alias("mpi_" #NAME "_f08" #X "_"))); \
    void mpi_##NAME##_f08##X##_(__VA_ARGS__)
#endif

// Common blocks or module variables: the program's own, where it has them.
extern "C" {
#if defined(OPEN_MPI)
extern MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_unweighted_, mpi_fortran_weights_empty_,
    mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_, mpi_fortran_errcodes_ignore_, mpi_fortran_argv_null_,
    mpi_fortran_argvs_null_;
#else
// mpi.h has the others. Absent, and not asked for, where there is no Fortran.
#define LOOM_OF_MODULE(NAME) extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_##NAME __attribute__((weak));
LOOM_OF_MODULE(unweighted)
LOOM_OF_MODULE(weights_empty)
LOOM_OF_MODULE(errcodes_ignore)
LOOM_OF_MODULE(argv_null)
LOOM_OF_MODULE(argvs_null)
#undef LOOM_OF_MODULE
#endif
}

namespace loom::mpi::fortran {

#if defined(OPEN_MPI)
#define LOOM_ADDRESS(NAME, OPENMPI, MPICH) inline const void* const NAME = &OPENMPI;
#else
#define LOOM_ADDRESS(NAME, OPENMPI, MPICH) inline const void* const NAME = &MPICH;
#endif
LOOM_ADDRESS(bottom, mpi_fortran_bottom_, MPIR_F08_MPI_BOTTOM)
LOOM_ADDRESS(in_place, mpi_fortran_in_place_, MPIR_F08_MPI_IN_PLACE)
LOOM_ADDRESS(status_ignore, mpi_fortran_status_ignore_, MPIR_F08_MPI_STATUS_IGNORE_OBJ)
LOOM_ADDRESS(statuses_ignore, mpi_fortran_statuses_ignore_, MPIR_F08_MPI_STATUSES_IGNORE_OBJ)
LOOM_ADDRESS(unweighted, mpi_fortran_unweighted_, __mpi_f08_link_constants_MOD_mpi_unweighted)
LOOM_ADDRESS(weights_empty, mpi_fortran_weights_empty_, __mpi_f08_link_constants_MOD_mpi_weights_empty)
LOOM_ADDRESS(errcodes_ignore, mpi_fortran_errcodes_ignore_, __mpi_f08_link_constants_MOD_mpi_errcodes_ignore)
LOOM_ADDRESS(argv_null, mpi_fortran_argv_null_, __mpi_f08_link_constants_MOD_mpi_argv_null)
LOOM_ADDRESS(argvs_null, mpi_fortran_argvs_null_, __mpi_f08_link_constants_MOD_mpi_argvs_null)
#undef LOOM_ADDRESS

}  // namespace loom::mpi::fortran
