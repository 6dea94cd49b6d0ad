// Which data a sender lends, and how the receiver gets at it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/verbs/finish.hpp"
#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t least_lent = 24 << 10;       // bytes for which a second pair of hands is worth a message
constexpr std::uint64_t piece_lent = 1 << 20;        // bytes for which there is room in a pipe
constexpr std::uint64_t most_in_advance = 64 << 10;  // bytes that two pairs of hands copy no faster than one

// A bit for messages from the same place and of the same length: what a receiver wanted of the last it will want of the
// next.
std::uint64_t kind_of_advance(const Message& message) {
    const std::uint64_t hash =
        (reinterpret_cast<std::uintptr_t>(message.data) ^ message.bytes << 20) * 0x9e3779b97f4a7c15;
    return std::uint64_t{1} << (hash >> 58);
}

}  // namespace

// On the software HCA a core copies, and inside a host it may be either side's. What one side reaches with plain loads
// or stores that side copies, without the system's help. Otherwise the reader has the least work, and does it where
// ranks take turns on a core; elsewhere whoever has fewer transfers to do, and both share it when both have nothing
// else to do. Adapters copy themselves and need no help.
std::uint64_t RendezvousSender::share_to_lend(const Peer& peer, const Message& message, const Ready& ready) const {
    if (!device_.adapter.soft || peer.far || message.bytes < least_lent) return 0;
    const Registration& source = *transfers_.of(message).registration;
    if (source.shared != (ready.shared != 0)) return source.shared ? message.bytes : 0;
    // Of shared memory a copy costs either side the same: we have our turn, and the receiver is done when it has its.
    if (waiting_ == Waiting::yield) return source.shared ? 0 : message.bytes;
    if (open_ != ready.receives) return open_ > ready.receives ? message.bytes : 0;
    if (transfers_.receives() != 0) return source.shared ? 0 : message.bytes;
    return (source.shared ? message.bytes / 2 : message.bytes / 3 * 2) / 4096 * 4096;
}

void RendezvousSender::lend(Peer& peer, Message& message, std::uint64_t bytes, TransferId receive) {
    Transfer& transfer = transfers_.of(message);
    transfer.lent = true;
    hand_over_pages(peer, message, bytes, 0, 1);
    rings_.send(peer, Kind::lent, message.tag,
                Loan{reinterpret_cast<std::uint64_t>(message.data), bytes, transfer.registration->mr->rkey, 0,
                     message.transfer, receive});
    if (!peer.lost) hand_over_pages(peer, message, bytes, 1, Transfer::most_pieces_lent);
}

// The HCA puts the pages of a loan into pipes for the reader: it is told of the first piece before the reader is, and
// of the others while that reads the first.
void RendezvousSender::hand_over_pages(Peer& peer, Message& message, std::uint64_t bytes, std::size_t first,
                                       std::size_t end) {
    const verbs::Functions& f = device_.adapter.functions;
    Transfer& transfer = transfers_.of(message);
    // Huge pages the kernel copies faster than it hands over small ones.
    if (f.lend == nullptr || message.huge_pages || transfer.registration->shared) return;
    if (first != 0 && transfer.pieces[0] == 0) return;  // the first was not either
    // All but the first begin with a page, so that each fits into a pipe.
    const std::uint64_t before = reinterpret_cast<std::uintptr_t>(message.data) % 4096;
    for (std::size_t i = first; i < end; ++i) {
        const std::uint64_t from = i == 0 ? 0 : i * piece_lent - before;
        if (from >= bytes) return;
        const std::span piece(message.data + from, std::min((i + 1) * piece_lent - before, bytes) - from);
        const FarCache::Way way = i == 0 ? peer.pages.next() : FarCache::Way::usual;
        if (way == FarCache::Way::other) return;
        const auto begin = way == FarCache::Way::timed ? Clock::now() : Clock::time_point();
        transfer.pieces[i] = f.lend(peer.qp.get(), piece.data(), piece.size());
        if (way == FarCache::Way::timed && transfer.pieces[i] != 0)
            peer.pages.took(piece.size() / 4096, Clock::now() - begin);
    }
}

void RendezvousSender::take_pages_back(Peer& peer, Transfer& transfer) {
    for (std::uint32_t& piece : transfer.pieces)
        if (piece != 0) device_.adapter.functions.take_back(peer.qp.get(), std::exchange(piece, 0));
}

// Where ranks take turns on a core, a sender that waits for `ready` gives its turn away for a word; where they have a
// core each, the word takes as long as a message of some KiB. So the sender says at once where the data is, and
// whichever of the two comes second copies it.
bool RendezvousSender::lends_in_advance(const Peer& peer, const Message& message) const {
    return device_.adapter.soft && !peer.far && (waiting_ == Waiting::yield || message.bytes <= most_in_advance) &&
           (peer.sends.empty() || peer.sends.find(message.tag) == nullptr);
}

