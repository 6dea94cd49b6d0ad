// Memory that ranks of a team open to each other, and notified access to it: put, notify, put_notify, get, wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "loom/window/error.hpp"
#include "loom/window/notification.hpp"
#include "loom/window/team.hpp"
#include "loom/window/world.hpp"

namespace loom::window {

template <class T>
concept Scalar = std::is_trivially_copyable_v<T> && sizeof(T) <= 16;

// Cheap to copy (a reference). Ranks are those of the team, offsets and lengths are bytes.
//
// Order: puts and notifications from one rank to another arrive in the order in which they were started, whatever the
// window: whoever has seen a notification sees every put that was started before it. Nothing is said of different
// targets, nor of gets and atomics before they are flushed or have returned.
//
// Errors: WindowFreed, NoSuchRank, OutOfBounds and NoSuchTag before anything is done; transport::RankLost when the
// target is known to be gone, at the latest from flush().
//
// Cost, software HCA, inside a host, both memories of World::allocate(): put_notify of 8 bytes moves two cache lines
// and executes some hundred instructions in all; elsewhere one RDMA write with immediate (over `mpi` two messages).
class Window {
public:
    [[nodiscard]] Team team() const;
    [[nodiscard]] std::span<std::byte> mine() const;
    [[nodiscard]] std::uint64_t bytes(Rank target) const;
    // Where this process reaches the target's memory with plain loads and stores; null where it cannot. Until free().
    [[nodiscard]] std::byte* direct(Rank target) const;

    // Collective: waits until all have come and all that this rank started is finished. What others put is there.
    // Notifications of this window that nobody took are dropped.
    void free();
    [[nodiscard]] bool is_freed() const;

    // Starts. `data` must stay unchanged until a flush of the target or all.
    void put(Rank target, std::uint64_t offset, std::span<const std::byte> data) const;
    // The same, and then the target counts `tag`.
    void put_notify(Rank target, std::uint64_t offset, std::span<const std::byte> data, Tag tag) const;
    void notify(Rank target, Tag tag) const;
    // Of a scalar, which is copied.
    template <Scalar T>
    void put_value(Rank target, std::uint64_t offset, const T& value) const {
        put_copy(target, offset, std::as_bytes(std::span(&value, 1)));
    }
    template <Scalar T>
    void put_value_notify(Rank target, std::uint64_t offset, const T& value, Tag tag) const {
        put_copy_notify(target, offset, std::as_bytes(std::span(&value, 1)), tag);
    }
    // Starts; `into` has the bytes after a flush of the target or all.
    void get(Rank target, std::uint64_t offset, std::span<std::byte> into) const;

    // Returns when what this rank started at the target, or at all, is finished: puts are there, gets are here.
    // Notifications are not waited for.
    void flush(Rank target) const;
    void flush() const;
    // The same without waiting: how many puts and gets this rank has started on the window, in all, and how many of the
    // oldest are finished.
    [[nodiscard]] std::uint64_t started() const;
    [[nodiscard]] std::uint64_t finished() const;

    // Atomic to each other, on 8 bytes at a multiple of 8; they return what was there before. To plain stores of the
    // target's program they are atomic where direct() is not null.
    [[nodiscard]] std::uint64_t fetch_add(Rank target, std::uint64_t offset, std::uint64_t add) const;
    [[nodiscard]] std::uint64_t compare_swap(Rank target, std::uint64_t offset, std::uint64_t expected,
                                             std::uint64_t wanted) const;

    // True: `count` of these notifications were there, the oldest are used up, and what was put before them is seen.
    // False: nothing is used up.
    [[nodiscard]] bool test(const Match& what, std::uint64_t count = 1) const;
    // Until test() would be true. Throws Stalled when `patience` (World::Options::patience if none is given) is over,
    // transport::RankLost when the source, or with any source one of the team, is gone and they are not all there.
    void wait(const Match& what, std::uint64_t count = 1, std::optional<Time> patience = {}) const;
    // How many are there, and the oldest of them, which is used up.
    [[nodiscard]] std::uint64_t arrived(const Match& what) const;
    [[nodiscard]] std::optional<Notification> next(const Match& what = Match::any()) const;

    struct State;
    explicit Window(std::shared_ptr<State> state) : state_(std::move(state)) {}
    [[nodiscard]] State& state() const { return *state_; }

private:
    void put_copy(Rank target, std::uint64_t offset, std::span<const std::byte> data) const;
    void put_copy_notify(Rank target, std::uint64_t offset, std::span<const std::byte> data, Tag tag) const;

    std::shared_ptr<State> state_;
};

// Of any window of the world: what dCUDA's test and wait count. Sources are ranks of the world. Patience as above.
[[nodiscard]] bool test(World& world, const Match& what, std::uint64_t count = 1);
void wait(World& world, const Match& what, std::uint64_t count = 1, std::optional<Time> patience = {});

}  // namespace loom::window
