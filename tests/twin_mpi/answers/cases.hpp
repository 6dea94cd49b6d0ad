// What MPI functions must answer, written against the standard: run in virtual time and with other MPI libraries alike.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace answers {

struct Case {
    const char* name;
    void (*run)();  // between MPI_Init and MPI_Finalize, on any number of ranks; throws when an answer is wrong
};
[[nodiscard]] std::vector<Case> message_cases();
[[nodiscard]] std::vector<Case> request_cases();
[[nodiscard]] std::vector<Case> collective_cases();
[[nodiscard]] std::vector<Case> other_cases();
[[nodiscard]] std::vector<Case> all_cases();

inline int rank(MPI_Comm comm = MPI_COMM_WORLD) {
    int result = -1;
    MPI_Comm_rank(comm, &result);
    return result;
}

inline int size(MPI_Comm comm = MPI_COMM_WORLD) {
    int result = -1;
    MPI_Comm_size(comm, &result);
    return result;
}

template <class Got, class Wanted>
void same(const Got& got, const Wanted& wanted, const char* what) {
    if (got == static_cast<Got>(wanted)) return;
    throw std::runtime_error("rank " + std::to_string(rank()) + ": " + what + " is " + std::to_string(got) +
                             ", expected " + std::to_string(static_cast<Got>(wanted)));
}

}  // namespace answers
