// What to do between two looks that found nothing: spin while every rank of the host has a core, yield otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "loom/base/ids.hpp"

namespace loom::transport {

enum class Waiting : std::uint8_t { spin, yield };

// Cores this process may run on (its affinity, read once).
[[nodiscard]] std::uint32_t usable_cores();

// yield when more ranks share our host than it has cores for us; LOOM_WAITING=spin|yield decides otherwise.
[[nodiscard]] Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank);

// Once between two looks. A pause instruction or a system call.
void pause(Waiting how);

}  // namespace loom::transport
