// The sender's side of large messages: their data is written where the receiver said, or lent to it, which then reads
// it. Puts go the same way, and gets and atomics as requests that bring data back.
#pragma once

#include <cstdint>
#include <optional>

#include "loom/transport/transport.hpp"
#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/transfers.hpp"

namespace loom::transport {

// What it keeps lies in Peer and in Transfers.
class RendezvousSender final : public PeerKeeper {
public:
    RendezvousSender(const Device& device, Requests& requests, FrameRings& rings, Liveness& liveness,
                     Transfers& transfers)
        : device_(device), requests_(requests), rings_(rings), liveness_(liveness), transfers_(transfers) {}
    void wait_by(Waiting waiting) { waiting_ = waiting; }

    // One that is larger than the eager limit. Answers what Transport::send() does.
    bool send(Peer& peer, Message& message);
    // A small one, whose receiver keeps no more early messages: it is told where the data is.
    void lend_small(Peer& peer, Message& message);
    // The same, for the caller to write in a frame `advance`.
    [[nodiscard]] Loan make_loan_of_small(Peer& peer, Message& message);
    // Answers what Transport::put() does.
    bool put(Peer& peer, Message& message, const Place& to);
    // The same, with an immediate behind all data. Calls nobody back.
    void start_put(Peer& peer, Message& message, const Place& to, std::optional<std::uint32_t> immediate);

    // Answers what Transport::get() and atomic() do (reading.cpp).
    bool get(Peer& peer, Message& message, const Place& from);
    bool atomic(Peer& peer, Message& message, const Place& at, const Atomic& what);

    // A receiver said where a message may be written. Returns the message if it is finished by that, for the caller to
    // call back.
    [[nodiscard]] Message* take_ready(Peer& peer, Tag tag, const Ready& ready);
    // A receive that said `ready` got a message of another length instead.
    void take_withdrawn(Peer& peer, Tag tag, TransferId receive);
    // The receiver has read what it was lent.
    void take_taken(Peer& peer, TransferId loan);
    // It expects another length than it was lent.
    void take_unwanted(Peer& peer, TransferId loan);
    // It rather had the data written.
    void take_rather(Peer& peer, TransferId loan, const Ready& ready);
    // One of the ways on which a message's data leaves us has come to its end.
    void take_part(Peer& peer, Message& message);
    // Reminds a receiver who may expect so little that it never says `ready`.
    void offer_again(Peer& peer);

    [[nodiscard]] bool awaits(const Peer& peer) const override { return !peer.sends.empty() || !peer.writing.empty(); }
    void forget(Peer& peer, MessageList& over) override;

private:
    bool write(Peer& peer, Message& message, const Ready& ready);
    void write_data(Peer& peer, Message& message, std::uint64_t from, const Place& to,
                    std::optional<std::uint32_t> immediate = {});
    void end(Peer& peer, Message& message, Message::Outcome outcome);
    void open_get(Peer& peer, Message& message);

    // lending.cpp
    [[nodiscard]] std::uint64_t share_to_lend(const Peer& peer, const Message& message, const Ready& ready) const;
    void lend(Peer& peer, Message& message, std::uint64_t bytes, TransferId receive);
    [[nodiscard]] bool lends_in_advance(const Peer& peer, const Message& message) const;
    void lend_in_advance(Peer& peer, Message& message);
    [[nodiscard]] Loan make_loan(Peer& peer, Message& message);
    [[nodiscard]] bool claims_advance(const Peer& peer, Tag tag, const Ready& ready);
    void hand_over_pages(Peer& peer, Message& message, std::uint64_t bytes, std::size_t first, std::size_t end);
    void take_pages_back(Peer& peer, Transfer& transfer);
    [[nodiscard]] Message* end_loan(Peer& peer, TransferId loan);
    [[nodiscard]] Message* end_advance(Peer& peer, TransferId loan);

    const Device& device_;
    Requests& requests_;
    FrameRings& rings_;
    Liveness& liveness_;
    Transfers& transfers_;
    Waiting waiting_ = Waiting::spin;
    std::uint32_t open_ = 0;  // started and not finished
};

}  // namespace loom::transport
