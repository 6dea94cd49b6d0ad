// The wire inside a host: packets as entries of a ring in shared memory, payload that is not short in a second ring of
// bytes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "hca/host/peer.hpp"
#include "hca/protocol/packet.hpp"
#include "hca/wire/path.hpp"

namespace loom::hca {

struct SendWqe;

class RingWire {
public:
    explicit RingWire(Engine& engine) : engine_(engine) {}

    // One packet to a process. False: no room now.
    bool send(Peer& peer, const Packet& packet, std::span<const ibv_sge> gather, std::uint32_t offset,
              std::uint32_t length, const Path& path, std::uint8_t flags, const std::uint8_t* bytes = nullptr);
    // A short send of one packet, whose request is begun and whose payload lies at `from`: there must be room.
    void send_short(Qp& qp, const SendWqe& wqe, const std::uint8_t* from);

    void drain(Peer& peer);  // takes what the other has written
    void drain_self();       // and what we have written to ourselves

private:
    Engine& engine_;
};

}  // namespace loom::hca
