#include "transport/verbs/verbs_transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace loom::transport {

namespace {

constexpr std::uint32_t frames_at_once = 64;  // of one peer, before others have their turn

void begin(Message& message, Rank peer, std::span<const std::byte> data) {
    message.peer = peer;
    message.data = const_cast<std::byte*>(data.data());  // what only reads it does not write it
    message.bytes = data.size();
}

}  // namespace

bool VerbsTransport::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    begin(message, to, data);
    message.tag = tag;
    if (to == me_) return self_.send(message);
    Peer& peer = peers_[to.value];
    if (peer.lost) [[unlikely]] {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    return data.size() <= peer.eager_limit ? eager_.send(peer, message) : sender_.send(peer, message);
}

bool VerbsTransport::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    begin(message, from, into);
    message.tag = tag;
    if (from == me_) return self_.receive(message);
    Peer& peer = peers_[from.value];
    for (auto early = peer.early.begin(); early != peer.early.end(); ++early)
        if (early->tag == tag)
            return early->loan ? receiver_.receive_early(peer, early, message)
                               : eager_.receive_early(peer, early, message);
    if (peer.lost) [[unlikely]] {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    message.transfer = no_transfer;
    if (into.size() > peer.eager_limit) return receiver_.receive(peer, message);
    peer.receives.push(message);
    return false;
}

RemoteMemory VerbsTransport::expose(std::span<std::byte> memory) {
    const RemoteMemory exposed = puts_.expose(memory);
    wakes_.expect_notifications(puts_.any_exposed());
    return exposed;
}

void VerbsTransport::unexpose(const RemoteMemory& memory) {
    puts_.unexpose(memory);
    wakes_.expect_notifications(puts_.any_exposed());
}

bool VerbsTransport::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                         Message& message) {
    begin(message, to, data);
    return puts_.put(other(to), where, offset, message);
}

bool VerbsTransport::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                std::span<const std::byte> data, std::uint64_t value, Message& message) {
    begin(message, to, data);
    return puts_.put_notify(other(to), where, offset, value, message);
}

bool VerbsTransport::get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                         Message& message) {
    begin(message, from, into);
    return puts_.get(other(from), where, offset, message);
}

bool VerbsTransport::atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                            std::uint64_t& before, Message& message) {
    begin(message, at, std::as_bytes(std::span(&before, 1)));
    return puts_.atomic(other(at), where, offset, what, message);
}

std::byte* VerbsTransport::map(Rank owner, const RemoteMemory& memory) {
    if (memory.bytes == 0) return nullptr;
    if (owner == me_) return reinterpret_cast<std::byte*>(memory.address);
    const Peer& peer = peers_[owner.value];
    const auto map_it = device_.adapter.functions.map;
    if (map_it == nullptr || peer.far || peer.lost) return nullptr;
    return static_cast<std::byte*>(
        map_it(peer.qp.get(), static_cast<std::uint32_t>(memory.key), memory.address, memory.bytes));
}

void VerbsTransport::unmap(Rank owner, const RemoteMemory& memory, std::byte* mapped) {
    if (owner != me_ && mapped != nullptr) device_.adapter.functions.unmap(mapped, memory.bytes);
}

bool VerbsTransport::progress() {
    bool any = false;
    for (std::size_t i = 0; i < rings_.ranks(); ++i)
        if (rings_.has_news(i)) any |= take_frames(peers_[i]);
    if (rings_.any_waiting())
        for (Peer& peer : peers_) eager_.send_waiting(peer);
    // Polling also drives the software HCA's packets, between hosts the only way anything arrives.
    const bool now_and_then = (++looks_ & 31) == 0;
    if (requests_.any_open() || any_far_ || now_and_then) any |= requests_.take();
    if (datagrams_ != nullptr) any |= datagrams_->progress();
    if (now_and_then || wakes_.watched() || waiting_ == Waiting::yield) any |= look_around(now_and_then);
    return any;
}

// What need not be done at every look.
bool VerbsTransport::look_around(bool now_and_then) {
    // Now and then because of peers who did not know yet that nobody sleeps here.
    const bool any = (now_and_then || wakes_.watched()) && take_wakes();
    // Also when something came: a loss must be found while others go on sending. A rank that sleeps or yields between
    // its looks has few of them.
    if (now_and_then || wakes_.on() || waiting_ == Waiting::yield)
        if (liveness_.rest())
            for (Peer& peer : peers_) sender_.offer_again(peer);  // the receive may come yet
    return any;
}

bool VerbsTransport::take_wakes() {
    bool any = wakes_.on() && wakes_.take();
    if (!wakes_.on()) wakes_.drain();
    while (const auto arrival = wakes_.next()) {
        any = true;
        Peer* const peer = requests_.peer_of(arrival->qp);
        while (peer != nullptr && take_frames(*peer)) {  // what it sent before
        }
        if (peer != nullptr && !peer->lost) notifications_.take(*peer, arrival->immediate);
    }
    return any;
}

