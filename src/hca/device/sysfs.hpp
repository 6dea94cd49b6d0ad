// What the kernel would show of the HCAs below /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband.
#pragma once

#include <string>
#include <string_view>

#include "hca/device/config.hpp"

namespace loom::hca {

struct SysfsNode {
    enum class Kind { none, folder, file, device } kind = Kind::none;
    std::string text;         // of a file
    std::uint32_t minor = 0;  // of a device
};

// Cheap; true for every path that could name a node of an HCA.
[[nodiscard]] bool may_be_sysfs(const char* path);

// `none` for paths that are not an HCA's. Counters are those of this process at this moment.
[[nodiscard]] SysfsNode sysfs_node(const Config& config, std::string_view path);

}  // namespace loom::hca
