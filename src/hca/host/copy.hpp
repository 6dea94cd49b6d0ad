// One copy straight between the memory of two processes, done by the one that asked, while the other computes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

namespace loom::hca {

struct Peer;
struct Qp;

enum class Copied : std::uint8_t { done, ask_responder, refused, gone, faulted };
struct Remote {
    bool read;  // or else written
    std::uint64_t address;
    std::uint32_t rkey, length;
    bool past_caches;
};
// A read or write of a connected queue pair whose peer is known.
Copied copy_direct(Qp& qp, const Remote& remote, std::span<const ibv_sge> sges);

enum class Pulled : std::uint8_t { done, refused, gone };
// The receiver's half of a large send: `references` lists where its `total` bytes lie in the sender's memory.
Pulled pull(Peer& peer, std::span<const std::uint8_t> references, std::uint32_t total, std::span<const ibv_sge> into);

}  // namespace loom::hca
