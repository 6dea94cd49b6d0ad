// What the measuring program needs of a library of collectives. One is linked into each program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "contest/operation.hpp"

namespace loom::bench::coll {

enum class Kept : std::uint32_t { fresh, persistent };
enum class Progress : std::uint32_t { manual, thread, real_time };

class Library {
public:
    virtual ~Library() = default;

    [[nodiscard]] virtual std::uint32_t rank() const = 0;
    [[nodiscard]] virtual std::uint32_t ranks() const = 0;
    // One line: who carries the bytes.
    [[nodiscard]] virtual std::string description() const = 0;

    // Memory for input or output, page-aligned; stays until the library ends.
    [[nodiscard]] virtual std::byte* allocate(std::uint64_t bytes) = 0;

    // What start() will start from now on. The shape and the buffers stay until release().
    virtual void prepare(const Shape& shape, std::byte* input, std::byte* output, Kept kept) = 0;
    virtual void start() = 0;
    [[nodiscard]] virtual bool test() = 0;
    virtual void wait() = 0;
    virtual void release() = 0;

    // False where the library has no such choice.
    [[nodiscard]] virtual bool set_progress(Progress how) = 0;
};

// Ordinary memory, for libraries that have no other. Throws std::bad_alloc.
[[nodiscard]] std::byte* ordinary_memory(std::uint64_t bytes);

// Collective over the ranks that were started together. Throws std::exception.
[[nodiscard]] std::unique_ptr<Library> open_library(int& argc, char**& argv);

}  // namespace loom::bench::coll
