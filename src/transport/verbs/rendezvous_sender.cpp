#include "transport/verbs/rendezvous_sender.hpp"

#include <algorithm>

#include "transport/verbs/finish.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t most_written_at_once = 1u << 30;  // bytes of one RDMA write

}  // namespace

bool RendezvousSender::send(Peer& peer, Message& message) {
    ++open_;
    const auto ready = std::find_if(peer.readies.begin(), peer.readies.end(),
                                    [&](const ReadyAt& known) { return known.tag == message.tag; });
    if (ready != peer.readies.end()) {
        const Ready where = ready->ready;
        peer.readies.erase(ready);
        return write(peer, message, where);
    }
    message.outcome = Message::Outcome::pending;
    if (lends_in_advance(peer, message))
        lend_in_advance(peer, message);
    else
        peer.sends.push(message);
    return false;
}

bool RendezvousSender::write(Peer& peer, Message& message, const Ready& ready) {
    if (ready.bytes != message.bytes) {
        rings_.send(peer, Kind::refused, message.tag, Reference{ready.receive});
        message.outcome = Message::Outcome::mismatched;
        --open_;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    transfers_.open(message, Transfer::Role::send);
    peer.writing.push(message);
    const std::uint64_t lent = share_to_lend(peer, message, ready);
    message.pieces = lent != 0 ? 1 : 0;
    if (lent != 0) lend(peer, message, lent, ready.receive);
    if (peer.lost || lent == message.bytes) return false;
    write_data(peer, message, lent, {ready.address, static_cast<std::uint32_t>(ready.key), ready.shared != 0});
    rings_.send(peer, Kind::written, message.tag, Reference{ready.receive});
    return !peer.lost && requests_.finishes(message);
}

// Starts the writes of a message's data. Calls nobody back.
void RendezvousSender::write_data(Peer& peer, Message& message, std::uint64_t from, const Place& to,
                                  std::optional<std::uint32_t> immediate) {
    const std::uint32_t key = transfers_.of(message).registration->mr->lkey;
    const unsigned advice = message.past_caches ? device_.adapter.functions.past_caches : 0;
    for (std::uint64_t done = from; done < message.bytes; done += most_written_at_once) {
        ibv_sge part = piece_of(message.data + done, std::min(most_written_at_once, message.bytes - done), key);
        ++message.pieces;
        ibv_send_wr request{};
        request.wr_id = reinterpret_cast<std::uint64_t>(&message);
        request.sg_list = &part;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_WRITE;
        request.send_flags = IBV_SEND_SIGNALED | advice;
        request.wr.rdma.remote_addr = to.address + done;
        request.wr.rdma.rkey = to.key;
        if (immediate && done + part.length == message.bytes) give_immediate(request, *immediate);
        if (to.shared)
            requests_.post_stores(peer, request);
        else
            requests_.post(peer, request);
    }
}

bool RendezvousSender::put(Peer& peer, Message& message, const Place& to) {
    start_put(peer, message, to, {});
    return requests_.finishes(message);
}

void RendezvousSender::start_put(Peer& peer, Message& message, const Place& to,
                                 std::optional<std::uint32_t> immediate) {
    message.outcome = Message::Outcome::pending;
    message.pieces = 0;
    ++open_;
    transfers_.open(message, Transfer::Role::send);
    peer.writing.push(message);
    write_data(peer, message, 0, to, immediate);
}

void RendezvousSender::take_part(Peer& peer, Message& message) {
    if (--message.pieces == 0) end(peer, message, Message::Outcome::done);
}

void RendezvousSender::end(Peer& peer, Message& message, Message::Outcome outcome) {
    peer.writing.remove(message);
    transfers_.close(transfers_.of(message));
    --open_;
    finish(message, outcome);
}

Message* RendezvousSender::take_ready(Peer& peer, Tag tag, const Ready& ready) {
    if (claims_advance(peer, tag, ready)) return nullptr;
    Message* const message = peer.sends.take(tag);
    if (message == nullptr) {
        peer.readies.push_back({tag, ready});
        return nullptr;
    }
    return write(peer, *message, ready) ? message : nullptr;
}

void RendezvousSender::offer_again(Peer& peer) {
    for (Message* send = peer.sends.front(); send != nullptr; send = peer.lost ? nullptr : send->next)
        if (send->bytes > peer.eager_limit) rings_.send(peer, Kind::offer, send->tag, Offer{send->bytes});
}

void RendezvousSender::forget(Peer& peer, MessageList& over) {
    while (Message* const message = peer.sends.pop()) {
        if (message->bytes > peer.eager_limit) --open_;
        over.push(*message);
    }
    while (Message* const message = peer.writing.pop()) {
        Transfer& transfer = transfers_.of(*message);
        take_pages_back(peer, transfer);
        transfers_.close(transfer);
        --open_;
        over.push(*message);
    }
    peer.readies.clear();
}

}  // namespace loom::transport
