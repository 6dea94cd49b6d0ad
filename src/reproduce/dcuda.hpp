// What the four tables of dCUDA (Kuster 2017, 5.1 to 5.4) have in common.
#pragma once

#include <cstdint>

#include "loom/reproduce/parts.hpp"

namespace loom::reproduce {

// As Parts::device_ping; by the CPU device.
[[nodiscard]] double measure_device_ping(const DevicePing& ping);
// As Parts::device_queue; by the queues of the device, on a bus in virtual time.
[[nodiscard]] double measure_device_queue(const DeviceQueue& queue);

}  // namespace loom::reproduce
