// What tests of devices share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/device/job.hpp"

namespace loom::device::test {

inline Options small(std::uint32_t ranks) {
    Options options;
    options.ranks = ranks;
    options.memory = 256 << 10;
    options.stack = 64 << 10;
    return options;
}

// Runs `kernel` on devices whose data are `Data`, made by `fill(device, data)`; what they hold afterwards.
template <class Data, class Fill>
std::vector<Data> run(Job& job, dcuda_kernel_t kernel, const Fill& fill) {
    std::vector<Data> all(job.devices());
    std::vector<std::span<std::byte>> parts;
    for (std::uint32_t device = 0; device < job.devices(); ++device) {
        fill(device, all[device]);
        parts.push_back(std::as_writable_bytes(std::span(&all[device], 1)));
    }
    job.run(kernel, parts);
    return all;
}

}  // namespace loom::device::test
