// What the transport keeps for each other rank. Each part belongs to the class that is named with it; the parts lie
// together because ranks that share a core find their caches taken by others at every turn: what a short message needs
// of its peer comes first.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "loom/transport/message_list.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/far_cache.hpp"
#include "transport/verbs/layout.hpp"

namespace loom::transport {

// FrameRings: the ring in the peer's memory, which we write.
struct SendRing {
    std::uint64_t lines = 0;
    std::uint64_t address = 0;
    std::uint64_t tail = 0;      // lines written, in all
    std::uint64_t consumed = 0;  // of them, as far as we know
    Marks marks;
    const Inbox* inbox = nullptr;  // in our memory: what the peer says about this ring and itself
};

// FrameRings: the ring in our memory, which the peer writes.
struct ReceiveRing {
    const std::byte* base = nullptr;
    std::uint64_t lines = 0;  // as many as the other has
    std::uint64_t head = 0;   // lines taken, in all
    std::uint64_t reported = 0;
    Marks marks;
};

// Notifications: immediates in either direction, in all.
struct NotificationCounts {
    std::uint64_t sent = 0;
    std::uint64_t known = 0;  // of them, taken by the peer as far as we know
    std::uint64_t taken = 0, reported = 0;
    std::uint64_t waiting = 0;  // among the frames that wait
    // Of a value that comes in digits.
    bool escaped = false;
    unsigned bits = 0;  // taken so far
    std::uint64_t digits = 0;
};

// Where a peer's memory is written.
struct Place {
    std::uint64_t address;
    std::uint32_t key;
    bool shared;  // with plain stores, inside a host
};

struct WaitingNotification {
    Place to;
    std::optional<std::uint64_t> value;  // nothing: a put that must not overtake one
};

// A frame that waits for room in the peer's ring, or a notification that waits for its turn.
struct WaitingFrame {
    Kind kind{};
    Tag tag{};
    std::vector<std::byte> bytes{};  // of control frames
    Message* message = nullptr;      // of eager ones and of notifications: its data is still the program's
    std::optional<WaitingNotification> notification{};
};

// A message that came before its receive: an eager one, or an advance.
struct EarlyMessage {
    Tag tag;
    std::vector<std::byte> bytes;
    std::optional<Loan> loan;
};

struct ReadyAt {
    Tag tag;
    Ready ready;
};

struct alignas(64) Peer {
    // Requests and Liveness: its queue pair.
    QpPtr qp;
    Rank rank;
    bool lost = false;
    bool broken = false;           // a request failed: it will be lost once that is taken in
    bool far = false;              // on another host
    bool probing = false;          // a write is under way that only asks whether it lives
    std::uint32_t key = 0;         // of its rings and inboxes
    std::uint32_t unsignaled = 0;  // requests since the last one that will complete
    std::uint32_t open = 0;        // requests not known to have ended

    // A short message's way, of several classes.
    std::uint64_t eager_limit = 0;
    SendRing out;
    MessageList sends;  // RendezvousSender: large ones that wait for `ready`, and small ones behind them
    ReceiveRing in;
    MessageList receives;            // RendezvousReceiver: of any length
    std::deque<EarlyMessage> early;  // EagerMessages, and RendezvousReceiver its advances
    // EagerMessages: how much of that is kept.
    std::uint64_t kept = 0;       // bytes of its early messages
    std::uint64_t most_kept = 0;  // but for what is in the ring
    bool told_full = false;       // it knows that we keep no more

    std::deque<std::uint32_t> covered;      // Requests: how many of them each completion to come stands for
    FarCache stores = stores_in_far_cache;  // Requests
    FarCache pages = pages_in_far_cache;    // RendezvousSender

    // FrameRings: beside the rings.
    std::uint64_t inbox_address = 0;  // our inbox in its memory
    bool asked_to_ring = false;       // a far one, once and for all
    std::byte* mirror = nullptr;      // frames too long to travel inside a request are put together here: at the place
                                      // they will have in the ring, so that it is free again when that is
    std::deque<WaitingFrame> waiting;

    NotificationCounts notifications;

    // RendezvousSender, but for advances_seen, which is RendezvousReceiver's.
    std::uint64_t advances_sent = 0, advances_seen = 0;
    std::deque<ReadyAt> readies;  // that wait for their send
    MessageList writing;          // whose data is under way
    std::uint64_t unread = 0;     // a bit for each kind of advance (kind_of_advance) that it asked to have written
    // RendezvousReceiver: those that have met their message, which we read ourselves or have the peer write.
    MessageList reading;
};

}  // namespace loom::transport
