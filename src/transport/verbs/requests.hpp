// What a completion belongs to, and how queues are dimensioned.
#pragma once

#include <cstdint>

#include "loom/base/ids.hpp"

namespace loom::transport {

inline constexpr std::uint32_t queue_length = 256;  // requests of one queue pair
inline constexpr std::uint32_t signal_every = 64;
// What travels inside a request: frames up to this need no memory of their own. Adapters have room for so much; the
// software HCA stores it away at once, straight from where it is put together.
inline constexpr std::uint32_t inline_bytes = 256, soft_inline_bytes = 1024;

// A request's id is the address of its message, which is even, or one of these.
enum class RequestKind : std::uint64_t { message = 0, frame = 1, probe = 3, read = 5 };

[[nodiscard]] constexpr std::uint64_t request_id(Rank rank, RequestKind kind) {
    return std::uint64_t{rank.value} << 3 | static_cast<std::uint64_t>(kind);
}
// Of a read: which receive it is for.
[[nodiscard]] constexpr std::uint64_t read_id(std::uint64_t slot) {
    return slot << 3 | static_cast<std::uint64_t>(RequestKind::read);
}
[[nodiscard]] constexpr RequestKind kind_of(std::uint64_t id) {
    return static_cast<RequestKind>(id & 7);
}

}  // namespace loom::transport
