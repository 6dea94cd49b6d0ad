// What blocks and host share, laid out as layout.hpp says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "loom/device/dcuda.hpp"
#include "loom/device/options.hpp"

namespace loom::device {

// The host's ends of a rank's queues.
struct BlockManager {
    Consumer commands;
    Consumer logs;
    Producer acks;
};

// Where it lies. On the CPU device both are ordinary memory.
struct Storage {
    // Zeroed, 64-byte aligned, by the same address on host and device; freed with what comes back.
    using Piece = std::unique_ptr<void, std::function<void(void*)>>;
    std::function<Piece(std::size_t bytes)> shared;       // host and device read and write it while a kernel runs
    std::function<Piece(std::size_t bytes)> device_only;  // the host, between kernels alone, by the next function
    std::function<void(void* memory, std::uint32_t value, std::size_t count)> fill;
};
[[nodiscard]] Storage ordinary_storage();

class Tables {
public:
    Tables(const Options& options, std::uint32_t world_size, std::uint32_t world_start, std::uint32_t ranks,
           std::uint32_t threads, std::span<std::byte> memory, Storage storage = ordinary_storage());

    // Before each kernel: counters, queues and windows as at first.
    void reset(std::uint32_t first_count);

    [[nodiscard]] dcuda_context& context() { return *context_; }
    [[nodiscard]] const dcuda_context& context() const { return *context_; }
    [[nodiscard]] RankMemory& rank(std::uint32_t rank) { return ranks_[rank]; }
    [[nodiscard]] BlockManager& manager(std::uint32_t rank) { return managers_[rank]; }
    [[nodiscard]] WindowSlot& window(std::uint32_t slot) { return windows_[slot]; }
    [[nodiscard]] WindowRange& range(std::uint32_t slot, std::uint32_t world_rank) {
        return ranges_[std::size_t{slot} * context_->world_size + world_rank];
    }
    [[nodiscard]] std::uint32_t size() const { return context_->device_size; }
    void end() { store_release(context_->ended, 1u); }
    [[nodiscard]] bool is_to_end() { return load_acquire(context_->ended) != 0; }
    // Another thread may look at an entry only after this. When it was written.
    [[nodiscard]] static Time written(const Ring& ring, const Consumer& consumer) {
        return ring.stamps == nullptr ? Time{}
                                      : nanoseconds(static_cast<std::int64_t>(ring.stamps[ring.place(consumer.tail)]));
    }

private:
    template <class T>
    [[nodiscard]] T* take(std::size_t count, const std::function<Storage::Piece(std::size_t)>& from) {
        pieces_.push_back(from(std::max<std::size_t>(count, 1) * sizeof(T)));
        return static_cast<T*>(pieces_.back().get());
    }
    Ring make_ring(std::uint32_t number, std::uint32_t bits);

    Storage storage_;
    std::vector<Storage::Piece> pieces_;
    dcuda_context* context_ = nullptr;
    std::uint32_t* local_ = nullptr;     // tag_count of each rank
    std::uint32_t* counters_ = nullptr;  // remote, flushed, three tails and waits of each rank, a cache line apart
    std::size_t counter_count_ = 0;
    Entry* entries_ = nullptr;
    std::size_t entry_count_ = 0;
    std::uint64_t* stamps_ = nullptr;
    RankMemory* ranks_ = nullptr;
    WindowSlot* windows_ = nullptr;
    WindowRange* ranges_ = nullptr;
    std::vector<BlockManager> managers_;
};

}  // namespace loom::device
