// What a device is like, and how its host serves it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "loom/base/time.hpp"

namespace loom::device {

// Of the CPU device, so that it answers as a GPU would before a launch.
struct Occupancy {
    std::uint32_t multiprocessors = 13;  // those of half a K80, on which dCUDA was measured
    std::uint32_t blocks_each = 16;
    std::uint32_t threads_each = 2048;
    std::uint32_t threads_a_block = 1024;
    std::uint32_t most_blocks = 208;  // of a launch, as dCUDA has it

    // How many blocks of so many threads can be there at once. Throws UsageError for 0 threads and for too many.
    [[nodiscard]] std::uint32_t resident(std::uint32_t threads) const;
};

// What lies between a GPU, its host and the adapter, put in on the CPU device where everything is one memory.
struct Delays {
    Time bus{};                      // a write from device to host or from host to device is seen so much later
    Time direct{};                   // the adapter's access to device memory, each message
    double direct_bytes = 0;         // a second; 0: no limit
    Time staging{};                  // through host memory instead, each message
    double staging_bytes = 0;        // a second; 0: no limit
    std::uint64_t staging_from = 0;  // bytes from which a message is staged; 0: never
    Time wire{};                     // on top of what the network takes, each message

    [[nodiscard]] bool any() const {
        return bus.ps != 0 || direct.ps != 0 || direct_bytes != 0 || staging.ps != 0 || wire.ps != 0;
    }
    // Of a message's payload, between adapter and device memory.
    [[nodiscard]] Time of_payload(std::uint64_t bytes) const;
};

enum class Manager : std::uint8_t {
    peer,   // devices of one process: the host copies from one to the other
    verbs,  // one message a put: an RDMA write with an immediate
    mpi,    // two messages a put: what to do, then the data
};

enum class Roles : std::uint8_t {
    automatic,  // apart where there is a core for each thread, else together
    together,   // blocks, main, receive and log take turns in the calling thread
    apart,      // threads of their own; they sleep while there is nothing to do
};

struct Options {
    Occupancy occupancy;
    std::uint32_t ranks = 0;          // blocks of each device; 0: as many as fit
    std::uint64_t memory = 64 << 20;  // bytes of each device
    std::uint64_t stack = 256 << 10;  // of a block: its variables and shared memory
    std::uint32_t workers = 1;        // threads that run a device's blocks, where roles are apart
    Manager manager = Manager::verbs;
    Roles roles = Roles::automatic;
    std::uint32_t queue_bits = 8;  // entries of each queue, as a power of two
    Delays delays;
    // Watch what ranks do to each other's memory, and name races. All devices are of this process then, and take turns
    // in one thread in an order that `seed` decides: the same seed, the same order.
    bool check_races = false;
    std::optional<std::uint64_t> seed;  // shuffles turns without the check; nothing: in turn
    std::uint32_t first_count = 0;      // of every notification counter: to see it overflow
    Time patience = seconds(10);        // without any progress, until a stall is said; several processes only
    std::function<void(const std::string&)> print;  // lines of the log; nothing: standard output, behind "[RANK] "

    // LOOM_DEVICE_CHECK, LOOM_DEVICE_SEED, LOOM_DEVICE_MANAGER, LOOM_DEVICE_RANKS. Throws UsageError.
    [[nodiscard]] static Options from_environment();
};

}  // namespace loom::device
