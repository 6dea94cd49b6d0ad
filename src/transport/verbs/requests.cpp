#include "transport/verbs/requests.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"

namespace loom::transport {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t looks_between_questions = 1024;

}  // namespace

void Requests::post(Peer& peer, ibv_send_wr& request) {
    if (peer.lost || peer.broken) [[unlikely]]
        return;
    // A queue is reclaimed by completions: one in many asks for one.
    if ((request.send_flags & IBV_SEND_SIGNALED) == 0) {
        if (peer.unsignaled + 1 >= signal_every)
            request.send_flags |= IBV_SEND_SIGNALED;
        else
            ++peer.unsignaled;
    }
    if (peer.open >= queue_length && !wait_for_room(peer)) [[unlikely]]
        return;
    ++peer.open;
    if ((request.send_flags & IBV_SEND_SIGNALED) != 0) {
        peer.covered.push_back(peer.unsignaled + 1);
        peer.unsignaled = 0;
        ++outstanding_;
    }
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(peer.qp.get(), &request, &bad); error != 0)
        throw Error(std::string("verbs: cannot post a request: ") + std::strerror(error));
}

// A dead peer's adapter completes nothing for a while: the launcher knows sooner. And a peer on this core can only take
// what is before ours when it has the core.
bool Requests::wait_for_room(Peer& peer) {
    for (std::uint32_t looks = 1; peer.open >= queue_length && !peer.broken; ++looks) {
        if (!note()) pause(waiting_);
        if (looks % looks_between_questions == 0) look_();
    }
    return !peer.broken;
}

void Requests::post_stores(Peer& peer, ibv_send_wr& request) {
    const std::uint64_t lines = request.sg_list->length / line;
    if (lines < least_timed_lines) return post(peer, request);
    const unsigned past_caches = peer.far ? 0 : device_.adapter.functions.past_caches;
    if (past_caches == 0 || (request.send_flags & past_caches) != 0) return post(peer, request);
    switch (peer.stores.next()) {
        case FarCache::Way::other:
            request.send_flags |= past_caches;
            return post(peer, request);
        case FarCache::Way::usual:
            return post(peer, request);
        case FarCache::Way::timed:
            const auto begin = Clock::now();
            post(peer, request);
            peer.stores.took(lines, Clock::now() - begin);
    }
}

void Requests::write(Peer& peer, std::span<ibv_sge> pieces, std::uint64_t address, unsigned flags, RequestKind kind) {
    ibv_send_wr request;
    request.wr_id = request_id(peer.rank, kind);
    request.next = nullptr;
    request.sg_list = pieces.data();
    request.num_sge = static_cast<int>(pieces.size());
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = flags;
    request.imm_data = 0;
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = peer.key;
    post(peer, request);
}

void Requests::write_word(Peer& peer, std::size_t offset, std::uint64_t word, RequestKind kind) {
    ibv_sge piece = piece_of(&word, sizeof word, 0);
    const unsigned flags = kind == RequestKind::probe ? IBV_SEND_INLINE | IBV_SEND_SIGNALED : unsigned{IBV_SEND_INLINE};
    write(peer, {&piece, 1}, peer.inbox_address + offset, flags, kind);
}

void Requests::write_immediate(Peer& peer, std::uint32_t immediate) {
    ibv_send_wr request{};
    request.wr_id = request_id(peer.rank, RequestKind::frame);
    request.wr.rdma.remote_addr = peer.inbox_address;
    request.wr.rdma.rkey = peer.key;
    give_immediate(request, immediate);
    post(peer, request);
}

bool Requests::note() {
    ibv_wc completions[16];
    bool any = false;
    while (true) {
        const int count = ibv_poll_cq(device_.sent.get(), 16, completions);
        if (count < 0) throw Error("verbs: the completion queue is broken");
        for (int i = 0; i < count; ++i) note(completions[i]);
        any |= count != 0;
        if (count < 16) return any;
    }
}

void Requests::note(const ibv_wc& completion) {
    const auto found = by_qp_.find(completion.qp_num);
    if (found == by_qp_.end() || found->second->lost || found->second->broken) return;
    Peer& peer = *found->second;
    if (completion.status != IBV_WC_SUCCESS) {
        peer.broken = true;
        outstanding_ -= peer.covered.size();
        peer.covered.clear();
    } else {
        --outstanding_;
        peer.open -= peer.covered.front();
        peer.covered.pop_front();
        if (kind_of(completion.wr_id) == RequestKind::frame) return;
    }
    ended_.push_back(completion);
}

bool Requests::take() {
    const bool any = note() || !ended_.empty();
    while (!ended_.empty()) {
        const ibv_wc completion = ended_.front();
        ended_.pop_front();
        Peer& peer = *by_qp_.find(completion.qp_num)->second;
        if (!peer.lost) handler_.take(peer, completion);  // else its messages were given up
    }
    return any;
}

bool Requests::finishes(Message& message) {
    void (*const finished)(Message&) = message.finished;
    message.finished = [](Message&) {};
    take();
    message.finished = finished;
    return message.outcome != Message::Outcome::pending;
}

void Requests::stop(Peer& peer) {
    ibv_qp_attr stop{};
    stop.qp_state = IBV_QPS_ERR;
    device_.adapter.functions.modify_qp(peer.qp.get(), &stop, IBV_QP_STATE);
    outstanding_ -= std::min<std::uint64_t>(outstanding_, peer.covered.size());
    peer.covered.clear();
    peer.open = peer.unsignaled = 0;
}

}  // namespace loom::transport
