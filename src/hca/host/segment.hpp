// Memory that one process writes and others only read.
#pragma once

#include <cstddef>

namespace loom::hca {

// A memfd of that size, all zero, mapped writable here and sealed: others cannot map it writable, nobody can change its
// size. Not inherited by forks. Null with errno when it cannot be had.
void* make_segment(const char* name, std::size_t size, int& fd);

// Another process's segment, readable. Null unless it has that size and can never shrink under us.
const void* map_segment(int fd, std::size_t size);

}  // namespace loom::hca
