// What we write into others' memory: frames, data, credit.
#include <algorithm>
#include <cstring>

#include "loom/base/error.hpp"
#include "transport/verbs/requests.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace loom::transport {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t looks_between_questions = 1024;
constexpr std::uint64_t most_written_at_once = 1u << 30;  // bytes of one RDMA write
constexpr std::uint64_t least_lent = 24 << 10;            // bytes for which a second pair of hands is worth a message
constexpr std::uint64_t piece_lent = 1 << 20;             // bytes for which there is room in a pipe
constexpr std::uint64_t most_in_advance = 64 << 10;       // bytes that two pairs of hands copy no faster than one

ibv_sge piece(const void* address, std::uint64_t bytes, std::uint32_t key) {
    return {reinterpret_cast<std::uint64_t>(address), static_cast<std::uint32_t>(bytes), key};
}

ibv_send_wr write_of(std::span<ibv_sge> pieces, const Place& to, unsigned flags, std::uint64_t id) {
    ibv_send_wr request;
    request.wr_id = id;
    request.next = nullptr;
    request.sg_list = pieces.data();
    request.num_sge = static_cast<int>(pieces.size());
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = flags;
    request.imm_data = 0;
    request.wr.rdma.remote_addr = to.address;
    request.wr.rdma.rkey = to.key;
    return request;
}

// Puts a frame together; `to` has room for it.
void compose(std::byte* to, std::uint64_t mark, Kind kind, Tag tag, std::span<const std::byte> payload) {
    const std::uint64_t first = mark ^ describe(kind, payload.size());
    std::memcpy(to, &first, 8);
    std::memcpy(to + 8, &tag.value, 8);
    if (!payload.empty()) std::memcpy(to + header_bytes, payload.data(), payload.size());
    std::memcpy(to + header_bytes + round_up(payload.size(), 8), &mark, 8);
}

}  // namespace

