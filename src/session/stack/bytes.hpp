// Numbers on the wire: big-endian, of any width up to eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loom::session {

template <std::size_t width>
void put(std::byte* at, std::uint64_t value) {
    for (std::size_t i = 0; i < width; ++i) at[i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
}

template <std::size_t width>
[[nodiscard]] std::uint64_t get(const std::byte* at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<std::uint64_t>(at[i]);
    return value;
}

}  // namespace loom::session
