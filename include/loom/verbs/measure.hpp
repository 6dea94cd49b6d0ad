// How fast two HCAs are here, and whether the bytes arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loom/verbs/functions.hpp"

namespace loom::verbs {

struct Speed {
    std::size_t size = 0;
    double send_us = 0;                  // one way, the median of round trips halved
    double write_gbs = 0, read_gbs = 0;  // 1e9 bytes a second
    std::string path;                    // that carried most of the writes' bytes; empty where nothing counts them
};

// What this process has sent through a device so far, by the path that it took.
struct SentBytes {
    std::string path;
    std::uint64_t bytes = 0;
};
using PathCounters = std::function<std::vector<SentBytes>(const std::string& device)>;

// Sends, RDMA writes and reads from 8 bytes to 2 MiB between this process on the first HCA and another, started for it,
// on the second. Some tenths of a second. Throws UsageError where there are fewer than two HCAs, Error when a byte
// arrives wrong, IoError when a verb fails or the other side does not answer within seconds.
[[nodiscard]] std::vector<Speed> measure(const Functions& verbs, const PathCounters& sent = {});

}  // namespace loom::verbs
