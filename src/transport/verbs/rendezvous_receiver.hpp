// The receiver's side of large messages: it says where the data may be written, or reads itself what it is lent.
#pragma once

#include <cstdint>
#include <deque>

#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/transfers.hpp"

namespace loom::transport {

// What it keeps lies in Peer and in Transfers.
class RendezvousReceiver final : public PeerKeeper {
public:
    RendezvousReceiver(const Device& device, Requests& requests, FrameRings& rings, Liveness& liveness,
                       Transfers& transfers)
        : device_(device), requests_(requests), rings_(rings), liveness_(liveness), transfers_(transfers) {}

    // One that is larger than the eager limit. Answers what Transport::receive() does.
    bool receive(Peer& peer, Message& message);
    // One whose message has been lent to us already.
    bool receive_early(Peer& peer, std::deque<EarlyMessage>::iterator early, Message& message);
    // Another message came for a receive, which is no longer among the receives: the sender's is not for it.
    void give_up(Peer& peer, Tag tag, Message& message);

    // The sender lends us a message that nobody asked it for.
    void take_advance(Peer& peer, Tag tag, const Loan& loan);
    // It lends us what we asked for, or a first part of it.
    void take_loan(Peer& peer, const Loan& loan);
    // It has written its part, or will not because the lengths differ.
    void take_answer(Peer& peer, TransferId receive, Message::Outcome outcome);
    // It waits for `ready` from a receive that may be too small to say it.
    void take_offer(Peer& peer, Tag tag, std::uint64_t bytes);
    // One of our reads has ended.
    void take_read(Peer& peer, std::uint32_t slot);

    [[nodiscard]] bool awaits(const Peer& peer) const override {
        return !peer.receives.empty() || !peer.reading.empty();
    }
    void forget(Peer& peer, MessageList& over) override;

private:
    Transfer& open(Message& message);
    void meet(Peer& peer, const Loan& loan, Message& message);
    void read(Peer& peer, const Loan& loan, Message& message);
    void take_part(Peer& peer, Transfer& transfer);
    void end(Peer& peer, Transfer& transfer, Message::Outcome outcome);

    const Device& device_;
    Requests& requests_;
    FrameRings& rings_;
    Liveness& liveness_;
    Transfers& transfers_;
};

}  // namespace loom::transport
