// The wire inside a host: packets as entries of a ring in shared memory, payload that is not short in a second ring of
// bytes. The rings, and how far each side is in them, are the peers' (peer.hpp).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "hca/host/peer.hpp"
#include "hca/protocol/packet.hpp"
#include "hca/wire/path.hpp"
#include "hca/wire/wire.hpp"

namespace loom::hca {

class RingWire final : public Wire {
public:
    explicit RingWire(Engine& engine) : Wire(engine, false) {}

    [[nodiscard]] std::uint32_t mtu(ibv_mtu) const override { return ring_mtu; }
    Overdue overdue(Qp& qp, std::uint64_t now) override;

    // One packet to a process. False: no room now.
    bool write(Peer& peer, const Packet& packet, const Path& path, const Load& load);
    // A short send of one packet, whose request is begun and whose payload lies at `from`: there must be room.
    void send_short(Qp& qp, const SendWqe& wqe, const std::uint8_t* from);

    // A plain acknowledgement of all that the queue pair has received. False: no room, or the peer is not up.
    bool acknowledge(Qp& qp);

    void drain(Peer& peer);  // takes what the other has written
    void drain_self();       // and what we have written to ourselves

private:
    Put put(Qp& qp, const Path& path, const Packet& packet, const Load& load) override;
};

}  // namespace loom::hca
