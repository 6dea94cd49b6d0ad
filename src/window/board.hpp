// What a rank waits for, where others may read it when nothing moves.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "window/arrivals.hpp"

namespace loom::window {

// Plain words, checked by whoever reads them: they come from another process's memory.
struct Waits {
    enum class For : std::uint64_t { nothing, notification, collective, flush };
    static constexpr std::uint64_t any = ~std::uint64_t{0};

    std::uint64_t what = 0;      // For
    std::uint64_t window = 0;    // 0: any; of a collective: the team
    std::uint64_t source = any;  // of the world; of a flush: the target
    std::uint64_t tag = 0, mask = 0;
    std::uint64_t count = 0, have = 0;
    std::uint64_t others = 0;  // notifications that it has and does not wait for
    std::uint64_t other_window = 0, other_tag = 0, other_source = any;  // the oldest of these
};

class Board {
public:
    static constexpr std::uint64_t words = sizeof(Waits) / sizeof(std::uint64_t);

    // Written by the owner alone. An odd version: it is being written.
    void write(const Waits& waits) {
        std::uint64_t each[words];
        std::memcpy(each, &waits, sizeof waits);
        const std::uint64_t version = begin_.load(std::memory_order_relaxed) + 1;
        begin_.store(version, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        for (std::uint64_t i = 0; i < words; ++i) words_[i].store(each[i], std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        end_.store(version + 1, std::memory_order_relaxed);
        begin_.store(version + 1, std::memory_order_release);
    }
    void clear() {
        if (words_[0].load(std::memory_order_relaxed) != 0) write({});
    }

    // Of its bytes as they were read; nothing: they were being written.
    [[nodiscard]] static std::optional<Waits> read(std::span<const std::byte> bytes);

private:
    std::atomic<std::uint64_t> begin_{0};
    std::atomic<std::uint64_t> words_[words] = {};
    std::atomic<std::uint64_t> end_{0};
};
static_assert(sizeof(Board) == (Board::words + 2) * sizeof(std::uint64_t));

inline std::optional<Waits> Board::read(std::span<const std::byte> bytes) {
    std::uint64_t begin = 0, end = 0;
    Waits waits;
    if (bytes.size() < sizeof(Board)) return {};
    std::memcpy(&begin, bytes.data(), sizeof begin);
    std::memcpy(&waits, bytes.data() + sizeof begin, sizeof waits);
    std::memcpy(&end, bytes.data() + sizeof begin + sizeof waits, sizeof end);
    if (begin != end || begin % 2 != 0 || waits.what > static_cast<std::uint64_t>(Waits::For::flush)) return {};
    return waits;
}

}  // namespace loom::window
