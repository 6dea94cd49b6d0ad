// A packet that has arrived, by whichever wire.
#pragma once

#include <cstdint>
#include <span>

#include "hca/device/config.hpp"
#include "hca/protocol/packet.hpp"

namespace loom::hca {

struct Peer;

struct Arrival {
    const Packet& packet;
    std::span<const std::uint8_t> payload;
    Peer* from = nullptr;  // the process, or null when it came by RoCE
    std::uint16_t slid = 0, dlid = 0;
    std::uint8_t flags = 0;     // Entry's
    const Gid* sgid = nullptr;  // with a GRH
    const Gid* dgid = nullptr;
    std::uint8_t traffic_class = 0;
};

}  // namespace loom::hca
