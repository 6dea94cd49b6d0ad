#include "transport/verbs/eager_messages.hpp"

#include <cstring>

#include "transport/verbs/finish.hpp"

namespace loom::transport {

namespace {

// What an early message costs beside its data.
constexpr std::uint64_t early_overhead = sizeof(EarlyMessage) + 32;

}  // namespace

bool EagerMessages::send_later(Peer& peer, Message& message) {
    message.outcome = Message::Outcome::pending;
    if (!peer.sends.empty() && peer.sends.find(message.tag) != nullptr) {
        peer.sends.push(message);  // behind a large one with the same tag, which it must not overtake
        return false;
    }
    if (FrameRings::is_full(peer)) {
        sender_.lend_small(peer, message);
        return false;
    }
    if (!rings_.has_waiting(peer) && write(peer, message)) {
        message.outcome = Message::Outcome::done;
        return true;
    }
    if (peer.lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    rings_.wait(peer, {.kind = Kind::eager, .tag = message.tag, .message = &message});
    return false;
}

void EagerMessages::send_waiting(Peer& peer) {
    while (!peer.waiting.empty() && !peer.lost) {
        const WaitingFrame& frame = peer.waiting.front();
        if (frame.notification) {
            if (!notifications_.send_waiting(peer)) return;
        } else if (frame.message != nullptr) {
            if (!send_waiting_message(peer, *frame.message)) return;
        } else {
            if (!rings_.has_room(peer, frame_lines(frame.bytes.size()))) return;
            rings_.write(peer, frame.kind, frame.tag, frame.bytes);
            rings_.wait_no_longer(peer);
        }
    }
}

bool EagerMessages::send_waiting_message(Peer& peer, Message& message) {
    const bool lends = FrameRings::is_full(peer);
    if (!rings_.has_room(peer, frame_lines(lends ? sizeof(Loan) : message.bytes))) return false;
    rings_.wait_no_longer(peer);
    if (lends) {
        const Loan loan = sender_.make_loan_of_small(peer, message);
        rings_.write(peer, Kind::advance, message.tag, std::as_bytes(std::span(&loan, 1)));
    } else {
        rings_.write(peer, Kind::eager, message.tag, {message.data, message.bytes});
        finish(message, Message::Outcome::done);
    }
    return true;
}

void EagerMessages::send_held(Peer& peer, Tag tag) {
    for (Message* held = peer.sends.find(tag); held != nullptr && held->bytes <= peer.eager_limit && !peer.lost;
         held = peer.sends.find(tag)) {
        peer.sends.remove(*held);
        if (FrameRings::is_full(peer))
            sender_.lend_small(peer, *held);
        else if (!rings_.has_waiting(peer) && write(peer, *held))
            finish(*held, Message::Outcome::done);
        else if (peer.lost)
            finish(*held, Message::Outcome::lost);
        else
            rings_.wait(peer, {.kind = Kind::eager, .tag = tag, .message = held});
    }
}

bool EagerMessages::receive_early(Peer& peer, std::deque<EarlyMessage>::iterator early, Message& message) {
    const bool fits = early->bytes.size() == message.bytes;
    if (fits && message.bytes != 0) std::memcpy(message.data, early->bytes.data(), message.bytes);
    peer.kept -= early->bytes.size() + early_overhead;
    peer.early.erase(early);
    if (peer.told_full && peer.kept <= peer.most_kept / 2) tell_full(peer, false);
    message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
    return true;
}

void EagerMessages::take(Peer& peer, Tag tag, const std::byte* payload, std::uint64_t bytes) {
    if (bytes > peer.eager_limit) [[unlikely]]
        return liveness_.lose(peer, "it sent a small message that is large");
    Message* const message = peer.receives.take(tag);
    const std::uint64_t lines = frame_lines(bytes);
    if (message == nullptr) {
        keep(peer, tag, {payload, bytes});
        return rings_.consume(peer, lines);
    }
    if (message->bytes != bytes) [[unlikely]] {
        rings_.consume(peer, lines);
        return receiver_.give_up(peer, tag, *message);
    }
    if (bytes == 8)
        std::memcpy(message->data, payload, 8);
    else if (bytes != 0)
        std::memcpy(message->data, payload, bytes);
    rings_.consume(peer, lines);
    finish(*message, Message::Outcome::done);
}

// A message that nobody has asked for yet. A peer that runs ahead could fill our memory with them: beyond a bound it
// keeps its data, says where it is, and we read it when its receive comes.
void EagerMessages::keep(Peer& peer, Tag tag, std::span<const std::byte> data) {
    peer.early.push_back({tag, {data.begin(), data.end()}, {}});
    peer.kept += data.size() + early_overhead;
    if (peer.kept > peer.most_kept && !peer.told_full) tell_full(peer, true);
}

void EagerMessages::tell_full(Peer& peer, bool full) {
    peer.told_full = full;
    rings_.tell_full(peer, full);
}

}  // namespace loom::transport