bool VerbsTransport::take_frames(Peer& peer) {
    std::uint32_t taken = 0;
    Frame frame;
    while (taken < frames_at_once && !peer.lost && FrameRings::look(peer, frame)) {
        ++taken;
        if (frame.kind == Kind::eager) [[likely]]
            eager_.take(peer, frame.tag, frame.payload, frame.bytes);
        else if (frame.kind == Kind::skip)
            rings_.consume_skip(peer);
        else
            take_control(peer, frame);
    }
    return taken != 0;
}

void VerbsTransport::take_control(Peer& peer, const Frame frame) {
    // Handling one may write frames of our own, but never looks at this ring: what is needed is copied out first.
    alignas(8) std::array<std::byte, std::max(sizeof(Ready), sizeof(Loan))> copy{};
    std::memcpy(copy.data(), frame.payload, std::min<std::uint64_t>(frame.bytes, copy.size()));
    const auto as = [&copy]<class T>(T value) {
        std::memcpy(&value, copy.data(), sizeof value);
        return value;
    };
    const auto is = [&](Kind kind, std::size_t bytes) { return frame.kind == kind && frame.bytes == bytes; };
    const Tag tag = frame.tag;
    rings_.consume(peer, frame_lines(frame.bytes));
    if (is(Kind::ready, sizeof(Ready))) {
        Message* const over = sender_.take_ready(peer, tag, as(Ready{}));
        if (!peer.sends.empty()) eager_.send_held(peer, tag);
        if (over != nullptr) finish(*over, over->outcome);
    } else if (is(Kind::written, sizeof(Reference))) {
        receiver_.take_answer(peer, as(Reference{}).transfer, Message::Outcome::done);
    } else if (is(Kind::refused, sizeof(Reference))) {
        receiver_.take_answer(peer, as(Reference{}).transfer, Message::Outcome::mismatched);
    } else if (is(Kind::lent, sizeof(Loan))) {
        receiver_.take_loan(peer, as(Loan{}));
    } else if (is(Kind::advance, sizeof(Loan))) {
        receiver_.take_advance(peer, tag, as(Loan{}));
    } else if (is(Kind::offer, sizeof(Offer))) {
        receiver_.take_offer(peer, tag, as(Offer{}).bytes);
    } else if (is(Kind::taken, sizeof(Reference))) {
        sender_.take_taken(peer, as(Reference{}).transfer);
    } else if (is(Kind::unwanted, sizeof(Reference))) {
        sender_.take_unwanted(peer, as(Reference{}).transfer);
    } else if (is(Kind::rather, sizeof(Ready))) {
        sender_.take_rather(peer, TransferId{tag.value}, as(Ready{}));
    } else if (is(Kind::withdrawn, sizeof(Reference))) {
        sender_.take_withdrawn(peer, tag, as(Reference{}).transfer);
    } else {
        liveness_.lose(peer, "it sent a frame of no known kind");
    }
}

void VerbsTransport::take(Peer& peer, const ibv_wc& completion) {
    if (completion.status != IBV_WC_SUCCESS) {
        // A rank that heard of a loss before us may have ended what we were about to read: the one that was lost first
        // is the one to name.
        liveness_.ask_launcher();
        return liveness_.lose(peer, std::string("it can no longer be reached: ") +
                                        device_.adapter.functions.wc_status_str(completion.status));
    }
    switch (kind_of(completion.wr_id)) {
        case RequestKind::probe:
            return Liveness::take_probe(peer);
        case RequestKind::frame:
            return;
        case RequestKind::read:
            return receiver_.take_read(peer, static_cast<std::uint32_t>(completion.wr_id >> 3));
        case RequestKind::message:
            return sender_.take_part(peer, *reinterpret_cast<Message*>(completion.wr_id));
    }
}

void VerbsTransport::set_events(bool on) {
    wakes_.turn(on);
    for (Peer& peer : peers_)
        if (peer.rank != me_ && !peer.lost) rings_.tell_sleeping(peer, on);
}

void VerbsTransport::hush(bool on) {
    if (any_far_ && device_.adapter.functions.hush != nullptr)
        device_.adapter.functions.hush(device_.context.get(), on ? 1 : 0);
}

Multicast* VerbsTransport::multicast() {
    if (datagrams_ == nullptr) datagrams_ = std::make_unique<Datagrams>(device_, me_, job_);
    return datagrams_.get();
}

std::string VerbsTransport::description() const {
    return "verbs: " + device_.name + (device_.adapter.soft ? " (software HCA)" : "") + ", eager up to " +
           std::to_string(near_.eager_limit) + " bytes" +
           (any_far_ ? " (" + std::to_string(far_.eager_limit) + " to other hosts)" : "");
}

}  // namespace loom::transport
