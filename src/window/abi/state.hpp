// What libloom-shmem.so keeps between calls: the world, two windows and what was made of them.
#pragma once

#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "loom/window/shmem/shmem.h"
#include "loom/window/window.hpp"

struct loom_shmem_team {
    std::optional<loom::window::Team> team;
};
struct loom_shmem_ctx {
    loom_shmem_team* team = nullptr;  // whose numbers its PEs have
};

namespace loom::window::abi {

// Places in the symmetric heap: every PE asks for the same in the same order and gets the same.
class Heap {
public:
    void begin(std::span<std::byte> memory);
    [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment);  // null: there is no room
    void give_back(void* memory);                                        // throws UsageError if it is no one's
    [[nodiscard]] std::size_t bytes_of(const void* memory) const;

private:
    [[nodiscard]] std::uint64_t offset_of(const void* memory) const;
    std::span<std::byte> memory_;
    std::map<std::uint64_t, std::uint64_t> free_, taken_;  // bytes by offset
};

struct State {
    std::unique_ptr<World> world;
    Window heap_window{nullptr}, data_window{nullptr};
    std::span<std::byte> heap_memory, data_memory;
    Heap heap;
};
[[nodiscard]] State& state();  // throws UsageError before shmem_init and after shmem_finalize

// Memory of a PE that has the same name everywhere.
struct Place {
    const Window* window;
    std::uint64_t offset;
};
[[nodiscard]] Place place_of(const void* address, std::size_t bytes);  // throws UsageError
[[nodiscard]] bool is_symmetric(const void* address);
[[nodiscard]] Rank rank_of(int pe);  // throws NoSuchRank
[[nodiscard]] Rank rank_of(shmem_ctx_t ctx, int pe);
[[nodiscard]] Team team_of(shmem_team_t team);
[[nodiscard]] Team active_set(int start, int log_stride, int size);
void quiet();

// Between two looks at memory that another PE will change.
class Poll {
public:
    Poll();
    void rest();

private:
    transport::Pauses pauses_;
};

[[noreturn]] void die(const std::exception& error);

// What an exception becomes in a C function.
template <class Act>
auto guarded(const Act& act) noexcept -> std::invoke_result_t<Act> {
    try {
        return act();
    } catch (const std::exception& error) {
        die(error);
    }
}

void put(Rank pe, void* dest, const void* source, std::size_t bytes, bool wait);
void get(Rank pe, void* dest, const void* source, std::size_t bytes, bool wait);

}  // namespace loom::window::abi
