// The MPI library under the plug-in: started if nobody has, left running until the process ends. PMPI_ names alone,
// since MPI_ ones may be taken over by a preloaded library.
#pragma once

#include <mpi.h>

#include <string>

#include "loom/base/error.hpp"

namespace loom::transport::plugin {

// Throws Error with MPI's own words.
inline void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    PMPI_Error_string(code, text, &length);
    throw Error(std::string("MPI cannot ") + what + ": " + text);
}

// A communicator of our own with all ranks, on which errors are returned. While one is held, or when one was let go
// because of an exception, the end of the process is not a good one: MPI, if it was started here, is then left
// unfinished, so that mpirun ends the other ranks instead of letting them wait.
class World {
public:
    World();  // collective; throws Error
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    void abandon() { abandoned_ = true; }  // a rank is gone: nothing collective will ever end

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
    int exceptions_ = 0;
    bool abandoned_ = false;
};

}  // namespace loom::transport::plugin
