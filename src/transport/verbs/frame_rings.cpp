#include "transport/verbs/frame_rings.hpp"

#include <algorithm>
#include <utility>

namespace loom::transport {

namespace {

// Rings inside this host get their pages before the first message when they need no more than this. Without it the
// first pass through a ring waits for the kernel at each page, 2.5 us where it is made and 1 us where a peer maps it:
// the first seven alltoalls of 16 KiB on 4 ranks took 160 us each, the later ones 12.
constexpr std::uint64_t most_provided = 4 << 20;

// Puts a frame together; `to` has room for it.
void compose(std::byte* to, std::uint64_t mark, Kind kind, Tag tag, std::span<const std::byte> payload) {
    const std::uint64_t first = mark ^ describe(kind, payload.size());
    std::memcpy(to, &first, 8);
    std::memcpy(to + 8, &tag.value, 8);
    if (!payload.empty()) std::memcpy(to + header_bytes, payload.data(), payload.size());
    std::memcpy(to + header_bytes + round_up(payload.size(), 8), &mark, 8);
}

std::uint64_t inboxes_of(std::uint32_t ranks) {
    return round_up(ranks * sizeof(Inbox), 4096);
}

}  // namespace

// Who is far is not known yet: there is room for either ring. What is never touched needs no memory.
FrameRings::FrameRings(const Device& device, Requests& requests, Liveness& liveness, Rank me, std::uint32_t ranks,
                       Sizes sizes)
    : requests_(requests),
      liveness_(liveness),
      me_(me),
      ranks_(ranks),
      sizes_(sizes),
      memory_(std::make_unique<SharedMemory>(device, inboxes_of(ranks) + 2 * std::max(sizes.near, sizes.far) * ranks)),
      memory_key_(memory_->mr().lkey),
      watches_(ranks) {}

void FrameRings::open(Peer& peer, std::uint64_t secret) {
    const std::uint64_t stride = std::max(sizes_.near, sizes_.far), i = peer.rank.value;
    std::byte* const base = memory_->bytes().data();
    peer.out.inbox = reinterpret_cast<const Inbox*>(base) + i;
    peer.in.base = base + inboxes_of(ranks_) + stride * i;
    peer.in.marks = Marks(secret);
    peer.mirror = base + inboxes_of(ranks_) + stride * (ranks_ + i);
}

void FrameRings::connect(Peer& peer, std::uint32_t key, std::uint64_t memory, std::uint64_t secret) {
    const std::uint64_t stride = std::max(sizes_.near, sizes_.far);
    peer.key = key;
    peer.inbox_address = memory + me_.value * sizeof(Inbox);
    peer.out.address = memory + inboxes_of(ranks_) + stride * me_.value;
    peer.out.marks = Marks(secret);
    peer.in.lines = peer.out.lines = (peer.far ? sizes_.far : sizes_.near) / line;
    watch(peer);
}

bool FrameRings::provide(std::span<const Peer> peers) {
    const auto near_peers = static_cast<std::uint64_t>(
        std::count_if(peers.begin(), peers.end(), [&](const Peer& peer) { return is_near(peer); }));
    if (2 * sizes_.near * near_peers > most_provided) return false;
    for (const Peer& peer : peers) {
        if (!is_near(peer)) continue;
        for (const std::byte* const part : {peer.in.base, static_cast<const std::byte*>(peer.mirror)})
            memory_->provide(static_cast<std::uint64_t>(part - memory_->bytes().data()), sizes_.near);
    }
    return true;
}

// A zero on each page of the rings that we write: no frame begins with it, and the pages are then mapped here too.
void FrameRings::touch(std::span<Peer> peers) {
    std::byte zero{};
    for (Peer& peer : peers) {
        if (!is_near(peer)) continue;
        for (std::uint64_t at = 0; at < sizes_.near; at += 4096) {
            ibv_sge whole = piece_of(&zero, sizeof zero, 0);
            requests_.write(peer, {&whole, 1}, peer.out.address + at, IBV_SEND_INLINE, RequestKind::frame);
        }
    }
}

bool FrameRings::has_room(Peer& peer, std::uint64_t lines) {
    SendRing& ring = peer.out;
    const std::uint64_t at = ring.tail % ring.lines;
    const std::uint64_t skipped = at + lines > ring.lines ? ring.lines - at : 0;
    const auto free = [&] { return ring.lines - (ring.tail - ring.consumed); };
    if (free() >= lines + skipped) return true;
    const std::uint64_t reported = __atomic_load_n(&ring.inbox->consumed, __ATOMIC_ACQUIRE);
    if (reported - ring.consumed > ring.tail - ring.consumed) {
        liveness_.lose(peer, "it took more than it was sent");
        return false;
    }
    ring.consumed = reported;
    return free() >= lines + skipped;
}

void FrameRings::write(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload) {
    const std::uint64_t lines = frame_lines(payload.size()), bytes = frame_bytes(payload.size());
    std::uint64_t at = peer.out.tail % peer.out.lines;
    if (at + lines > peer.out.lines) {
        skip_to_start(peer);
        at = 0;
    }
    alignas(8) std::byte small[soft_inline_bytes];
    const bool travels_inside = bytes <= requests_.inline_limit();
    std::byte* const frame = travels_inside ? small : peer.mirror + at * line;
    compose(frame, peer.out.marks.now(), kind, tag, payload);
    ibv_sge whole = piece_of(frame, bytes, memory_key_);
    ibv_send_wr request;
    request.wr_id = request_id(peer.rank, RequestKind::frame);
    request.next = nullptr;
    request.sg_list = &whole;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = travels_inside ? unsigned{IBV_SEND_INLINE} : 0u;
    request.imm_data = 0;
    request.wr.rdma.remote_addr = peer.out.address + at * line;
    request.wr.rdma.rkey = peer.key;
    const bool wake = __atomic_load_n(&peer.out.inbox->wants_events, __ATOMIC_RELAXED) != 0;
    if (wake && peer.far) give_immediate(request, bell_immediate);  // one packet instead of two
    requests_.post_stores(peer, request);
    peer.out.tail += lines;
    peer.out.marks.next();
    // Apart from the frame, so that whoever polls sees that at once and needs no thread for it.
    if (wake && !peer.far) requests_.write_immediate(peer, bell_immediate);
}

void FrameRings::skip_to_start(Peer& peer) {
    const std::uint64_t at = peer.out.tail % peer.out.lines;
    alignas(8) std::byte skip[line];
    compose(skip, peer.out.marks.now(), Kind::skip, Tag{}, {});
    ibv_sge whole = piece_of(skip, frame_bytes(0), 0);
    requests_.write(peer, {&whole, 1}, peer.out.address + at * line, IBV_SEND_INLINE, RequestKind::frame);
    peer.out.tail += peer.out.lines - at;
    peer.out.marks.next();
}

void FrameRings::send(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload) {
    if (!has_waiting(peer) && has_room(peer, frame_lines(payload.size())))
        write(peer, kind, tag, payload);
    else if (!peer.lost)
        wait(peer, {.kind = kind, .tag = tag, .bytes = {payload.begin(), payload.end()}});
}

void FrameRings::wait(Peer& peer, WaitingFrame frame) {
    peer.waiting.push_back(std::move(frame));
    ++waiting_frames_;
}

void FrameRings::wait_no_longer(Peer& peer) {
    peer.waiting.pop_front();
    --waiting_frames_;
}

void FrameRings::watch(const Peer& peer) {
    const std::byte* const next = peer.in.base + peer.in.head % peer.in.lines * line;
    watches_[peer.rank.value] = {reinterpret_cast<const std::uint64_t*>(next), peer.in.marks.now()};
}

void FrameRings::consume(Peer& peer, std::uint64_t lines) {
    ReceiveRing& ring = peer.in;
    ring.head += lines;
    ring.marks.next();
    watch(peer);
    // To tell another host costs a packet and its answer. Not later than at half: the largest frame, and what has to be
    // skipped for it, are a line more than that.
    if (ring.head - ring.reported < ring.lines / (peer.far ? 2 : 4)) return;
    ring.reported = ring.head;
    requests_.write_word(peer, offsetof(Inbox, consumed), ring.head);
}

// On another host's frames a bell costs nothing, and to be told of it would take longer than what it is for: what has
// left without one wakes nobody.
void FrameRings::tell_sleeping(Peer& peer, bool on) {
    if (peer.far && (!on || std::exchange(peer.asked_to_ring, true))) return;
    requests_.write_word(peer, offsetof(Inbox, wants_events), on ? 1 : 0);
}

void FrameRings::forget(Peer& peer, MessageList& over) {
    waiting_frames_ -= static_cast<std::uint32_t>(peer.waiting.size());
    for (const WaitingFrame& frame : peer.waiting)
        if (frame.message != nullptr) over.push(*frame.message);
    peer.waiting.clear();
}

}  // namespace loom::transport
