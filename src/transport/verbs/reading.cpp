// Of RendezvousSender: what brings data of a peer's memory here.
#include <algorithm>

#include "transport/verbs/rendezvous_sender.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t most_read_at_once = 1u << 30;  // bytes of one RDMA read

}  // namespace

void RendezvousSender::open_get(Peer& peer, Message& message) {
    message.outcome = Message::Outcome::pending;
    message.pieces = 0;
    ++open_;
    transfers_.open(message, Transfer::Role::get);
    peer.writing.push(message);
}

bool RendezvousSender::get(Peer& peer, Message& message, const Place& from) {
    open_get(peer, message);
    const std::uint32_t key = transfers_.of(message).registration->mr->lkey;
    for (std::uint64_t done = 0; done < message.bytes; done += most_read_at_once) {
        ibv_sge part = piece_of(message.data + done, std::min(most_read_at_once, message.bytes - done), key);
        ++message.pieces;
        ibv_send_wr request{};
        request.wr_id = reinterpret_cast<std::uint64_t>(&message);
        request.sg_list = &part;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_READ;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.rdma.remote_addr = from.address + done;
        request.wr.rdma.rkey = from.key;
        requests_.post(peer, request);
    }
    return requests_.finishes(message);
}

bool RendezvousSender::atomic(Peer& peer, Message& message, const Place& at, const Atomic& what) {
    open_get(peer, message);
    ibv_sge part = piece_of(message.data, message.bytes, transfers_.of(message).registration->mr->lkey);
    message.pieces = 1;
    const bool add = what.kind == Atomic::Kind::fetch_add;
    ibv_send_wr request{};
    request.wr_id = reinterpret_cast<std::uint64_t>(&message);
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic.remote_addr = at.address;
    request.wr.atomic.rkey = at.key;
    request.wr.atomic.compare_add = add ? what.operand : what.expected;
    request.wr.atomic.swap = what.operand;
    requests_.post(peer, request);
    return requests_.finishes(message);
}

}  // namespace loom::transport
