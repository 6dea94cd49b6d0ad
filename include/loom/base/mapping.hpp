// What the kernel knows of a piece of this process's address space.
#pragma once

#include <cstdint>
#include <optional>

namespace loom {

struct MappedRange {
    std::uint64_t start = 0, end = 0;
    bool readable = false, writable = false, shared = false;
    std::uint64_t offset = 0, inode = 0;  // of the file behind it
    bool memfd = false;
};

// The mapping that holds the address, or none. Microseconds on Linux 6.11 and later, before that the time to read
// /proc/self/maps.
std::optional<MappedRange> mapping_at(std::uint64_t address);

// A descriptor of this process for the memfd with that inode, duplicated, if it can never shrink; else -1.
int duplicate_sealed_memfd(std::uint64_t inode);

}  // namespace loom
