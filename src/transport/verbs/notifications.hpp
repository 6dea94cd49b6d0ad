// Puts that tell the target: one RDMA write, whose immediate is the value. Between two ranks notifications and frames
// are taken in the order in which they were sent: the writes of one queue pair arrive in order, and a notification also
// changes the mark of the frames behind it, which stay unseen until it has been taken.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "loom/transport/transport.hpp"
#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

// Owns those that have come and that nobody has asked for yet; counts lie in Peer.
class Notifications {
public:
    Notifications(Requests& requests, FrameRings& rings, Liveness& liveness, RendezvousSender& sender,
                  std::uint32_t ranks);

    // What Transport::put_notify() answers. Waits behind frames that wait, and for the peer's room for immediates.
    bool send(Peer& peer, Message& message, const Place& to, std::uint64_t value);
    // A put that is started while notifications wait: it waits behind them. What Transport::put() answers.
    bool wait(Peer& peer, Message& message, const Place& to);
    // The first frame that waits for the peer is a notification. False: there is no room yet.
    bool send_waiting(Peer& peer);

    // An immediate has come, and all frames that were sent before it have been taken.
    void take(Peer& peer, std::uint32_t immediate);
    void add(Rank from, std::uint64_t value) { taken_.push_back({from, value}); }
    std::optional<Notification> next();

private:
    [[nodiscard]] bool has_room(Peer& peer, std::uint64_t value);
    void write(Peer& peer, Message* message, const Place& to, std::uint64_t value);
    void take_digit(Peer& peer, std::uint32_t digit);

    Requests& requests_;
    FrameRings& rings_;
    Liveness& liveness_;
    RendezvousSender& sender_;
    std::uint64_t most_open_;  // immediates to a peer, or from it, that it has not said to have taken
    std::deque<Notification> taken_;
};

}  // namespace loom::transport
