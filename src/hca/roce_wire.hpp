// The wire between hosts: RoCEv2 packets on UDP.
#pragma once

#include <cstdint>
#include <span>

#include "hca/adapter.hpp"

namespace loom::hca {

class RoceWire {
public:
    // Whether the address belongs to this host, in this network namespace.
    static bool is_local(const Gid& gid);

    // The endpoint of the HCA's address is there, or is made. False: the address or port cannot be had.
    bool open(Adapter& adapter, const HcaConfig& hca);
    bool join(Adapter& adapter, const HcaConfig& hca, const Gid& group);

    // One packet. False: no room now; the queue pair runs again later.
    bool send(Qp& qp, const Path& path, const Packet& packet, std::span<const ibv_sge> gather, std::uint32_t offset,
              std::uint32_t length, const std::uint8_t* bytes);
    // Many packets of one request. False: not all of them could go.
    bool send_run(Adapter& adapter, Qp& qp, SendWqe& wqe, std::span<const ibv_sge> sges);
    bool may_send(const Qp& qp);
    void progressed(Qp& qp);
    void lost(Qp& qp);
    void forget(Qp& qp);
    [[nodiscard]] bool active() const;
    void poll(Adapter& adapter);
    [[nodiscard]] std::uint64_t next_deadline() const;  // ns; 0: none
    void close_descriptors();
};

}  // namespace loom::hca
