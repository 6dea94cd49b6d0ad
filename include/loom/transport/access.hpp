// What every transport checks of an access to another rank's memory, and how an atomic is done to our own.
#pragma once

#include <cstdint>
#include <string>

#include "loom/base/error.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport {

// Throws UsageError when the bytes are not all exposed.
inline void check_access(const RemoteMemory& where, std::uint64_t offset, std::uint64_t bytes) {
    if (offset > where.bytes || bytes > where.bytes - offset)
        throw UsageError("an access to " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                         " goes beyond the " + std::to_string(where.bytes) + " bytes exposed");
}

// Throws UsageError when no adapter would do an atomic there.
inline void check_alignment(const RemoteMemory& where, std::uint64_t offset) {
    if ((where.address + offset) % sizeof(std::uint64_t) != 0)
        throw UsageError("an atomic at " + std::to_string(offset) + ", which is no multiple of 8");
}

// Returns what was there.
inline std::uint64_t carry_out(const Atomic& what, std::uint64_t& word) {
    if (what.kind == Atomic::Kind::fetch_add) return __atomic_fetch_add(&word, what.operand, __ATOMIC_SEQ_CST);
    std::uint64_t before = what.expected;
    __atomic_compare_exchange_n(&word, &before, what.operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return before;
}

}  // namespace loom::transport
