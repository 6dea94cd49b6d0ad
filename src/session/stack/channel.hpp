// A data channel as the session sees it, whatever it is composed of.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "session/stack/board.hpp"

namespace loom::session {

class Channel {
public:
    virtual ~Channel() = default;

    virtual void attach() = 0;
    // What it has learnt is on the board afterwards.
    virtual void detach() = 0;
    // A packet from the physical layer; it may change.
    virtual void arrive(std::span<std::byte> packet) = 0;
    // Timers that are due, then all that may leave now.
    virtual void pump() = 0;
    // When pump() has something to do though nothing arrives and nobody sends; never: not by itself.
    [[nodiscard]] virtual Time wake() = 0;
    // Bottom to top.
    [[nodiscard]] virtual std::vector<Micro> micros() const = 0;
};

// The stack for these settings, on this board.
[[nodiscard]] std::unique_ptr<Channel> compose(const Settings& settings, Reach reach, Board& board);

}  // namespace loom::session
