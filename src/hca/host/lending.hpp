// Reading what other processes have lent this one.
#pragma once

#include <cstdint>

#include "hca/host/io_list.hpp"
#include "hca/host/peer.hpp"

namespace loom::hca {

// What the peer has lent us of its memory, beginning at `address`, if that is at most `most` bytes: fills the front of
// the list and takes it off. Returns how many bytes came; 0 when nothing is lent there.
std::uint64_t read_lent(Peer& peer, std::uint64_t address, std::uint64_t most, IoList& into);
// How many of the `most` bytes from `address` on lie before the next that are lent.
std::uint64_t before_lent(const Peer& peer, std::uint64_t address, std::uint64_t most);

// 0: it is no pipe.
std::uint64_t inode_of_pipe(int fd);

}  // namespace loom::hca
