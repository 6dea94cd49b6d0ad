// Small messages: they travel as frames, and are kept where they come before their receive.
#pragma once

#include <deque>

#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/notifications.hpp"
#include "transport/verbs/rendezvous_receiver.hpp"
#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

// Keeps nothing but what lies in Peer.
class EagerMessages {
public:
    EagerMessages(FrameRings& rings, Liveness& liveness, RendezvousSender& sender, RendezvousReceiver& receiver,
                  Notifications& notifications)
        : rings_(rings), liveness_(liveness), sender_(sender), receiver_(receiver), notifications_(notifications) {}

    // What Transport::send() and receive() answer.
    bool send(Peer& peer, Message& message) {
        if (!peer.sends.empty() || FrameRings::is_full(peer) || rings_.has_waiting(peer) || !write(peer, message))
            [[unlikely]]
            return send_later(peer, message);
        message.outcome = Message::Outcome::done;
        return true;
    }
    bool receive_early(Peer& peer, std::deque<EarlyMessage>::iterator early, Message& message);

    // A frame that has come with a message.
    void take(Peer& peer, Tag tag, const std::byte* payload, std::uint64_t bytes);
    // Frames that waited for room, as far as there is any.
    void send_waiting(Peer& peer);
    // The messages that waited behind a large one of their tag, up to the next large one.
    void send_held(Peer& peer, Tag tag);

private:
    [[nodiscard]] bool write(Peer& peer, const Message& message) {
        if (!rings_.has_room(peer, frame_lines(message.bytes))) return false;
        rings_.write(peer, Kind::eager, message.tag, {message.data, message.bytes});
        return true;
    }
    // send(), where the frame cannot leave at once. The message waits for room or for a large one of its tag, or is
    // lent because the peer keeps no more early messages.
    bool send_later(Peer& peer, Message& message);
    bool send_waiting_message(Peer& peer, Message& message);
    void keep(Peer& peer, Tag tag, std::span<const std::byte> data);
    void tell_full(Peer& peer, bool full);

    FrameRings& rings_;
    Liveness& liveness_;
    RendezvousSender& sender_;
    RendezvousReceiver& receiver_;
    Notifications& notifications_;
};

}  // namespace loom::transport
