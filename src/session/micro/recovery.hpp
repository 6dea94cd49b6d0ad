// What the controllers of synchronous sessions share: when a loss counts as a new one.
#pragma once

#include <cstdint>

#include "session/stack/board.hpp"

namespace loom::session {

// A window of losses counts once: everything that had left before the first of them belongs to it.
class Recovery {
public:
    // True for the first loss; the caller makes the window smaller.
    [[nodiscard]] bool begin(const Board& board) {
        if (active_) return false;
        active_ = true;
        until_ = board.sent;
        return true;
    }
    // True when all that had left at the beginning is acknowledged.
    [[nodiscard]] bool ends(const Board& board) {
        if (!active_ || board.acknowledged < until_) return false;
        active_ = false;
        return true;
    }
    [[nodiscard]] bool active() const { return active_; }
    void forget() { active_ = false; }

private:
    bool active_ = false;
    std::uint64_t until_ = 0;
};

}  // namespace loom::session
