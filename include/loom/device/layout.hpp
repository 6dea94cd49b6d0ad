// What a device's blocks and their host share in memory: the same bytes on both back ends.
#pragma once

#include "loom/device/ring.hpp"

namespace loom::device {

inline constexpr std::uint32_t tag_count = 256;
inline constexpr std::uint32_t most_windows = 64;  // at a time
inline constexpr std::uint32_t no_operation = 0;   // numbers of operations begin with 1

// In a command's first word, and in what people read.
enum class Function : std::uint8_t {
    init,
    finish,
    barrier,
    win_create,
    win_free,
    notify,
    put,
    put_notify,
    win_flush,
    test_notifications,
    wait_notifications,
    start_timer,
    stop_timer,
    log,
    get_rank,
    kernel,  // none of the interface
};

// Why a kernel was ended by one of its own calls.
enum class Fault : std::uint8_t {
    none,
    no_window,        // freed, or never created
    no_rank,          // not in the communicator
    no_tag,           // not 0..255
    no_communicator,  // neither WORLD nor DEVICE
    beyond_target,    // offset + size exceed what the target opened
    outside_source,   // the buffer is not in the caller's own window
    no_count,         // of notifications: negative
    not_in_memory,    // a window's base is not in the device's memory
};

// Command entries. put and put_notify: {function, window, rank, tag, number}, {source, offset, size}; notify: the first
// alone. win_create: {function, communicator}, {base, size}. An error: {function | fault << 8, window, rank, tag},
// {two numbers that the fault's sentence needs}.
inline constexpr std::uint32_t fault_shift = 8;
// Log entries: kind in the low byte and length above it in word 0, then up to 24 bytes.
enum class LogPiece : std::uint8_t { text, integer, unsigned_integer, real, flush };
inline constexpr std::uint32_t log_bytes = 24;

struct WindowSlot {
    std::int32_t id;  // -1: free
    std::int32_t communicator;
};

// Of each rank of the world: ranks of this device by address, others by their offset in their device's memory.
struct WindowRange {
    std::uint64_t base;
    std::uint64_t size;
};

// Function, tag and count in one word.
DCUDA_DEVICE inline std::uint32_t waiting_word(Function function, std::uint32_t tag, std::uint32_t count) {
    return 1u << 31 | static_cast<std::uint32_t>(function) << 24 | tag << 16 | (count < 0xffff ? count : 0xffff);
}

// Each rank's counters and queues. `local` is added to by blocks of the device, `remote` is written by the host alone:
// a device and its host need no common atomic operation.
struct RankMemory {
    std::uint32_t* local;    // [tag_count]
    std::uint32_t* remote;   // [tag_count]
    std::uint32_t* flushed;  // all operations up to this number are complete
    std::uint32_t* waits;    // GPU: what it has waited long for, as waiting_word(); else 0
    Ring commands;
    Ring acks;
    Ring logs;
};

}  // namespace loom::device

struct dcuda_context {
    std::uint32_t world_size;
    std::uint32_t world_start;  // the first rank of this device
    std::uint32_t device_size;
    std::uint32_t threads;  // a block
    void* user_data;
    std::uint64_t memory, memory_size;  // the device's, from dcuda_malloc: windows lie there
    loom::device::RankMemory* ranks;    // [device_size]
    loom::device::WindowSlot* windows;  // [most_windows], by id modulo
    loom::device::WindowRange* ranges;  // [most_windows][world_size]
    std::uint32_t* ended;               // not 0: the kernel is to end, nobody waits any more
    std::uint32_t* barrier;             // arrived, generation
};
