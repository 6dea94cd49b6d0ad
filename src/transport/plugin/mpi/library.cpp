#include "transport/plugin/mpi/library.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>

namespace loom::transport::plugin {

namespace {

std::atomic<int> held{0};

void finish_mpi() {
    int finalized = 0;
    if (held == 0 && PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) PMPI_Finalize();
}

void start_mpi() {
    int initialized = 0, finalized = 0;
    check(PMPI_Finalized(&finalized), "say whether it has ended");
    if (finalized != 0) throw Error("MPI has ended in this process and cannot be started again");
    check(PMPI_Initialized(&initialized), "say whether it was started");
    if (initialized != 0) return;
    int provided = 0;
    check(PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "start");
    std::atexit(finish_mpi);
}

}  // namespace

World::World() : exceptions_(std::uncaught_exceptions()) {
    start_mpi();
    check(PMPI_Comm_dup(MPI_COMM_WORLD, &comm_), "make a communicator");
    check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set an error handler");
    check(PMPI_Comm_rank(comm_, &rank_), "tell its rank");
    check(PMPI_Comm_size(comm_, &size_), "tell its size");
    ++held;
}

World::~World() {
    if (abandoned_ || std::uncaught_exceptions() > exceptions_) return;
    int finalized = 0;
    if (PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) PMPI_Comm_free(&comm_);
    --held;
}

}  // namespace loom::transport::plugin
