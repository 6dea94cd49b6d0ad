// What others wrote into our memory, and what has become of what we wrote into theirs.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "loom/base/error.hpp"
#include "transport/verbs/requests.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t most_read_at_once = 1u << 30;
constexpr std::uint32_t frames_at_once = 64;  // of one peer, before others have their turn

}  // namespace

bool VerbsTransport::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    message.peer = from;
    message.tag = tag;
    message.data = into.data();
    message.bytes = into.size();
    if (from == me_) return receive_from_self(tag, into, message);
    Peer& peer = peers_[from.value];
    for (auto at = peer.unexpected.begin(); at != peer.unexpected.end(); ++at)
        if (at->tag == tag) {
            if (at->loan) return receive_advance(peer, at, message);
            const bool fits = at->bytes.size() == into.size();
            if (fits && !into.empty()) std::memcpy(into.data(), at->bytes.data(), into.size());
            keep_no_longer(peer, at);
            message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
            return true;
        }
    if (peer.lost) [[unlikely]] {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    message.transfer = no_transfer;
    if (into.size() > peer.eager_limit) return receive_large(peer, message);
    peer.receives.push(message);
    return false;
}

TransferId VerbsTransport::expect(Message& message) {
    if (free_expected_.empty()) {
        free_expected_.push_back(static_cast<std::uint32_t>(expected_.size()));
        expected_.emplace_back();
    }
    Registration& target = registrations_.acquire({message.data, message.bytes}, true);
    const std::uint32_t slot = free_expected_.back();
    free_expected_.pop_back();
    Expected& expected = expected_[slot];
    expected.message = &message;
    expected.registration = &target;
    ++expected.generation;
    expected.parts = 1;
    expected.reads = 0;
    expected.lent = false;
    ++large_receives_;
    message.transfer = id_of(slot, expected.generation);
    return message.transfer;
}

// Says where the message may be written. It stays in the list of receives, so that a wrong length is noticed.
bool VerbsTransport::receive_large(Peer& peer, Message& message) {
    const TransferId receive = expect(message);
    const Registration& target = *expected_[slot_of(receive)].registration;
    peer.receives.push(message);
    send_control(peer, Kind::ready, message.tag,
                 Ready{reinterpret_cast<std::uint64_t>(message.data), message.bytes, target.mr->rkey, receive,
                       large_receives_, target.shared ? 1u : 0u, peer.advances_seen});
    return false;
}