void VerbsTransport::post(Peer& peer, ibv_send_wr& request) {
    if (peer.lost || peer.broken) [[unlikely]]
        return;
    // A queue is reclaimed by completions: one in many asks for one.
    if ((request.send_flags & IBV_SEND_SIGNALED) == 0) {
        if (peer.unsignaled + 1 >= signal_every)
            request.send_flags |= IBV_SEND_SIGNALED;
        else
            ++peer.unsignaled;
    }
    // A dead peer's adapter completes nothing for a while: the launcher knows sooner.
    // And a peer on this core can only take what is before ours when it has the core.
    for (std::uint32_t looks = 1; peer.open >= queue_length && !peer.broken; ++looks) {
        if (!note_completions()) pause(waiting_);
        if (looks % looks_between_questions == 0) hear_of_losses();
    }
    if (peer.broken) [[unlikely]]
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

void VerbsTransport::post_write(Peer& peer, std::span<ibv_sge> pieces, std::uint64_t address, std::uint32_t key,
                                unsigned flags, std::uint64_t id) {
    ibv_send_wr request = write_of(pieces, {address, key, false}, flags, id);
    post(peer, request);
}

// Wakes a peer that sleeps. Apart from the frame, so that whoever polls sees that at once and needs no thread for it.
void VerbsTransport::ring_bell(Peer& peer) {
    ibv_send_wr request{};
    request.wr_id = request_id(peer.rank, RequestKind::frame);
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SOLICITED;
    request.imm_data = me_.value;
    request.wr.rdma.remote_addr = peer.inbox_address;
    request.wr.rdma.rkey = peer.key;
    post(peer, request);
}

bool VerbsTransport::has_room(Peer& peer, std::uint64_t lines) {
    const std::uint64_t at = peer.tail % peer.ring_lines;
    const std::uint64_t skipped = at + lines > peer.ring_lines ? peer.ring_lines - at : 0;
    const auto free = [&] { return peer.ring_lines - (peer.tail - peer.consumed); };
    if (free() >= lines + skipped) return true;
    const std::uint64_t reported = __atomic_load_n(&peer.inbox->consumed, __ATOMIC_ACQUIRE);
    if (reported - peer.consumed > peer.tail - peer.consumed) {
        lose(peer, "it took more than it was sent");
        return false;
    }
    peer.consumed = reported;
    return free() >= lines + skipped;
}

void VerbsTransport::write_frame(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload) {
    const std::uint64_t lines = frame_lines(payload.size()), bytes = frame_bytes(payload.size());
    if (const std::uint64_t at = peer.tail % peer.ring_lines; at + lines > peer.ring_lines) {
        alignas(8) std::byte skip[line];
        compose(skip, peer.out.now(), Kind::skip, Tag{}, {});
        ibv_sge whole = piece(skip, frame_bytes(0), 0);
        post_write(peer, {&whole, 1}, peer.ring_address + at * line, peer.key, IBV_SEND_INLINE,
                   request_id(peer.rank, RequestKind::frame));
        peer.tail += peer.ring_lines - at;
        peer.out.next();
    }
    const std::uint64_t at = peer.tail % peer.ring_lines * line;
    alignas(8) std::byte small[soft_inline_bytes];
    const bool travels_inside = bytes <= inline_limit();
    std::byte* const frame = travels_inside ? small : peer.mirror + at;
    compose(frame, peer.out.now(), kind, tag, payload);
    ibv_sge whole = piece(frame, bytes, travels_inside ? 0 : arena_->mr().lkey);
    ibv_send_wr request{};
    request.wr_id = request_id(peer.rank, RequestKind::frame);
    request.sg_list = &whole;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = travels_inside ? unsigned{IBV_SEND_INLINE} : 0u;
    request.wr.rdma.remote_addr = peer.ring_address + at;
    request.wr.rdma.rkey = peer.key;
    const bool wake = __atomic_load_n(&peer.inbox->wants_events, __ATOMIC_RELAXED) != 0;
    if (wake && peer.far) {  // one packet instead of two
        request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request.send_flags |= IBV_SEND_SOLICITED;
    }
    post_stores(peer, request);
    peer.tail += lines;
    peer.out.next();
    if (wake && !peer.far) ring_bell(peer);
}

// A write into shared memory: on the software HCA and inside a host our stores.
void VerbsTransport::post_stores(Peer& peer, ibv_send_wr& request) {
    const unsigned past_caches = peer.far ? 0 : device_.adapter.functions.past_caches;
    const std::uint64_t lines = request.sg_list->length / line;
    if (lines < least_timed_lines || past_caches == 0 || (request.send_flags & past_caches) != 0)
        return post(peer, request);
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

// Not for a peer that keeps as many early messages of ours as it will.
bool VerbsTransport::write_eager(Peer& peer, Message& message) {
    if (!has_room(peer, frame_lines(message.bytes))) return false;
    write_frame(peer, Kind::eager, message.tag, {message.data, message.bytes});
    return true;
}

void VerbsTransport::send_control(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload) {
    if (!has_waiting(peer) && has_room(peer, frame_lines(payload.size()))) {
        write_frame(peer, kind, tag, payload);
    } else if (!peer.lost) {
        peer.waiting.push_back({kind, tag, {payload.begin(), payload.end()}, nullptr});
        ++waiting_frames_;
    }
}

void VerbsTransport::send_waiting(Peer& peer) {
    while (!peer.waiting.empty() && !peer.lost) {
        WaitingFrame& frame = peer.waiting.front();
        Message* const message = frame.message;
        const bool lends = message != nullptr && is_full(peer);
        const std::uint64_t bytes = lends ? sizeof(Loan) : message != nullptr ? message->bytes : frame.bytes.size();
        if (!has_room(peer, frame_lines(bytes))) return;
        const Tag tag = frame.tag;
        if (message == nullptr) write_frame(peer, frame.kind, tag, frame.bytes);
        peer.waiting.pop_front();
        --waiting_frames_;
        if (message == nullptr) continue;
        if (lends) {
            ++large_sends_;
            const Loan loan = make_advance(peer, *message);
            write_frame(peer, Kind::advance, tag, std::as_bytes(std::span(&loan, 1)));
        } else {
            write_frame(peer, Kind::eager, tag, {message->data, message->bytes});
            finish(*message, Message::Outcome::done);
        }
    }
}

// The small messages that waited behind a large one of their tag, up to the next large one.
void VerbsTransport::send_held(Peer& peer, Tag tag) {
    for (Message* held = peer.sends.find(tag); held != nullptr && held->bytes <= peer.eager_limit && !peer.lost;
         held = peer.sends.find(tag)) {
        peer.sends.remove(*held);
        if (is_full(peer)) {
            ++large_sends_;
            lend_in_advance(peer, *held);
        } else if (!has_waiting(peer) && write_eager(peer, *held)) {
            finish(*held, Message::Outcome::done);
        } else if (peer.lost) {
            finish(*held, Message::Outcome::lost);
        } else {
            peer.waiting.push_back({Kind::eager, tag, {}, held});
            ++waiting_frames_;
        }
    }
}

bool VerbsTransport::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    message.peer = to;
    message.tag = tag;
    message.data = const_cast<std::byte*>(data.data());  // a send only reads it
    message.bytes = data.size();
    if (to == me_) return send_to_self(tag, data, message);
    Peer& peer = peers_[to.value];
    if (peer.lost) [[unlikely]] {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    if (data.size() <= peer.eager_limit && !peer.sends.empty() && peer.sends.find(tag) != nullptr) {
        // Behind a large one with the same tag, which it must not overtake.
        message.outcome = Message::Outcome::pending;
        peer.sends.push(message);
        return false;
    }
    if (data.size() <= peer.eager_limit && is_full(peer)) [[unlikely]] {
        ++large_sends_;
        message.outcome = Message::Outcome::pending;
        lend_in_advance(peer, message);
        return false;
    }
    if (data.size() <= peer.eager_limit) {
        if (!has_waiting(peer) && write_eager(peer, message)) {
            message.outcome = Message::Outcome::done;
            return true;
        }
        if (peer.lost) [[unlikely]] {
            message.outcome = Message::Outcome::lost;
            return true;
        }
        message.outcome = Message::Outcome::pending;
        peer.waiting.push_back({Kind::eager, tag, {}, &message});
        ++waiting_frames_;
        return false;
    }
    ++large_sends_;
    for (auto at = peer.readies.begin(); at != peer.readies.end(); ++at)
        if (at->tag == tag) {
            const Ready ready = at->ready;
            peer.readies.erase(at);
            return write_large(peer, message, ready);
        }
    message.outcome = Message::Outcome::pending;
    message.pieces = 0;
    if (lends_in_advance(peer, message))
        lend_in_advance(peer, message);
    else
        peer.sends.push(message);
    return false;
}

bool VerbsTransport::write_large(Peer& peer, Message& message, const Ready& ready) {
    if (ready.bytes != message.bytes) {
        send_control(peer, Kind::refused, message.tag, Reference{ready.receive});
        message.outcome = Message::Outcome::mismatched;
        --large_sends_;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    Registration& source = registrations_.acquire({message.data, message.bytes}, false);
    sources_[&message] = &source;
    peer.writing.push(message);
    const std::uint64_t lent = share_to_lend(peer, message, ready, source);
    message.pieces = lent != 0 ? 1 : 0;
    if (lent != 0) lend(peer, message, lent, ready.receive);
    if (peer.lost || lent == message.bytes) return false;
    write_data(peer, message, lent, {ready.address, static_cast<std::uint32_t>(ready.key), ready.shared != 0});
    send_control(peer, Kind::written, message.tag, Reference{ready.receive});
    return !peer.lost && is_over(message);
}

// On the software HCA a core copies, and inside a host it may be either side's. What one side reaches with plain loads
// or stores that side copies, without the system's help. Otherwise a reader who was told in advance has the least work,
// and whoever has fewer transfers to do does it; both share it when both have nothing else to do and a core each.
// Adapters copy themselves and need no help.
std::uint64_t VerbsTransport::share_to_lend(const Peer& peer, const Message& message, const Ready& ready,
                                            const Registration& source) const {
    if (!device_.adapter.soft || peer.far || message.bytes < least_lent) return 0;
    if (source.shared != (ready.shared != 0)) return source.shared ? message.bytes : 0;
    // Of shared memory a copy costs either side the same: we have our turn, and the receiver is done when it has its.
    if (waiting_ == Waiting::yield) return source.shared ? 0 : message.bytes;
    if (large_sends_ != ready.receives) return large_sends_ > ready.receives ? message.bytes : 0;
    if (large_receives_ != 0) return source.shared ? 0 : message.bytes;
    return (source.shared ? message.bytes / 2 : message.bytes / 3 * 2) / 4096 * 4096;
}

TransferId VerbsTransport::new_loan(Message& message) {
    if (free_lent_.empty()) {
        free_lent_.push_back(static_cast<std::uint32_t>(lent_.size()));
        lent_.emplace_back();
    }
    const std::uint32_t slot = free_lent_.back();
    free_lent_.pop_back();
    lent_[slot].message = &message;
    lent_[slot].in_advance = false;
    lent_[slot].claimed_by = no_transfer;
    return id_of(slot, ++lent_[slot].generation);
}

// The HCA puts the pages of a loan into pipes for the reader: it is told of the first piece before the reader is, and
// of the others while that reads the first.
void VerbsTransport::tell_of_pieces(Peer& peer, TransferId loan, std::uint64_t bytes, std::size_t first,
                                    std::size_t end) {
    const verbs::Functions& f = device_.adapter.functions;
    Lent& lent = lent_[slot_of(loan)];
    // Huge pages the kernel copies faster than it hands over small ones.
    if (f.lend == nullptr || lent.message == nullptr || lent.message->huge_pages || sources_[lent.message]->shared)
        return;
    const std::byte* const data = lent.message->data;
    if (first != 0 && lent.pieces[0] == 0) return;  // the first was not either
    // All but the first begin with a page, so that each fits into a pipe.
    const std::uint64_t before = reinterpret_cast<std::uintptr_t>(data) % 4096;
    for (std::size_t i = first; i < end; ++i) {
        const std::uint64_t from = i == 0 ? 0 : i * piece_lent - before;
        if (from >= bytes) return;
        const std::span piece(data + from, std::min((i + 1) * piece_lent - before, bytes) - from);
        const FarCache::Way way = i == 0 ? peer.pages.next() : FarCache::Way::usual;
        if (way == FarCache::Way::other) return;
        const auto begin = way == FarCache::Way::timed ? Clock::now() : Clock::time_point();
        lent.pieces[i] = f.lend(peer.qp.get(), piece.data(), piece.size());
        if (way == FarCache::Way::timed && lent.pieces[i] != 0)
            peer.pages.took(piece.size() / 4096, Clock::now() - begin);
    }
}

void VerbsTransport::lend(Peer& peer, Message& message, std::uint64_t bytes, TransferId receive) {
    const TransferId loan = new_loan(message);
    tell_of_pieces(peer, loan, bytes, 0, 1);
    send_control(
        peer, Kind::lent, message.tag,
        Loan{reinterpret_cast<std::uint64_t>(message.data), bytes, sources_[&message]->mr->rkey, 0, loan, receive});
    if (!peer.lost) tell_of_pieces(peer, loan, bytes, 1, most_pieces_lent);
}

// Where ranks take turns on a core, a sender that waits for `ready` gives its turn away for a word; where they have a
// core each, the word takes as long as a message of some KiB. So the sender says at once where the data is, and
// whichever of the two comes second copies it.
bool VerbsTransport::lends_in_advance(const Peer& peer, const Message& message) const {
    return device_.adapter.soft && !peer.far && (waiting_ == Waiting::yield || message.bytes <= most_in_advance) &&
           (peer.sends.empty() || peer.sends.find(message.tag) == nullptr);
}

// A bit for messages from the same place and of the same length: what a receiver wanted of the last it will want of the
// next.
std::uint64_t VerbsTransport::kind_of_advance(const Message& message) {
    const std::uint64_t hash =
        (reinterpret_cast<std::uintptr_t>(message.data) ^ message.bytes << 20) * 0x9e3779b97f4a7c15;
    return std::uint64_t{1} << (hash >> 58);
}

// A small message has no pages worth handing over.
void VerbsTransport::lend_in_advance(Peer& peer, Message& message) {
    const Loan loan = make_advance(peer, message);
    const bool will_be_read = message.bytes > peer.eager_limit && (peer.unread & kind_of_advance(message)) == 0;
    if (will_be_read) tell_of_pieces(peer, loan.loan, message.bytes, 0, 1);
    send_control(peer, Kind::advance, message.tag, loan);
    if (will_be_read && !peer.lost) tell_of_pieces(peer, loan.loan, message.bytes, 1, most_pieces_lent);
}

Loan VerbsTransport::make_advance(Peer& peer, Message& message) {
    Loan loan{reinterpret_cast<std::uint64_t>(message.data), message.bytes, 0, 0, {}, no_transfer};
    if (message.bytes != 0) {
        Registration& source = registrations_.acquire({message.data, message.bytes}, false);
        sources_[&message] = &source;
        loan.key = source.mr->rkey;
        loan.shared = source.shared ? 1u : 0u;
    }
    peer.writing.push(message);
    message.pieces = 1;
    loan.loan = new_loan(message);
    lent_[slot_of(loan.loan)].in_advance = true;
    // Those of small messages have no number: no `ready` is for them, and one that waited for room goes ahead of large
    // ones that were numbered before.
    lent_[slot_of(loan.loan)].number = message.bytes > peer.eager_limit ? ++peer.advances_sent : 0;
    return loan;
}

// A receiver said `ready` before it saw the advance of its message: what is lent will do.
bool VerbsTransport::claims_advance(const Peer& peer, Tag tag, const Ready& ready) {
    for (Message* at = peer.writing.front(); at != nullptr; at = at->next) {
        if (at->tag != tag || at->bytes <= peer.eager_limit) continue;  // no receiver says `ready` to a small one
        for (Lent& lent : lent_)
            if (lent.message == at && lent.in_advance && lent.claimed_by == no_transfer && lent.number > ready.seen) {
                lent.claimed_by = ready.receive;
                return true;
            }
    }
    return false;
}

// The receiver's memory is reached with plain stores and ours is not.
void VerbsTransport::write_rather(Peer& peer, TransferId loan, const Ready& ready) {
    Message* const message = end_advance(peer, loan);
    if (message == nullptr) return;
    if (ready.bytes != message->bytes) return lose(peer, "it sent an advance to another receive");
    peer.unread |= kind_of_advance(*message);
    message->pieces = 0;
    write_data(peer, *message, 0, {ready.address, static_cast<std::uint32_t>(ready.key), ready.shared != 0});
    send_control(peer, Kind::written, message->tag, Reference{ready.receive});
    if (!peer.lost) take_completions();
}

// Starts the writes of a message's data. Calls nobody back.
void VerbsTransport::write_data(Peer& peer, Message& message, std::uint64_t from, const Place& to) {
    const Registration& source = *sources_[&message];
    for (std::uint64_t done = from; done < message.bytes; done += most_written_at_once) {
        const std::uint64_t now = std::min(most_written_at_once, message.bytes - done);
        ibv_sge part = piece(message.data + done, now, source.mr->lkey);
        ++message.pieces;
        ibv_send_wr request =
            write_of({&part, 1}, {to.address + done, to.key, to.shared}, IBV_SEND_SIGNALED | advice_for(message),
                     reinterpret_cast<std::uint64_t>(&message));
        if (to.shared)
            post_stores(peer, request);
        else
            post(peer, request);
    }
}

// Whether a message whose writes have just been started is finished: inside a host it is. Others may be called back.
bool VerbsTransport::is_over(Message& message) {
    void (*const finished)(Message&) = message.finished;
    message.finished = [](Message&) {};
    take_completions();
    message.finished = finished;
    return message.outcome != Message::Outcome::pending;
}

RemoteMemory VerbsTransport::expose(std::span<std::byte> memory) {
    if (memory.empty()) return {};
    Registration& registration = registrations_.acquire_exactly(memory, true);
    exposed_[registration.mr->rkey] = &registration;
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), registration.mr->rkey};
}

void VerbsTransport::unexpose(const RemoteMemory& memory) {
    const auto found = exposed_.find(memory.key);
    if (found == exposed_.end()) return;
    registrations_.release(*found->second);
    exposed_.erase(found);
}

bool VerbsTransport::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                         Message& message) {
    if (offset > where.bytes || data.size() > where.bytes - offset)
        throw UsageError("put: " + std::to_string(data.size()) + " bytes at " + std::to_string(offset) +
                         " do not fit into " + std::to_string(where.bytes));
    message.peer = to;
    message.data = const_cast<std::byte*>(data.data());
    message.bytes = data.size();
    message.outcome = Message::Outcome::done;
    if (data.empty()) return true;
    if (to == me_) {
        std::memmove(reinterpret_cast<void*>(where.address + offset), data.data(), data.size());
        return true;
    }
    Peer& peer = peers_[to.value];
    if (peer.lost) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    message.pieces = 0;
    ++large_sends_;
    sources_[&message] = &registrations_.acquire(data, false);
    peer.writing.push(message);
    write_data(peer, message, 0, {where.address + offset, static_cast<std::uint32_t>(where.key), false});
    return is_over(message);
}

bool VerbsTransport::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                std::span<const std::byte> data, std::uint32_t value, Message& message) {
    const bool done = put(to, where, offset, data, message);
    if (to == me_)
        notifications_.push_back({me_, value});
    else if (!peers_[to.value].lost)
        send_control(peers_[to.value], Kind::notify, Tag{value}, std::span<const std::byte>());
    return done;
}

bool VerbsTransport::send_to_self(Tag tag, std::span<const std::byte> data, Message& message) {
    message.outcome = Message::Outcome::done;
    if (Message* const receive = self_receives_.take(tag)) {
        const bool fits = receive->bytes == data.size();
        if (fits && !data.empty()) std::memcpy(receive->data, data.data(), data.size());
        if (!fits) message.outcome = Message::Outcome::mismatched;
        finish(*receive, message.outcome);
        return true;
    }
    message.outcome = Message::Outcome::pending;
    self_sends_.push(message);
    return false;
}

}  // namespace loom::transport
