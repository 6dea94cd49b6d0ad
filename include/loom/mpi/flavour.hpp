// Which MPI library a program was linked with: the one that libloom-mpi must have been built for.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace loom::mpi {

enum class Flavour : std::uint8_t { openmpi, mpich };
[[nodiscard]] std::string_view to_string(Flavour flavour);  // "openmpi", "mpich"
// Throws UsageError naming both.
[[nodiscard]] Flavour parse_flavour(std::string_view name);

// Names of the shared libraries an ELF file asks for; nothing for other files.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::filesystem::path& file);

// From the libraries that a program needs itself (libmpi.so.40, libmpich.so.12), Fortran's included.
[[nodiscard]] std::optional<Flavour> flavour_of_program(const std::filesystem::path& program);
// From the name of a launcher, links followed: orterun, mpirun.openmpi, prterun; mpiexec.hydra, mpirun.mpich.
[[nodiscard]] std::optional<Flavour> flavour_of_launcher(const std::filesystem::path& launcher);

}  // namespace loom::mpi
