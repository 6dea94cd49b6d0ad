#include "device/host/tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "loom/base/error.hpp"

namespace loom::device {

namespace {

constexpr std::uint32_t line = 16;  // counters in a cache line
constexpr std::uint32_t rings = 3;  // commands, acks, logs
constexpr std::uint32_t counters_each = tag_count + (2 + rings) * line;

}  // namespace

Storage ordinary_storage() {
    const auto allocate = [](std::size_t bytes) {
        constexpr std::size_t alignment = 64;
        const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
        Storage::Piece piece(std::aligned_alloc(alignment, whole), [](void* memory) { std::free(memory); });
        if (piece == nullptr) throw Error("no memory for the queues of a device, " + std::to_string(whole) + " bytes");
        std::memset(piece.get(), 0, whole);
        return piece;
    };
    return {allocate, allocate, [](void* memory, std::uint32_t value, std::size_t count) {
                std::fill_n(static_cast<std::uint32_t*>(memory), count, value);
            }};
}

Tables::Tables(const Options& options, std::uint32_t world_size, std::uint32_t world_start, std::uint32_t ranks,
               std::uint32_t threads, std::span<std::byte> memory, Storage storage)
    : storage_(std::move(storage)), managers_(ranks) {
    const std::uint32_t bits = options.queue_bits;
    counter_count_ = std::size_t{ranks} * counters_each;
    entry_count_ = (std::size_t{ranks} * rings) << bits;
    context_ = take<dcuda_context>(1, storage_.shared);
    local_ = take<std::uint32_t>(std::size_t{ranks} * tag_count, storage_.device_only);
    counters_ = take<std::uint32_t>(counter_count_, storage_.shared);
    entries_ = take<Entry>(entry_count_, storage_.shared);
    if (options.delays.any()) stamps_ = take<std::uint64_t>(entry_count_, storage_.shared);
    ranks_ = take<RankMemory>(ranks, storage_.shared);
    windows_ = take<WindowSlot>(most_windows, storage_.shared);
    ranges_ = take<WindowRange>(std::size_t{most_windows} * world_size, storage_.shared);
    for (std::uint32_t i = 0; i < ranks; ++i) {
        std::uint32_t* const own = counters_ + std::size_t{i} * counters_each;
        const std::uint32_t first = i * rings;
        ranks_[i] = {local_ + std::size_t{i} * tag_count,
                     own,
                     own + tag_count,
                     own + tag_count + (1 + rings) * line,
                     make_ring(first, bits),
                     make_ring(first + 1, bits),
                     make_ring(first + 2, bits)};
    }
    *context_ = {world_size,
                 world_start,
                 ranks,
                 threads,
                 nullptr,
                 reinterpret_cast<std::uint64_t>(memory.data()),
                 memory.size(),
                 ranks_,
                 windows_,
                 ranges_,
                 take<std::uint32_t>(line, storage_.shared),
                 take<std::uint32_t>(line, storage_.device_only)};
    reset(options.first_count);
}

Ring Tables::make_ring(std::uint32_t number, std::uint32_t bits) {
    const std::size_t at = std::size_t{number} << bits;
    std::uint32_t* const tail =
        counters_ + std::size_t{number / rings} * counters_each + tag_count + (1 + number % rings) * line;
    return {entries_ + at, tail, stamps_ == nullptr ? nullptr : stamps_ + at, bits};
}

void Tables::reset(std::uint32_t first_count) {
    std::fill_n(counters_, counter_count_, 0u);
    storage_.fill(local_, first_count, std::size_t{size()} * tag_count);
    storage_.fill(context_->barrier, 0, 2);
    std::fill_n(entries_, entry_count_, Entry{});
    std::fill(managers_.begin(), managers_.end(), BlockManager{});
    std::fill_n(windows_, most_windows, WindowSlot{-1, 0});
    *context_->ended = 0;
}

}  // namespace loom::device
