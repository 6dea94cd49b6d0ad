#include "transport/verbs/notifications.hpp"

#include <algorithm>

namespace loom::transport {

namespace {

// Of the receive requests that all peers share, notifications take half; bells may take the others.
constexpr std::uint64_t receives_for_all = receive_requests / 2;
constexpr std::uint64_t most_for_one = 256;

constexpr bool needs_escape(std::uint64_t value) {
    return value >= escape_immediate;
}

constexpr std::uint64_t immediates_of(std::uint64_t value) {
    if (!needs_escape(value)) return 1;
    std::uint64_t digits = 1;
    while ((value >>= digit_bits) != 0) ++digits;
    return 1 + digits;
}

}  // namespace

Notifications::Notifications(Requests& requests, FrameRings& rings, Liveness& liveness, RendezvousSender& sender,
                             std::uint32_t ranks)
    : requests_(requests),
      rings_(rings),
      liveness_(liveness),
      sender_(sender),
      most_open_(std::clamp(receives_for_all / ranks, immediates_of(UINT64_MAX), most_for_one)) {}

bool Notifications::has_room(Peer& peer, std::uint64_t value) {
    NotificationCounts& counts = peer.notifications;
    const auto fits = [&] { return counts.sent + immediates_of(value) - counts.known <= most_open_; };
    if (fits()) return true;
    const std::uint64_t reported = __atomic_load_n(&peer.out.inbox->notified, __ATOMIC_ACQUIRE);
    if (reported - counts.known > counts.sent - counts.known) {
        liveness_.lose(peer, "it took more notifications than it was sent");
        return false;
    }
    counts.known = reported;
    return fits();
}

bool Notifications::send(Peer& peer, Message& message, const Place& to, std::uint64_t value) {
    Message* const whose = message.bytes != 0 ? &message : nullptr;  // nothing of it has to stay where there is no data
    message.outcome = whose != nullptr ? Message::Outcome::pending : Message::Outcome::done;
    if (!rings_.has_waiting(peer) && has_room(peer, value)) {
        write(peer, whose, to, value);
        return whose == nullptr || requests_.finishes(message);
    }
    if (peer.lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    rings_.wait(peer, {.message = whose, .notification = WaitingNotification{to, value}});
    ++peer.notifications.waiting;
    return whose == nullptr;
}

bool Notifications::wait(Peer& peer, Message& message, const Place& to) {
    message.outcome = Message::Outcome::pending;
    rings_.wait(peer, {.message = &message, .notification = WaitingNotification{to, {}}});
    ++peer.notifications.waiting;
    return false;
}

bool Notifications::send_waiting(Peer& peer) {
    const WaitingFrame frame = peer.waiting.front();
    const std::optional<std::uint64_t> value = frame.notification->value;
    if (value && !has_room(peer, *value)) return false;
    rings_.wait_no_longer(peer);
    --peer.notifications.waiting;
    if (value)
        write(peer, frame.message, frame.notification->to, *value);
    else
        sender_.start_put(peer, *frame.message, frame.notification->to, {});
    return true;
}

// Calls nobody back: what is sent next must find the mark changed. The immediate makes this dearer than a put and a
// frame on the software HCA, which are copies by the sender alone: it is a packet, takes a receive request, and is
// acknowledged (3,650 instructions of both sides against 1,130 of a plain write).
void Notifications::write(Peer& peer, Message* message, const Place& to, std::uint64_t value) {
    const std::uint32_t first = needs_escape(value) ? escape_immediate : static_cast<std::uint32_t>(value);
    if (message != nullptr)
        sender_.start_put(peer, *message, to, first);
    else
        requests_.write_immediate(peer, first);
    peer.notifications.sent += immediates_of(value);
    for (bool more = needs_escape(value); more;) {
        const auto digit = static_cast<std::uint32_t>(value) & (digit_follows - 1);
        value >>= digit_bits;
        more = value != 0;
        requests_.write_immediate(peer, digit | (more ? digit_follows : 0));
    }
    rings_.hide_what_follows(peer);
}

void Notifications::take(Peer& peer, std::uint32_t immediate) {
    NotificationCounts& counts = peer.notifications;
    ++counts.taken;
    if (counts.escaped) {
        take_digit(peer, immediate);
    } else if (immediate == escape_immediate) {
        counts.escaped = true;
        counts.bits = 0;
        counts.digits = 0;
    } else {
        add(peer.rank, immediate);
        rings_.show_what_follows(peer);
    }
    if (peer.lost) return;
    if (counts.taken - counts.reported < most_open_ / 2) return;
    counts.reported = counts.taken;
    requests_.write_word(peer, offsetof(Inbox, notified), counts.taken);
}

void Notifications::take_digit(Peer& peer, std::uint32_t digit) {
    NotificationCounts& counts = peer.notifications;
    if (digit >= 2 * digit_follows || counts.bits >= 3 * digit_bits)
        return liveness_.lose(peer, "it sent a notification of no known form");
    counts.digits |= std::uint64_t{digit & (digit_follows - 1)} << counts.bits;
    counts.bits += digit_bits;
    if ((digit & digit_follows) != 0) return;
    counts.escaped = false;
    add(peer.rank, counts.digits);
    rings_.show_what_follows(peer);
}

std::optional<Notification> Notifications::next() {
    if (taken_.empty()) return {};
    const Notification next = taken_.front();
    taken_.pop_front();
    return next;
}

}  // namespace loom::transport
