// Devices and their host, as a program sees them: what stands behind dcuda_host_*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loom/device/dcuda.hpp"
#include "loom/device/error.hpp"
#include "loom/device/options.hpp"

namespace loom::window {
class World;
}

// Names as in dCUDA.
struct dcuda_rank_info {
    int rank_count;        // of the world
    int rank_responsible;  // of this device
    int rank_start;        // the first of this device
    int device_count, device_index;
    int node_count, node_index;
    int process_count, process_index;
};

namespace loom::device {

// CPU devices. Not thread-safe.
class Job {
public:
    // `devices` of this process, which see each other as peers. Throws TooManyBlocks, UsageError.
    Job(const Options& options, std::uint32_t devices, std::uint32_t threads);
    // One device; every rank of the world has another. Options::manager is verbs or mpi. Collective.
    Job(const Options& options, window::World& world, std::uint32_t threads);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] std::uint32_t devices() const;  // of this process
    [[nodiscard]] dcuda_rank_info info(std::uint32_t device) const;

    // Device memory: on the CPU device plain memory that the network reads and writes. 256-byte aligned. Throws Error
    // when it is used up. release() gives back all that was allocated.
    [[nodiscard]] std::byte* allocate(std::uint32_t device, std::uint64_t bytes);
    void release(std::uint32_t device);

    // On all devices of this process at once; `data` has one part for each, which kernels see by dcuda_get_data and
    // may change. Milliseconds. Throws DeviceError, Stall, Race, or what the kernel threw; the job is of no use then.
    double run(dcuda_kernel_t kernel, std::span<const std::span<std::byte>> data = {});
    [[nodiscard]] std::vector<double> timings(std::uint32_t device) const;  // milliseconds

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace loom::device
