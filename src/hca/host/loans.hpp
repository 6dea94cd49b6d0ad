// Memory that a peer will read soon, lent to it through pipes (loom_lend). The pipes are the peer's; here is how many
// pages all of them have. How it is read: lending.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "hca/host/peer.hpp"

namespace loom::hca {

class Peers;

class Loans {
public:
    explicit Loans(const Peers& peers) : peers_(peers) {}
    Loans(const Loans&) = delete;
    ~Loans() { close_descriptors(); }

    std::uint32_t lend(Qp& qp, std::span<const std::uint8_t> memory);  // 0, or what to call it
    void take_back(Qp& qp, std::uint32_t loan);
    void end(Qp& qp);         // all that it has lent
    void forget(Peer& peer);  // which is gone
    void close_descriptors();

private:
    Peer::Pipe* free_pipe(Peer& peer, std::uint32_t needed);
    void close_pipe(Peer::Pipe& pipe);

    const Peers& peers_;
    std::uint32_t pipe_pages_ = 0;  // that the pipes of this process have room for, all together
    bool pipes_are_short_ = false;  // there was no room for all that was to be lent
    int pit_ = -1;                  // where pages go that nobody has read
};

}  // namespace loom::hca
