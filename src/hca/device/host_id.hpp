// What tells this host and network namespace from others.
#pragma once

#include <cstdint>

namespace loom::hca {

// A hash of the machine's id and the network namespace's. The same in every process that can reach this one through
// abstract Unix sockets; hosts and namespaces differ, by chance of 2^-64 not.
[[nodiscard]] std::uint64_t host_id();

}  // namespace loom::hca
