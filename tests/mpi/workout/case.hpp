// One collective with random arguments, and what the MPI library itself makes of them.
#pragma once

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "loom/base/random.hpp"

namespace loom::workout {

// Types of one signature in different clothes: data that is sent as one may be received as another.
struct Clothes {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int ints = 0;  // in an element
    const char* name = "";
};

// An intercommunicator. All of the world are in it; the group of world rank 0 is side 0.
struct Between {
    MPI_Comm comm = MPI_COMM_NULL;
    int side = 0;
};

// Communicators, types and operations that cases choose from. Made alike on all ranks.
struct Wardrobe {
    Wardrobe();
    ~Wardrobe();
    Wardrobe(const Wardrobe&) = delete;
    Wardrobe& operator=(const Wardrobe&) = delete;

    std::vector<MPI_Comm> comms;       // without topology
    std::vector<MPI_Comm> neighbours;  // with
    std::vector<Between> between;      // none on one rank
    std::vector<Clothes> clothes;
    MPI_Op sum = MPI_OP_NULL;      // of ints, in whatever clothes: a user's
    MPI_Op product = MPI_OP_NULL;  // of 2x2 matrices: does not commute
    MPI_Datatype matrix = MPI_DATATYPE_NULL;
};

struct Case {
    std::string name;
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<char> send, before, out, expected;
    std::vector<std::vector<int>> lists;  // counts and displacements, kept where they are
    std::vector<std::vector<MPI_Aint>> wide;
    std::vector<std::vector<MPI_Datatype>> types;
    // Compared as packed elements, where padding may differ; else byte by byte, gaps included.
    MPI_Datatype packed_as = MPI_DATATYPE_NULL;
    int packed_count = 0;

    std::function<int(char*)> reference, blocking;
    std::function<int(char*, MPI_Request*)> start, init;

    [[nodiscard]] char* memory(std::vector<char>& of) const { return of.data() + margin; }
    static constexpr std::size_t margin = 256;  // before and behind, for types that reach there

    void ask_mpi();
    void reset() { out = before; }
    // Empty: as expected.
    [[nodiscard]] std::string wrong() const;
};

// The number decides everything; the same on all ranks.
[[nodiscard]] std::unique_ptr<Case> make_case(const Wardrobe& wardrobe, std::uint64_t number);

inline int rank_in(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}
inline int size_of(MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}
inline void expect(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

// scenarios.cpp: each throws std::runtime_error with what went wrong.
struct Scenario {
    const char* name;
    void (*run)(const Wardrobe&);
    int least_ranks;
};
[[nodiscard]] const std::vector<Scenario>& scenarios();

// corners.cpp
void reductions_of_nothing(const Wardrobe&);
void neighbours_of_few(const Wardrobe&);
void large_elements(const Wardrobe&);
void parts_not_committed(const Wardrobe&);
void elements_beyond_2_gib(const Wardrobe&);
void displacements_below_zero(const Wardrobe&);
void blocks_of_256_bytes_swapped(const Wardrobe&);
void types_that_come_and_go(const Wardrobe&);
void requests_of_both_kinds(const Wardrobe&);
void duplicates_with_info(const Wardrobe&);

// leaving.cpp
void requests_given_up(const Wardrobe&);
void communicators_of_requests_given_up(const Wardrobe&);
void communicators_left_early_and_late(const Wardrobe&);
void contexts_once_round(const Wardrobe&);

}  // namespace loom::workout
