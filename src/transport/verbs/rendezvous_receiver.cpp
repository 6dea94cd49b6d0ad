#include "transport/verbs/rendezvous_receiver.hpp"

#include <algorithm>

#include "transport/verbs/finish.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t most_read_at_once = 1u << 30;

}  // namespace

Transfer& RendezvousReceiver::open(Message& message) {
    Transfer& transfer = transfers_.open(message, Transfer::Role::receive);
    message.pieces = 1;
    return transfer;
}

// Says where the message may be written. It stays in the list of receives, so that a wrong length is noticed.
bool RendezvousReceiver::receive(Peer& peer, Message& message) {
    const Registration& target = *open(message).registration;
    peer.receives.push(message);
    rings_.send(peer, Kind::ready, message.tag,
                Ready{reinterpret_cast<std::uint64_t>(message.data), message.bytes, target.mr->rkey, message.transfer,
                      transfers_.receives(), target.shared ? 1u : 0u, peer.advances_seen});
    return false;
}

bool RendezvousReceiver::receive_early(Peer& peer, std::deque<EarlyMessage>::iterator early, Message& message) {
    const Loan loan = *early->loan;
    const bool fits = loan.bytes == message.bytes;
    if (fits && loan.bytes != 0) open(message);  // may throw
    peer.early.erase(early);
    if (!fits || loan.bytes == 0) {
        rings_.send(peer, fits ? Kind::taken : Kind::unwanted, Tag{}, Reference{loan.loan});
        message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    peer.receives.push(message);
    meet(peer, loan, message);
    return !peer.lost && requests_.finishes(message);
}

void RendezvousReceiver::take_advance(Peer& peer, Tag tag, const Loan& loan) {
    if (loan.bytes > peer.eager_limit) ++peer.advances_seen;
    Message* const message = peer.receives.find(tag);
    if (message == nullptr) {
        peer.early.push_back({tag, {}, loan});
        return;
    }
    if (message->bytes != loan.bytes) {
        peer.receives.remove(*message);
        rings_.send(peer, Kind::unwanted, Tag{}, Reference{loan.loan});
        if (message->transfer != no_transfer) {
            // To an advance of a large message its `ready` belonged.
            if (loan.bytes <= peer.eager_limit) return give_up(peer, tag, *message);
            transfers_.close(transfers_.of(*message));
        }
        return finish(*message, Message::Outcome::mismatched);
    }
    if (loan.bytes == 0) {
        peer.receives.remove(*message);
        rings_.send(peer, Kind::taken, Tag{}, Reference{loan.loan});
        return finish(*message, Message::Outcome::done);
    }
    if (message->transfer == no_transfer) open(*message);
    meet(peer, loan, *message);
    requests_.take();
}

void RendezvousReceiver::give_up(Peer& peer, Tag tag, Message& message) {
    if (message.transfer != no_transfer) {
        const TransferId receive = message.transfer;
        transfers_.close(transfers_.of(message));
        rings_.send(peer, Kind::withdrawn, tag, Reference{receive});
    }
    finish(message, Message::Outcome::mismatched);
}

// An advance and its receive, which is among the receives: starts to read, or asks the sender to write.
void RendezvousReceiver::meet(Peer& peer, const Loan& loan, Message& message) {
    Transfer& transfer = transfers_.of(message);
    if (!transfer.registration->shared || loan.shared != 0) return read(peer, loan, message);
    // What comes next with its tag is for the next receive.
    peer.receives.remove(message);
    peer.reading.push(message);
    transfer.met = true;
    rings_.send(peer, Kind::rather, Tag{loan.loan.value},
                Ready{reinterpret_cast<std::uint64_t>(message.data), message.bytes, transfer.registration->mr->rkey,
                      message.transfer, transfers_.receives(), 1, 0});
}

void RendezvousReceiver::take_loan(Peer& peer, const Loan& loan) {
    if (!transfers_.is_known(loan.receive)) return liveness_.lose(peer, "it sent a loan to no receive");
    Transfer* const transfer = transfers_.find(loan.receive, Transfer::Role::receive);
    if (transfer == nullptr)  // of one that was given up
        return rings_.send(peer, Kind::taken, Tag{}, Reference{loan.loan});
    Message& message = *transfer->message;
    if (message.peer != peer.rank || transfer->met || loan.bytes == 0 || loan.bytes > message.bytes)
        return liveness_.lose(peer, "it sent a loan to another receive");
    read(peer, loan, message);
    requests_.take();
}

void RendezvousReceiver::read(Peer& peer, const Loan& loan, Message& message) {
    Transfer& transfer = transfers_.of(message);
    // What comes next with its tag is for the next receive, also while this one is read.
    peer.receives.remove(message);
    peer.reading.push(message);
    transfer.met = true;
    message.pieces = loan.bytes == message.bytes ? 1 : 2;
    transfer.loan = loan.loan;
    transfer.reads = static_cast<std::uint32_t>((loan.bytes + most_read_at_once - 1) / most_read_at_once);
    const unsigned advice = message.past_caches ? device_.adapter.functions.past_caches : 0;
    const std::uint32_t key = transfer.registration->mr->lkey;
    const std::uint64_t id = read_id(Transfers::slot_of(message.transfer));
    for (std::uint64_t done = 0; done < loan.bytes && !peer.lost; done += most_read_at_once) {
        ibv_sge part = piece_of(message.data + done, std::min(most_read_at_once, loan.bytes - done), key);
        ibv_send_wr request{};
        request.wr_id = id;
        request.sg_list = &part;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_READ;
        request.send_flags = IBV_SEND_SIGNALED | advice;
        request.wr.rdma.remote_addr = loan.address + done;
        request.wr.rdma.rkey = loan.key;
        requests_.post(peer, request);
    }
}

void RendezvousReceiver::take_read(Peer& peer, std::uint32_t slot) {
    Transfer& transfer = transfers_.at(slot);
    if (--transfer.reads != 0) return;
    rings_.send(peer, Kind::taken, Tag{}, Reference{transfer.loan});
    if (!peer.lost) take_part(peer, transfer);
}

void RendezvousReceiver::take_answer(Peer& peer, TransferId receive, Message::Outcome outcome) {
    if (receive == no_transfer) return;
    if (!transfers_.is_known(receive)) return liveness_.lose(peer, "it sent an answer to no receive");
    Transfer* const transfer = transfers_.find(receive, Transfer::Role::receive);
    if (transfer == nullptr) return;  // of one that was given up
    if (transfer->message->peer != peer.rank) return liveness_.lose(peer, "it sent an answer to another's receive");
    // While we read it nothing else can be said about it, unless only a part of it was lent.
    if (transfer->reads != 0 && (outcome != Message::Outcome::done || transfer->message->pieces == 1))
        return liveness_.lose(peer, "it sent an answer to a receive that has its message");
    if (outcome == Message::Outcome::done)
        take_part(peer, *transfer);
    else
        end(peer, *transfer, outcome);
}

void RendezvousReceiver::take_part(Peer& peer, Transfer& transfer) {
    if (--transfer.message->pieces == 0) end(peer, transfer, Message::Outcome::done);
}

void RendezvousReceiver::end(Peer& peer, Transfer& transfer, Message::Outcome outcome) {
    Message& message = *transfer.message;
    (transfer.met ? peer.reading : peer.receives).remove(message);
    transfers_.close(transfer);
    finish(message, outcome);
}

void RendezvousReceiver::take_offer(Peer& peer, Tag tag, std::uint64_t bytes) {
    Message* const message = peer.receives.find(tag);
    if (message == nullptr || message->transfer != no_transfer || message->bytes == bytes) return;
    peer.receives.remove(*message);
    rings_.send(peer, Kind::ready, tag, Ready{0, 0, 0, no_transfer, 0, 0, peer.advances_seen});
    finish(*message, Message::Outcome::mismatched);
}

void RendezvousReceiver::forget(Peer& peer, MessageList& over) {
    for (MessageList* const list : {&peer.receives, &peer.reading})
        while (Message* const message = list->pop()) {
            if (message->transfer != no_transfer) transfers_.close(transfers_.of(*message));
            over.push(*message);
        }
    std::erase_if(peer.early, [](const EarlyMessage& early) { return early.loan.has_value(); });
}

}  // namespace loom::transport
