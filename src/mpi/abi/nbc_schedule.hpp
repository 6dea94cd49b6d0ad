// Schedules that a program builds by itself, round by round.
#pragma once

#include <loom/nbc.h>

#include <memory>
#include <variant>
#include <vector>

namespace loom::mpi {

struct Transfer {
    enum class Way : unsigned char { send, receive } way = Way::send;
    std::byte* memory = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int peer = 0;
    std::unique_ptr<std::byte[]> packed;  // where the type has gaps
};

struct LocalOperation {
    void* to = nullptr;
    const void* left = nullptr;
    const void* right = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
};

struct LocalCopy {
    const void* from = nullptr;
    int from_count = 0;
    MPI_Datatype from_type = MPI_DATATYPE_NULL;
    void* to = nullptr;
    int to_count = 0;
    MPI_Datatype to_type = MPI_DATATYPE_NULL;
};

using Step = std::variant<Transfer, LocalOperation, LocalCopy>;

// Null is fine. Frees the program's own memory for the handle of a schedule too.
void delete_schedule(NBC_Schedule* schedule);

}  // namespace loom::mpi
