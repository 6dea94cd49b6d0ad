// What is below the micro-protocols: takes segments to the peer, in any order, perhaps not all of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "loom/session/context.hpp"

namespace loom::session {

// Used by one thread at a time. Two calls a segment: no micro-protocol makes a virtual call.
class Physical {
public:
    virtual ~Physical() = default;

    // Where the next segment is to be written, at least as long as both ends agreed; empty while there is no room. The
    // same block until push().
    [[nodiscard]] virtual std::span<std::byte> block() = 0;
    // The first `bytes` of the block leave, at the latest with flush().
    virtual void push(std::size_t bytes) = 0;
    virtual void flush() {}
    // What leaves from now on belongs to this scheme: InfiniBand has a queue pair for each.
    virtual void serve(Scheme) {}

    // The next segment that arrived, empty if there is none. Good until the next call.
    [[nodiscard]] virtual std::span<std::byte> pop() = 0;

    // Not empty: why it works no more, in words. Neither end gets anything through from then on.
    [[nodiscard]] virtual const std::string& failure() const = 0;
};

}  // namespace loom::session
