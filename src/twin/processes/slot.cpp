#include "twin/processes/slot.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace loom::twin {

namespace {

// Shared between processes, so not FUTEX_PRIVATE.
long futex(const std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* limit) {
    return syscall(SYS_futex, &word, what, value, limit, nullptr, 0);
}

}  // namespace

bool wait_for_turn(const Slot& slot, Turn wanted, unsigned milliseconds) {
    const timespec limit{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1'000'000};
    const auto mine = static_cast<std::uint32_t>(wanted);
    for (std::uint32_t seen = slot.turn.load(std::memory_order_acquire); seen != mine;
         seen = slot.turn.load(std::memory_order_acquire))
        if (futex(slot.turn, FUTEX_WAIT, seen, milliseconds == 0 ? nullptr : &limit) != 0 && errno == ETIMEDOUT)
            return slot.turn.load(std::memory_order_acquire) == mine;
    return true;
}

void give_turn(Slot& slot, Turn to) {
    slot.turn.store(static_cast<std::uint32_t>(to), std::memory_order_release);
    futex(slot.turn, FUTEX_WAKE, 1, nullptr);
}

}  // namespace loom::twin
