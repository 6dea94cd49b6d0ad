// A program loaded once for each rank.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loom/base/descriptor.hpp"
#include "loom/twin_mpi/run.hpp"

namespace loom::twin_mpi {

// One rank's copy of a program. The system's loader gives each file its own variables, and each copy is a file in
// memory: simple, with all that the loader does (thread_local, exceptions, constructors), for the memory of the code.
class LoadedProgram {
public:
    // Runs its constructors. Throws UsageError naming the symbol that is missing.
    LoadedProgram(const std::vector<std::byte>& image, const Program& program);
    LoadedProgram(LoadedProgram&& other) noexcept;
    LoadedProgram(const LoadedProgram&) = delete;
    LoadedProgram& operator=(const LoadedProgram&) = delete;
    ~LoadedProgram();

    int main();

private:
    void* library_ = nullptr;
    int (*main_)(int, char**, char**) = nullptr;
    std::vector<std::string> words_;
    std::vector<char*> arguments_;
};

// What of a file is loaded: without what stands behind the last loaded byte, as debug information does. Throws
// UsageError for what is no shared object of this machine.
[[nodiscard]] std::vector<std::byte> loaded_part(const std::filesystem::path& file);

}  // namespace loom::twin_mpi
