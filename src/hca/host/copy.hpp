// Direct access to the memory of another process of the host, which takes no part: a copy, done by the process that
// posted the request, and a mapping.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

namespace loom::hca {

struct Peer;
struct Qp;

enum class Copied : std::uint8_t {
    done,
    ask_responder,  // the target's queue pair or the key does not fit: the target checks, and gives the reason
    refused,        // the system forbids the copy: the target does it
    gone,           // the target process has ended
    faulted,        // memory of one side is not mapped
};
struct Remote {
    bool read;  // or else written
    std::uint64_t address;
    std::uint32_t rkey, length;
    bool past_caches;
};
// A read or write of a connected queue pair whose path has a peer that is up.
Copied copy_direct(Qp& qp, const Remote& remote, std::span<const ibv_sge> sges);

// Null when the path has no peer that is up, its memory may not be written, or cannot be mapped.
void* map_remote(Qp& qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t length);
void unmap_remote(void* mapped, std::uint64_t length);

enum class Pulled : std::uint8_t { done, refused, gone };
// The receiver's half of a large send: `references` lists where its `total` bytes lie in the sender's memory.
Pulled pull(Peer& peer, std::span<const std::uint8_t> references, std::uint32_t total, std::span<const ibv_sge> into);

}  // namespace loom::hca
