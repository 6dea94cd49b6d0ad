// Parts of a list of pieces of memory.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace loom::hca {

// Calls visit(address, bytes) for each part of the list's bytes [offset, offset + length), in order. What lies beyond
// the list is left out.
template <class Visit>
void each_part(std::span<const ibv_sge> list, std::uint32_t offset, std::uint64_t length, Visit visit) {
    for (const ibv_sge& piece : list) {
        if (length == 0) return;
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        const auto take = static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.length - offset, length));
        visit(reinterpret_cast<std::uint8_t*>(piece.addr) + offset, take);
        length -= take;
        offset = 0;
    }
}

}  // namespace loom::hca
