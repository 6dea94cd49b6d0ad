// What libloom-mpi-openmpi.so and libloom-mpi-mpich.so did with a program's collectives: taken over, or handed back to
// the MPI library and why.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loom/coll/mpi_operations.hpp"

namespace loom::mpi {

// MPI's collectives, by their names there.
enum class Operation : std::uint8_t {
#define LOOM_OPERATION(OPERATION, NAME, WHAT) OPERATION,
    LOOM_MPI_COLLECTIVES(LOOM_OPERATION)
#undef LOOM_OPERATION
};
inline constexpr std::size_t operations = static_cast<std::size_t>(Operation::neighbor_alltoallw) + 1;

enum class Form : std::uint8_t { nonblocking, persistent, blocking };
inline constexpr std::size_t forms = 3;

// Why a call was handed back.
enum class Reason : std::uint8_t {
    not_asked,    // blocking, and LOOM_MPI_BLOCKING is 0
    no_world,     // Loomband could not be opened, or was switched off
    other_ranks,  // a communicator with ranks outside of MPI_COMM_WORLD
    unseen,       // a communicator made by a call that is not taken over
    no_context,   // more living communicators than contexts
    no_topology,  // a neighbour collective without neighbours
    operation,    // the reduction is not defined for the datatype, or only the MPI library knows it
    size,         // elements of 2 GiB and more that MPI would have to pack or to reduce
    arguments,    // wrong ones: the MPI library says what is wrong
};
inline constexpr std::size_t reasons = 9;

[[nodiscard]] std::string_view to_string(Reason reason);
// "MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Allreduce".
[[nodiscard]] std::string name_of(Operation operation, Form form);

// Plain counters, so that ranks' accounts can be added element by element.
class Account {
public:
    void taken(Operation operation, Form form) { ++cell(operation, form, reasons); }
    void handed_back(Operation operation, Form form, Reason why) {
        ++cell(operation, form, static_cast<std::size_t>(why));
    }

    [[nodiscard]] std::uint64_t taken_of(Operation operation, Form form) const;
    [[nodiscard]] std::uint64_t handed_back_of(Operation operation, Form form, Reason why) const;
    // Of all ranks and operations. `not_asked` are among `handed_back`.
    struct Sums {
        std::uint64_t taken = 0, handed_back = 0, not_asked = 0;
        [[nodiscard]] std::uint64_t calls() const { return taken + handed_back; }
    };
    [[nodiscard]] Sums sums() const;

    [[nodiscard]] std::span<std::uint64_t> counters() { return counters_; }

    // A table for people, and one JSON object; `remark` says why there is no world, where there is none.
    [[nodiscard]] std::string table(std::uint32_t ranks, std::string_view remark) const;
    [[nodiscard]] std::string json(std::uint32_t ranks, std::string_view remark) const;

private:
    static constexpr std::size_t columns = reasons + 1;
    std::uint64_t& cell(Operation operation, Form form, std::size_t column) {
        return counters_[(static_cast<std::size_t>(operation) * forms + static_cast<std::size_t>(form)) * columns +
                         column];
    }

    std::array<std::uint64_t, operations * forms * columns> counters_{};
};

}  // namespace loom::mpi