// The message has been lent to us already.
bool VerbsTransport::receive_advance(Peer& peer, std::deque<Unexpected>::iterator early, Message& message) {
    const Loan loan = *early->loan;
    const bool fits = loan.bytes == message.bytes;
    if (fits && loan.bytes != 0) (void)expect(message);  // may throw
    peer.unexpected.erase(early);
    if (!fits || loan.bytes == 0) {
        send_control(peer, fits ? Kind::taken : Kind::unwanted, Tag{}, Reference{loan.loan});
        message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    peer.receives.push(message);
    meet(peer, loan, message);
    return !peer.lost && is_over(message);
}

void VerbsTransport::take_advance(Peer& peer, Tag tag, const Loan& loan) {
    if (loan.bytes > peer.eager_limit) ++peer.advances_seen;
    Message* const message = peer.receives.find(tag);
    if (message == nullptr) {
        peer.unexpected.push_back({tag, {}, loan});
        return;
    }
    if (message->bytes != loan.bytes) {
        peer.receives.remove(*message);
        const TransferId expected = message->transfer;
        if (expected != no_transfer) forget_expected(*message);
        send_control(peer, Kind::unwanted, Tag{}, Reference{loan.loan});
        // To an advance of a large message its `ready` belonged.
        if (expected != no_transfer && loan.bytes <= peer.eager_limit)
            send_control(peer, Kind::withdrawn, tag, Reference{expected});
        return finish(*message, Message::Outcome::mismatched);
    }
    if (loan.bytes == 0) {
        peer.receives.remove(*message);
        send_control(peer, Kind::taken, Tag{}, Reference{loan.loan});
        return finish(*message, Message::Outcome::done);
    }
    if (message->transfer == no_transfer) (void)expect(*message);
    meet(peer, loan, *message);
    take_completions();
}

// An advance and its receive, which is among the receives: starts to read, or asks the sender to write.
void VerbsTransport::meet(Peer& peer, const Loan& loan, Message& message) {
    Expected& expected = expected_[slot_of(message.transfer)];
    if (expected.registration->shared && loan.shared == 0) {
        // What comes next with its tag is for the next receive.
        peer.receives.remove(message);
        peer.reading.push(message);
        expected.lent = true;
        return send_control(peer, Kind::rather, Tag{loan.loan.value},
                            Ready{reinterpret_cast<std::uint64_t>(message.data), message.bytes,
                                  expected.registration->mr->rkey, message.transfer, large_receives_, 1, 0});
    }
    read(peer, slot_of(message.transfer), loan);
}

void VerbsTransport::forget_expected(const Message& message) {
    const std::uint32_t slot = slot_of(message.transfer);
    registrations_.release(*expected_[slot].registration);
    expected_[slot].message = nullptr;
    free_expected_.push_back(slot);
    --large_receives_;
}

// A part of a large receive is there.
void VerbsTransport::take_part(std::uint64_t slot) {
    Expected& expected = expected_[slot];
    if (--expected.parts != 0) return;
    Message& message = *expected.message;
    Peer& peer = peers_[message.peer.value];
    (expected.lent ? peer.reading : peer.receives).remove(message);
    forget_expected(message);
    finish(message, Message::Outcome::done);
}

// The sender lets us read the message, or its first bytes, ourselves.
void VerbsTransport::take_loan(Peer& peer, const Loan& loan) {
    const std::uint32_t slot = slot_of(loan.receive);
    if (slot >= expected_.size()) return lose(peer, "it sent a loan to no receive");
    Expected& expected = expected_[slot];
    if (expected.message == nullptr || id_of(slot, expected.generation) != loan.receive)  // of one that was given up
        return send_control(peer, Kind::taken, Tag{}, Reference{loan.loan});
    if (expected.message->peer != peer.rank || expected.lent || loan.bytes == 0 || loan.bytes > expected.message->bytes)
        return lose(peer, "it sent a loan to another receive");
    read(peer, slot, loan);
    take_completions();
}

void VerbsTransport::read(Peer& peer, std::uint64_t slot, const Loan& loan) {
    Expected& expected = expected_[slot];
    // What comes next with its tag is for the next receive, also while this one is read.
    peer.receives.remove(*expected.message);
    peer.reading.push(*expected.message);
    expected.lent = true;
    expected.parts = loan.bytes == expected.message->bytes ? 1 : 2;
    expected.loan = loan.loan;
    expected.reads = static_cast<std::uint32_t>((loan.bytes + most_read_at_once - 1) / most_read_at_once);
    std::byte* const to = expected.message->data;
    const std::uint32_t key = expected.registration->mr->lkey;
    for (std::uint64_t done = 0; done < loan.bytes && !peer.lost; done += most_read_at_once) {
        const std::uint64_t now = std::min(most_read_at_once, loan.bytes - done);
        ibv_sge part{reinterpret_cast<std::uint64_t>(to + done), static_cast<std::uint32_t>(now), key};
        ibv_send_wr request{};
        request.wr_id = read_id(slot);
        request.sg_list = &part;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_READ;
        request.send_flags = IBV_SEND_SIGNALED | advice_for(*expected.message);
        request.wr.rdma.remote_addr = loan.address + done;
        request.wr.rdma.rkey = static_cast<std::uint32_t>(loan.key);
        post(peer, request);
    }
}

// The message of a loan that is no longer one; null when there is none, and the peer is lost.
Message* VerbsTransport::end_loan(Peer& peer, TransferId transfer) {
    const std::uint32_t slot = slot_of(transfer);
    if (slot >= lent_.size() || lent_[slot].message == nullptr || id_of(slot, lent_[slot].generation) != transfer ||
        lent_[slot].message->peer != peer.rank) {
        lose(peer, "it sent an answer to no loan");
        return nullptr;
    }
    Message* const message = lent_[slot].message;
    forget_loan(peer, slot);
    return message;
}

void VerbsTransport::forget_loan(Peer& peer, std::uint32_t slot) {
    Lent& lent = lent_[slot];
    for (std::uint32_t& piece : lent.pieces)
        if (piece != 0) device_.adapter.functions.take_back(peer.qp.get(), std::exchange(piece, 0));
    lent.message = nullptr;
    free_lent_.push_back(slot);
}

Message* VerbsTransport::end_advance(Peer& peer, TransferId transfer) {
    const std::uint32_t slot = slot_of(transfer);
    if (slot < lent_.size() && !lent_[slot].in_advance) {
        lose(peer, "it sent an answer to no advance");
        return nullptr;
    }
    return end_loan(peer, transfer);
}

// The receiver has read what it was lent.
void VerbsTransport::take_back(Peer& peer, TransferId transfer) {
    Message* const message = end_loan(peer, transfer);
    if (message == nullptr) return;
    peer.unread &= ~kind_of_advance(*message);
    part_done(*message);
}

void VerbsTransport::take_unwanted(Peer& peer, TransferId transfer) {
    if (Message* const message = end_advance(peer, transfer)) end_send(*message, Message::Outcome::mismatched);
}

// One of the ways on which a message's data leaves us has come to its end.
void VerbsTransport::part_done(Message& message) {
    if (--message.pieces == 0) end_send(message, Message::Outcome::done);
}

void VerbsTransport::end_send(Message& message, Message::Outcome outcome) {
    peers_[message.peer.value].writing.remove(message);
    if (const auto source = sources_.find(&message); source != sources_.end()) {  // else it had no bytes
        registrations_.release(*source->second);
        sources_.erase(source);
    }
    --large_sends_;
    finish(message, outcome);
}

void VerbsTransport::take_answer(Peer& peer, TransferId transfer, Message::Outcome outcome) {
    if (transfer == no_transfer) return;
    const std::uint32_t slot = slot_of(transfer);
    if (slot >= expected_.size()) return lose(peer, "it sent an answer to no receive");
    Expected& expected = expected_[slot];
    Message* const message = expected.message;
    if (message == nullptr || id_of(slot, expected.generation) != transfer) return;  // of one that was given up
    if (message->peer != peer.rank) return lose(peer, "it sent an answer to another's receive");
    // While we read it nothing else can be said about it, unless only a part of it was lent.
    if (expected.reads != 0 && (outcome != Message::Outcome::done || expected.parts == 1))
        return lose(peer, "it sent an answer to a receive that has its message");
    if (outcome == Message::Outcome::done) return take_part(slot);
    (expected.lent ? peer.reading : peer.receives).remove(*message);
    forget_expected(*message);
    finish(*message, outcome);
}

void VerbsTransport::take_eager(Peer& peer, Tag tag, const std::byte* payload, std::uint64_t bytes) {
    if (bytes > peer.eager_limit) [[unlikely]]
        return lose(peer, "it sent a small message that is large");
    Message* const message = peer.receives.take(tag);
    const std::uint64_t lines = frame_lines(bytes);
    if (message == nullptr) {
        keep(peer, tag, {payload, bytes});
        return consume(peer, lines);
    }
    if (message->bytes != bytes) [[unlikely]] {
        consume(peer, lines);
        if (message->transfer != no_transfer) {
            forget_expected(*message);
            send_control(peer, Kind::withdrawn, tag, Reference{message->transfer});
        }
        return finish(*message, Message::Outcome::mismatched);
    }
    if (bytes == 8)
        std::memcpy(message->data, payload, 8);
    else if (bytes != 0)
        std::memcpy(message->data, payload, bytes);
    consume(peer, lines);
    finish(*message, Message::Outcome::done);
}

// What an early message costs beside its data.
constexpr std::uint64_t early_overhead = sizeof(Unexpected) + 32;

// A message that nobody has asked for yet. A peer that runs ahead could fill our memory with them: beyond a bound it
// keeps its data, says where it is, and we read it when its receive comes.
void VerbsTransport::keep(Peer& peer, Tag tag, std::span<const std::byte> data) {
    peer.unexpected.push_back({tag, {data.begin(), data.end()}, {}});
    peer.kept += data.size() + early_overhead;
    if (peer.kept > peer.most_kept && !peer.told_full) tell_full(peer, true);
}

void VerbsTransport::keep_no_longer(Peer& peer, std::deque<Unexpected>::iterator early) {
    peer.kept -= early->bytes.size() + early_overhead;
    peer.unexpected.erase(early);
    if (peer.told_full && peer.kept <= peer.most_kept / 2) tell_full(peer, false);
}

void VerbsTransport::tell_full(Peer& peer, bool full) {
    peer.told_full = full;
    const std::uint64_t flag = full ? 1 : 0;
    ibv_sge word{reinterpret_cast<std::uint64_t>(&flag), 8, 0};
    post_write(peer, {&word, 1}, peer.inbox_address + offsetof(Inbox, is_full), peer.key, IBV_SEND_INLINE,
               request_id(peer.rank, RequestKind::frame));
}

void VerbsTransport::take_ready(Peer& peer, Tag tag, const Ready& ready) {
    if (claims_advance(peer, tag, ready)) return;
    Message* const message = peer.sends.take(tag);
    if (message == nullptr) {
        peer.readies.push_back({tag, ready});
        return;
    }
    const bool over = write_large(peer, *message, ready);
    if (!peer.sends.empty()) send_held(peer, tag);
    if (over) finish(*message, message->outcome);
}

// A receive that said `ready` got a message of another length instead: its word was for none of ours. Where an advance
// was counted against it, the next such word is that one's.
void VerbsTransport::take_withdrawn(Peer& peer, Tag tag, TransferId transfer) {
    if (std::erase_if(peer.readies, [&](const ReadyAt& known) { return known.ready.receive == transfer; }) != 0) return;
    for (Lent& lent : lent_) {
        if (lent.message == nullptr || lent.message->peer != peer.rank || lent.message->tag != tag ||
            !lent.in_advance || lent.claimed_by != transfer)
            continue;
        const auto next = std::find_if(peer.readies.begin(), peer.readies.end(), [&](const ReadyAt& known) {
            return known.tag == tag && lent.number > known.ready.seen;
        });
        lent.claimed_by = next == peer.readies.end() ? no_transfer : next->ready.receive;
        if (next != peer.readies.end()) peer.readies.erase(next);
        return;
    }
}

// A sender waits for a receiver who expects so little that it never says `ready`.
void VerbsTransport::take_offer(Peer& peer, Tag tag, std::uint64_t bytes) {
    for (Message* at = peer.receives.front(); at != nullptr; at = at->next)
        if (at->tag == tag) {
            if (at->transfer != no_transfer || at->bytes == bytes) return;
            peer.receives.remove(*at);
            send_control(peer, Kind::ready, tag, Ready{0, 0, 0, no_transfer, 0, 0, peer.advances_seen});
            return finish(*at, Message::Outcome::mismatched);
        }
}

void VerbsTransport::watch(const Peer& peer) {
    const std::byte* const next = peer.ring + peer.head % peer.ring_lines * line;
    watches_[peer.rank.value] = {reinterpret_cast<const std::uint64_t*>(next), peer.in.now()};
}

void VerbsTransport::consume(Peer& peer, std::uint64_t lines) {
    peer.head += lines;
    peer.in.next();
    watch(peer);
    // To tell another host costs a packet and its answer. Not later than at half: the largest frame, and what has to be
    // skipped for it, are a line more than that.
    if (peer.head - peer.reported < peer.ring_lines / (peer.far ? 2 : 4)) return;
    peer.reported = peer.head;
    ibv_sge word{reinterpret_cast<std::uint64_t>(&peer.head), 8, 0};
    post_write(peer, {&word, 1}, peer.inbox_address, peer.key, IBV_SEND_INLINE,
               request_id(peer.rank, RequestKind::frame));
}

bool VerbsTransport::take_frames(Peer& peer) {
    std::uint32_t taken = 0;
    while (taken < frames_at_once && !peer.lost) {
        const std::uint64_t at = peer.head % peer.ring_lines * line;
        const std::byte* const frame = peer.ring + at;
        const std::uint64_t mark = peer.in.now();
        const std::uint64_t what =
            __atomic_load_n(reinterpret_cast<const std::uint64_t*>(frame), __ATOMIC_ACQUIRE) ^ mark;
        if (what >> 32 != 0) break;
        const std::uint64_t bytes = what & most_payload;
        if (at + frame_bytes(bytes) > peer.ring_bytes) break;
        const std::byte* const end = frame + header_bytes + round_up(bytes, 8);
        if (__atomic_load_n(reinterpret_cast<const std::uint64_t*>(end), __ATOMIC_ACQUIRE) != mark) break;
        ++taken;
        Tag tag;
        std::memcpy(&tag.value, frame + 8, 8);
        const std::byte* const payload = frame + header_bytes;
        const auto kind = static_cast<Kind>(what >> 28);
        if (kind == Kind::eager) [[likely]] {
            take_eager(peer, tag, payload, bytes);
            continue;
        }
        // Handling one may write frames of our own, but never looks at this ring: what is needed is copied out first.
        alignas(8) std::array<std::byte, std::max(sizeof(Ready), sizeof(Loan))> copy{};
        std::memcpy(copy.data(), payload, std::min<std::uint64_t>(bytes, copy.size()));
        const auto as = [&copy]<class T>(T value) {
            std::memcpy(&value, copy.data(), sizeof value);
            return value;
        };
        if (kind == Kind::skip) {
            consume(peer, peer.ring_lines - at / line);
            continue;
        }
        consume(peer, frame_lines(bytes));
        if (kind == Kind::ready && bytes == sizeof(Ready))
            take_ready(peer, tag, as(Ready{}));
        else if (kind == Kind::written && bytes == sizeof(Reference))
            take_answer(peer, as(Reference{}).transfer, Message::Outcome::done);
        else if (kind == Kind::lent && bytes == sizeof(Loan))
            take_loan(peer, as(Loan{}));
        else if (kind == Kind::advance && bytes == sizeof(Loan))
            take_advance(peer, tag, as(Loan{}));
        else if (kind == Kind::rather && bytes == sizeof(Ready))
            write_rather(peer, TransferId{tag.value}, as(Ready{}));
        else if (kind == Kind::unwanted && bytes == sizeof(Reference))
            take_unwanted(peer, as(Reference{}).transfer);
        else if (kind == Kind::taken && bytes == sizeof(Reference))
            take_back(peer, as(Reference{}).transfer);
        else if (kind == Kind::refused && bytes == sizeof(Reference))
            take_answer(peer, as(Reference{}).transfer, Message::Outcome::mismatched);
        else if (kind == Kind::withdrawn && bytes == sizeof(Reference))
            take_withdrawn(peer, tag, as(Reference{}).transfer);
        else if (kind == Kind::offer && bytes == sizeof(Offer))
            take_offer(peer, tag, as(Offer{}).bytes);
        else if (kind == Kind::notify && bytes == 0)
            notifications_.push_back({peer.rank, static_cast<std::uint32_t>(tag.value)});
        else
            lose(peer, "it sent a frame of no known kind");
    }
    return taken != 0;
}

bool VerbsTransport::progress() {
    bool any = false;
    for (std::size_t i = 0; i < watches_.size(); ++i) {
        const Watch& next = watches_[i];
        if (next.word != nullptr && (__atomic_load_n(next.word, __ATOMIC_RELAXED) ^ next.mark) >> 32 == 0)
            any |= take_frames(peers_[i]);
    }
    if (waiting_frames_ != 0)
        for (Peer& peer : peers_) send_waiting(peer);
    // Polling also drives the software HCA's packets, between hosts the only way anything arrives.
    const bool now_and_then = (++looks_ & 31) == 0;
    if (outstanding_ != 0 || !ended_.empty() || any_far_ || now_and_then) any |= take_completions();
    if (datagrams_ != nullptr) any |= datagrams_->progress();
    if (events_)
        any |= take_wakes();
    else if (now_and_then)
        drain_wakes();  // of peers who did not know yet that nobody sleeps here
    // Also when something came: a loss must be found while others go on sending. A rank that sleeps or yields between
    // its looks has few of them.
    if (now_and_then || events_ || waiting_ == Waiting::yield) rest();
    return any;
}

// What has ended since the last look. It is only noted: whoever makes room for a request is in the midst of something,
// and a callback would find that half done.
bool VerbsTransport::note_completions() {
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

void VerbsTransport::note(const ibv_wc& completion) {
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

bool VerbsTransport::take_completions() {
    const bool any = note_completions() || !ended_.empty();
    while (!ended_.empty()) {
        const ibv_wc completion = ended_.front();
        ended_.pop_front();
        take_completion(completion);
    }
    return any;
}

void VerbsTransport::take_completion(const ibv_wc& completion) {
    Peer& peer = *by_qp_.find(completion.qp_num)->second;
    if (peer.lost) return;  // its messages were given up
    if (completion.status != IBV_WC_SUCCESS) {
        // A rank that heard of a loss before us may have ended what we were about to read: the one that was lost first
        // is the one to name.
        ask_launcher();
        return lose(peer, std::string("it can no longer be reached: ") +
                              device_.adapter.functions.wc_status_str(completion.status));
    }
    switch (kind_of(completion.wr_id)) {
        case RequestKind::probe:
            peer.probing = false;
            break;
        case RequestKind::frame:
            break;
        case RequestKind::read: {
            Expected& expected = expected_[completion.wr_id >> 3];
            if (--expected.reads != 0) break;
            send_control(peer, Kind::taken, Tag{}, Reference{expected.loan});
            if (!peer.lost) take_part(completion.wr_id >> 3);
            break;
        }
        case RequestKind::message:
            part_done(*reinterpret_cast<Message*>(completion.wr_id));
    }
}

bool VerbsTransport::receive_from_self(Tag tag, std::span<std::byte> into, Message& message) {
    message.outcome = Message::Outcome::done;
    if (Message* const send = self_sends_.take(tag)) {
        const bool fits = send->bytes == into.size();
        if (fits && !into.empty()) std::memcpy(into.data(), send->data, into.size());
        if (!fits) message.outcome = Message::Outcome::mismatched;
        finish(*send, message.outcome);
        return true;
    }
    message.outcome = Message::Outcome::pending;
    self_receives_.push(message);
    return false;
}

std::optional<Notification> VerbsTransport::next_notification() {
    if (notifications_.empty()) return {};
    const Notification next = notifications_.front();
    notifications_.pop_front();
    return next;
}

}  // namespace loom::transport
