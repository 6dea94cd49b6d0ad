// The operations of loom_bare. Each returns its figure, or a negative number with errno set.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>

namespace loom::bench {

enum class Direction : unsigned char { read, write };

// Half the median round trip in microseconds. Each process polls the last byte of its own private memory, as
// ib_write_lat does; the processes sit on different processors where there are two.
[[nodiscard]] double bare_write_latency(std::size_t bytes, std::size_t rounds);

// MB/s of one process that copies to or from another's private memory, always the same addresses, as ib_write_bw.
[[nodiscard]] double bare_copy_bandwidth(std::size_t bytes, std::size_t rounds, Direction direction);

// `side` is "serve" or the server's IPv4 address. The server's result is 0.
[[nodiscard]] double tcp_bandwidth(std::size_t bytes, std::size_t rounds, const std::string& side,
                                   const std::string& port);
[[nodiscard]] double udp_latency(std::size_t bytes, std::size_t rounds, const std::string& side,
                                 const std::string& port);

}  // namespace loom::bench