// A small message has no pages worth handing over.
void RendezvousSender::lend_in_advance(Peer& peer, Message& message) {
    const Loan loan = make_loan(peer, message);
    const bool will_be_read = message.bytes > peer.eager_limit && (peer.unread & kind_of_advance(message)) == 0;
    if (will_be_read) hand_over_pages(peer, message, message.bytes, 0, 1);
    rings_.send(peer, Kind::advance, message.tag, loan);
    if (will_be_read && !peer.lost) hand_over_pages(peer, message, message.bytes, 1, Transfer::most_pieces_lent);
}

Loan RendezvousSender::make_loan(Peer& peer, Message& message) {
    Transfer& transfer = transfers_.open(message, Transfer::Role::send);
    transfer.lent = transfer.in_advance = true;
    // Those of small messages have no number: no `ready` is for them, and one that waited for room goes ahead of large
    // ones that were numbered before.
    transfer.number = message.bytes > peer.eager_limit ? ++peer.advances_sent : 0;
    peer.writing.push(message);
    message.pieces = 1;
    const Registration* const source = transfer.registration;
    return {reinterpret_cast<std::uint64_t>(message.data), message.bytes,    source != nullptr ? source->mr->rkey : 0,
            source != nullptr && source->shared ? 1u : 0u, message.transfer, no_transfer};
}

void RendezvousSender::lend_small(Peer& peer, Message& message) {
    ++open_;
    message.outcome = Message::Outcome::pending;
    lend_in_advance(peer, message);
}

Loan RendezvousSender::make_loan_of_small(Peer& peer, Message& message) {
    ++open_;
    return make_loan(peer, message);
}

// A receiver said `ready` before it saw the advance of its message: what is lent will do.
bool RendezvousSender::claims_advance(const Peer& peer, Tag tag, const Ready& ready) {
    for (Message* at = peer.writing.front(); at != nullptr; at = at->next) {
        if (at->tag != tag || at->bytes <= peer.eager_limit) continue;  // no receiver says `ready` to a small one
        Transfer& transfer = transfers_.of(*at);
        if (!transfer.in_advance || transfer.claimed_by != no_transfer || transfer.number <= ready.seen) continue;
        transfer.claimed_by = ready.receive;
        return true;
    }
    return false;
}

// Its `ready` was for none of ours. Where an advance was counted against it, the next such word is that one's.
void RendezvousSender::take_withdrawn(Peer& peer, Tag tag, TransferId receive) {
    if (std::erase_if(peer.readies, [&](const ReadyAt& known) { return known.ready.receive == receive; }) != 0) return;
    for (Message* at = peer.writing.front(); at != nullptr; at = at->next) {
        Transfer& transfer = transfers_.of(*at);
        if (at->tag != tag || !transfer.in_advance || transfer.claimed_by != receive) continue;
        const auto next = std::find_if(peer.readies.begin(), peer.readies.end(), [&](const ReadyAt& known) {
            return known.tag == tag && transfer.number > known.ready.seen;
        });
        transfer.claimed_by = next == peer.readies.end() ? no_transfer : next->ready.receive;
        if (next != peer.readies.end()) peer.readies.erase(next);
        return;
    }
}

// The message of a loan that is no longer one; null when there is none, and the peer is lost.
Message* RendezvousSender::end_loan(Peer& peer, TransferId loan) {
    Transfer* const transfer = transfers_.find(loan, Transfer::Role::send);
    if (transfer == nullptr || !transfer->lent || transfer->message->peer != peer.rank) {
        liveness_.lose(peer, "it sent an answer to no loan");
        return nullptr;
    }
    take_pages_back(peer, *transfer);
    transfer->lent = transfer->in_advance = false;
    return transfer->message;
}

Message* RendezvousSender::end_advance(Peer& peer, TransferId loan) {
    const Transfer* const transfer = transfers_.find(loan, Transfer::Role::send);
    if (transfer != nullptr && !transfer->in_advance) {
        liveness_.lose(peer, "it sent an answer to no advance");
        return nullptr;
    }
    return end_loan(peer, loan);
}

void RendezvousSender::take_taken(Peer& peer, TransferId loan) {
    Message* const message = end_loan(peer, loan);
    if (message == nullptr) return;
    peer.unread &= ~kind_of_advance(*message);
    take_part(peer, *message);
}

void RendezvousSender::take_unwanted(Peer& peer, TransferId loan) {
    if (Message* const message = end_advance(peer, loan)) end(peer, *message, Message::Outcome::mismatched);
}

// The receiver's memory is reached with plain stores and ours is not.
void RendezvousSender::take_rather(Peer& peer, TransferId loan, const Ready& ready) {
    Message* const message = end_advance(peer, loan);
    if (message == nullptr) return;
    if (ready.bytes != message->bytes) return liveness_.lose(peer, "it sent an advance to another receive");
    peer.unread |= kind_of_advance(*message);
    message->pieces = 0;
    write_data(peer, *message, 0, {ready.address, static_cast<std::uint32_t>(ready.key), ready.shared != 0});
    rings_.send(peer, Kind::written, message->tag, Reference{ready.receive});
    if (!peer.lost) requests_.take();
}

}  // namespace loom::transport
