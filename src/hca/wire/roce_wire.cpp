#include "hca/wire/roce_wire.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "hca/engine.hpp"
#include "hca/objects/pieces.hpp"
#include "hca/roce/gid.hpp"
#include "hca/service/clock.hpp"
#include "loom/base/error.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t batch = 128;                  // packets handed to the kernel at once
constexpr std::size_t most_held = 64;                 // datagrams for a process that is not connected yet
constexpr std::uint64_t full_wait_ns = 50'000;        // until somebody who polls looks again for room in the socket
constexpr std::uint64_t longest_full_ns = 5'000'000;  // the same for who sleeps and is told
constexpr unsigned most_looks = 32;
constexpr std::uint64_t glance_ns = 1000;                 // between two looks into sockets that were empty
constexpr std::size_t receive_budget = 256;               // packets taken in before others have their turn
constexpr std::uint32_t asks_least = 16, asks_most = 64;  // packets of a long message between two that ask
constexpr std::int32_t most_unasked = 128;                // packets
constexpr std::uint64_t longest_unasked_ns = RoceFlow::first_probe_ns / 2;

roce::Destination destination(const Path& path) {
    roce::Destination to;
    to.address.ip = path.multicast ? roce::multicast_ip(path.dgid, roce::family(path.sgid)) : path.dgid;
    to.address.port = config().roce_port;
    to.traffic_class = path.traffic_class;
    to.hop_limit = path.hop_limit;
    return to;
}

// The pieces of [offset, offset + length) of a gather list; returns how many.
std::uint32_t pieces_of(std::span<const ibv_sge> gather, std::uint32_t offset, std::uint32_t length, iovec* out) {
    std::uint32_t count = 0;
    each_part(gather, offset, length, [&](std::uint8_t* from, std::uint32_t bytes) { out[count++] = {from, bytes}; });
    return count;
}

// How a datagram for another process travels to it, before its bytes.
struct Forwarded {
    char word = 'f';
    std::uint8_t traffic_class = 0;
    std::uint16_t each = 0;
    roce::Address source;
    Gid destination{};
};

}  // namespace

bool RoceWire::is_local(const Gid& gid) {
    if (!config().shared_memory) return false;
    static roce::LocalAddresses addresses;  // under the engine's mutex
    return addresses.contains(gid);
}

RoceWire::Place* RoceWire::place(const HcaConfig& hca) {
    for (const auto& place : endpoints_)
        if (place->hca == &hca) return place.get();
    return nullptr;
}

bool RoceWire::has(const HcaConfig& hca) const {
    return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const auto& place) { return place->hca == &hca; });
}

bool RoceWire::open(const HcaConfig& hca) {
    if (place(hca) != nullptr) return true;
    if (hca.link != LinkLayer::ethernet || hca.gids.empty()) return false;
    roce::Address address;
    address.ip = hca.gids.front().gid;
    address.port = config().roce_port;
    roce::EndpointOptions options;
    options.offload = config().gso ? roce::Offload::on : roce::Offload::off;
    options.slot = engine_.home.slot;
    try {
        endpoints_.push_back(std::make_unique<Place>(Place{&hca, roce::Endpoint(address, options), {}}));
    } catch (const Error& refused) {
        refusal_ = refused.what();
        return false;
    }
    Place& made = *endpoints_.back();
    made.descriptors.push_back(made.endpoint.fd());
    engine_.service.watch(made.endpoint.fd(), Watched::packets, hca.index);
    return true;
}

void RoceWire::tell_refusal() {
    if (!told_ && !refusal_.empty()) std::fprintf(stderr, "loom-verbs: %s\n", refusal_.c_str());
    told_ = true;
}

bool RoceWire::join(const HcaConfig& hca, const Gid& group) {
    if (!open(hca)) return false;
    Place& at = *place(hca);
    try {
        const int fd = at.endpoint.join(group);
        if (std::find(at.descriptors.begin(), at.descriptors.end(), fd) == at.descriptors.end()) {
            at.descriptors.push_back(fd);
            engine_.service.watch(fd, Watched::packets, hca.index);
        }
    } catch (const Error&) {
        return false;
    }
    return true;
}

RoceFlow& RoceWire::flow(Qp& qp) {
    if (qp.flow == nullptr) qp.flow = std::make_shared<RoceFlow>();
    return *qp.flow;
}

void RoceWire::stall(Qp& qp, std::uint64_t until, std::uint64_t wakes_at) {
    RoceFlow& f = flow(qp);
    f.ready_at = until;
    f.wakes_at = wakes_at;
    engine_.service.kick_by(wakes_at);
    if (f.stalled) return;
    f.stalled = true;
    stalled_.push_back(&qp);
}

void RoceWire::wait_for_room(Place& at, Qp& qp) {
    const std::uint64_t now = now_ns();
    stall(qp, now + full_wait_ns, now + longest_full_ns);
    if (!std::exchange(at.full, true)) hear(at);
}

void RoceWire::await_room(const Qp& qp, int most_ms) {
    if (Place* at = place(*qp.context->hca); at != nullptr) at->endpoint.await_room(most_ms);
}

void RoceWire::hear(const Place& at) {
    engine_.service.hear_packets(at.endpoint.fd(), at.hca->index, listening_, at.full);
}

void RoceWire::has_room(std::uint32_t hca) {
    for (const auto& at : endpoints_) {
        if (at->hca->index != hca || !at->full) continue;
        at->full = false;
        hear(*at);
        for (Qp* qp : stalled_)
            if (qp->context->hca == at->hca) qp->flow->ready_at = 0;
    }
}

void RoceWire::forget(Qp& qp) {
    std::erase(stalled_, &qp);
    qp.flow.reset();
}

std::uint32_t RoceWire::allowance(Qp& qp) {
    if (qp.type() != IBV_QPT_RC) return batch;
    RoceFlow& f = flow(qp);
    const std::int32_t in_flight = std::max(0, qp.sent_psn - qp.unacked_psn);
    const auto window = static_cast<std::int32_t>(f.window.packets());
    if (in_flight >= window) return 0;  // an acknowledgement runs it again
    if (f.rate.limited()) {
        const roce::Time now{static_cast<std::int64_t>(now_ns())}, at = f.rate.next(now);
        if (at > now) {
            stall(qp, static_cast<std::uint64_t>(at.count()), static_cast<std::uint64_t>(at.count()));
            return 0;
        }
    }
    return static_cast<std::uint32_t>(window - in_flight);
}

void RoceWire::progressed(Qp& qp, std::uint32_t packets) {
    RoceFlow& f = flow(qp);
    f.window.acknowledged(packets, qp.unacked_psn, now_ns());
    // After Karn: waits are learnt from answers to what was sent once; a slow responder must not be asked twice all the
    // time. What was not asked for comes when it comes.
    if (f.asked && (!f.probed || !qp.unacked_psn.after(f.probed_psn))) {
        const std::uint64_t now = now_ns(), gap = f.moved_at != 0 && now > f.moved_at ? now - f.moved_at : 0;
        f.gap_ns = std::max(f.gap_ns - f.gap_ns / 256, gap);
        f.probe_ns = RoceFlow::first_probe_ns + 3 * f.gap_ns;
    }
    f.probed = false;
    f.deferred = 0;
    if (f.asked && !qp.unacked_psn.before(f.asked_end)) f.asked = false;
}

// An answer of its own costs both hosts a packet, and wakes a thread of each. Where nobody waits for it, it may ride on
// what the other sends next; we ask when too much or the oldest for too long is unanswered, before a timer has to.
bool RoceWire::asks(Qp& qp, const SendWqe& w) {
    RoceFlow& f = flow(qp);
    if (qp.ask_now || qp.state() == IBV_QPS_SQD || qp.sq_used() * 2 > qp.init.cap.max_send_wr) return true;
    const Psn since = f.asked ? f.asked_end : qp.unacked_psn, end = w.first_psn + w.packets;
    const std::int32_t unasked = end - since;
    if (f.asked && unasked <= 0) return true;  // sent again
    if (unasked >= std::min(most_unasked, static_cast<std::int32_t>(f.window.packets() / 2))) return true;
    return !f.asked && qp.retry_at != 0 && now_ns() - f.moved_at >= longest_unasked_ns;
}

void RoceWire::note_asked(Qp& qp, Psn end, std::uint64_t now) {
    RoceFlow& f = flow(qp);
    f.window.sent(end, now);
    if (!f.asked) {
        f.moved_at = now;
        engine_.requester.restart_timer(qp);
    }
    if (!f.asked || end.after(f.asked_end)) f.asked_end = end;
    f.asked = true;
}

void RoceWire::lost(Qp& qp) {
    flow(qp).window.lost(qp.unacked_psn, qp.sent_psn);
}

bool RoceWire::unasked(Qp& qp) {
    return qp.type() == IBV_QPT_RC && !flow(qp).asked && qp.sent_psn.after(qp.unacked_psn);
}

void RoceWire::lost_by_fault(Qp& qp, const Packet& packet) {
    if (qp.type() == IBV_QPT_RC && is_request(packet.op) && packet.ack_request)
        note_asked(qp, packet.psn + 1, now_ns());
}

// Looks earlier than the program's timeout, which only bounds how long it goes on: a lost packet then costs
// milliseconds.
std::uint64_t RoceWire::retry_time(Qp& qp) {
    RoceFlow& f = flow(qp);
    f.moved_at = now_ns();
    f.heard = false;
    return f.moved_at + std::min<std::uint64_t>(4096ull << qp.attr.timeout, f.probe_ns);
}

// Answers that only wait somewhere are no loss. The last packet once more asks what has come: it is acknowledged, or
// refused by number. All of them would lengthen the very queue they wait in. And where data comes the other way, the
// answers may be behind it.
Overdue RoceWire::overdue(Qp& qp, std::uint64_t now) {
    constexpr std::uint32_t few_deferred = 2, most_deferred = 16;  // before and after something was sent again
    if (unasked(qp)) return {Overdue::Verdict::ask};
    RoceFlow& f = flow(qp);
    const std::uint64_t whole = 4096ull << qp.attr.timeout;
    // Both the time is over and it was tried as often as asked for: a process that was not let run has only lost time.
    const bool given_up = qp.retries_left == 0 && now >= f.moved_at + whole * (qp.attr.retry_cnt + 1);
    const bool first = !f.probed, heard = std::exchange(f.heard, false);
    const Psn last = qp.sent_psn - 1;
    // Not when it is the only one, and nothing was heard of the other side, nor when some ask for an answer of their
    // own.
    if (!given_up && first && last - qp.unacked_psn >= (heard ? 0 : 1) && !qp.awaits_data()) {
        f.probed = true;
        f.window.repeated(last);
        f.probed_psn = last;
        return {Overdue::Verdict::probe, now + std::min(whole, f.probe_ns)};
    }
    if (!given_up && heard && f.deferred < (first ? few_deferred : most_deferred)) {
        ++f.deferred;
        return {Overdue::Verdict::wait, now + std::min(whole, f.probe_ns)};
    }
    f.probed = true;
    f.probed_psn = qp.unacked_psn;
    f.probe_ns = std::min(f.probe_ns * 2, whole);
    lost(qp);
    return {given_up ? Overdue::Verdict::give_up : Overdue::Verdict::resend, now + std::min(whole, f.probe_ns)};
}

Wire::Put RoceWire::put(Qp& qp, const Path& path, const Packet& packet, const Load& load) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return Put::sent;
    const auto wait = [&] {
        // An adapter's datagrams wait for the wire as well, but not for a neighbour that is not there.
        if (qp.type() == IBV_QPT_UD && engine_.requester.waited_enough(qp)) return Put::dropped;
        wait_for_room(*at, qp);
        return Put::waits;
    };
    // Others wait for the same room: what goes on must not keep it from them. Answers are short.
    if (at->full && is_request(packet.op)) return wait();
    iovec pieces[max_sges];
    // An acknowledgement that is owed rides along: the two are one run for the kernel.
    roce::Outgoing both[2];
    roce::Outgoing& out = both[0];
    out.packet = packet;
    out.payload = pieces;
    out.payload_bytes = load.length;
    if (load.bytes != nullptr) {
        pieces[0] = {const_cast<std::uint8_t*>(load.bytes) + load.offset, load.length};
        out.pieces = load.length != 0 ? 1 : 0;
    } else {
        out.pieces = pieces_of(load.gather, load.offset, load.length, pieces);
    }
    const bool carries = is_request(packet.op) && load.length >= 4 && engine_.responder.ride(qp, both[1].packet);
    const std::size_t taken = at->endpoint.send(destination(path), {both, carries ? 2u : 1u});
    if (taken == 2) engine_.responder.rode(qp);
    if (taken == 0) return wait();
    if (qp.flow != nullptr && is_request(packet.op)) {
        const std::uint64_t now = now_ns();
        qp.flow->rate.sent(load.length + 60, roce::Time{static_cast<std::int64_t>(now)});
        if (packet.ack_request) note_asked(qp, packet.psn + 1, now);
    }
    return Put::sent;
}

std::uint32_t RoceWire::send_run(Qp& qp, const SendWqe& w, std::span<const ibv_sge> sges) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return w.packets - w.sent;
    const std::uint32_t each = std::clamp(flow(qp).window.packets() / 4, asks_least, asks_most);
    static thread_local std::vector<iovec> pieces;
    static thread_local std::vector<roce::Outgoing> packets;
    const std::uint32_t count = std::min({w.packets - w.sent, allowance(qp), batch});
    if (count == 0) return 0;
    if (at->full) {
        wait_for_room(*at, qp);
        return 0;
    }
    pieces.resize(count * (sges.size() + 1));
    packets.assign(count, {});
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        roce::Outgoing& out = packets[i];
        const std::uint32_t index = w.sent + i, offset = index * qp.mtu, length = std::min(w.length - offset, qp.mtu);
        engine_.requester.make_packet(qp, w, index, out.packet);
        if (index % each == each - 1) out.packet.ack_request = true;
        iovec* const own = &pieces[i * (sges.size() + 1)];
        out.payload = own;
        out.pieces = pieces_of(sges, offset, length, own);
        out.payload_bytes = length;
        total += length + 60;
    }
    // What is sent next goes when this is answered.
    if (w.sent + count < w.packets) packets.back().packet.ack_request = true;
    Packet riding;
    if (engine_.responder.ride(qp, riding)) packets.emplace_back().packet = riding;
    auto taken = static_cast<std::uint32_t>(at->endpoint.send(destination(*qp.path), packets));
    add(counters_of(*qp.context).sent_packets, taken);
    if (taken > count) {
        engine_.responder.rode(qp);
        taken = count;
    }
    const std::uint64_t now = now_ns();
    flow(qp).rate.sent(total * taken / count, roce::Time{static_cast<std::int64_t>(now)});
    for (std::uint32_t i = taken; i > 0; --i)
        if (packets[i - 1].packet.ack_request) {
            note_asked(qp, packets[i - 1].packet.psn + 1, now);
            break;
        }
    if (taken < count) wait_for_room(*at, qp);
    return taken;
}

std::uint32_t RoceWire::send_response(Qp& qp, const Answer& due, const std::uint8_t* memory) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return (due.left + qp.mtu - 1) / qp.mtu;
    if (at->full) {
        wait_for_room(*at, qp);
        return 0;
    }
    iovec pieces[batch];
    static thread_local std::vector<roce::Outgoing> packets;
    packets.clear();
    std::uint32_t left = due.left, done = 0;
    bool first = due.first, last = false;
    for (std::uint32_t i = 0; i < batch && !last; ++i) {
        const std::uint32_t length = std::min(left, qp.mtu);
        last = length == left;
        roce::Outgoing& out = packets.emplace_back();
        out.packet.service = Service::rc;
        out.packet.dest_qpn = qp.partner();
        out.packet.syndrome = syndrome_ack;
        out.packet.msn = due.msn;
        out.packet.psn = due.psn + i;
        out.packet.op = read_response(first, last);
        pieces[i] = {const_cast<std::uint8_t*>(memory) + done, length};
        out.payload = &pieces[i];
        out.pieces = length != 0 ? 1 : 0;
        out.payload_bytes = length;
        first = false;
        left -= length;
        done += length;
    }
    const auto taken = static_cast<std::uint32_t>(at->endpoint.send(destination(*qp.path), packets));
    add(counters_of(*qp.context).sent_packets, taken);
    if (taken < packets.size()) wait_for_room(*at, qp);
    return taken;
}

std::size_t RoceWire::poll(bool may_skip) {
    std::size_t arrived = 0;
    const std::uint64_t look = now_ns();
    const bool just_looked = may_skip && look - found_nothing_at_ < glance_ns;
    for (std::size_t i = 0; i < endpoints_.size() && !just_looked; ++i) {
        receiving_ = endpoints_[i].get();
        arrived += receiving_->endpoint.receive(*this, receive_budget);
        // What was thrown away before anybody saw it: the endpoint's own count, shown as the port's.
        std::uint64_t dropped = 0;
        for (const std::uint64_t count : receiving_->endpoint.counters().dropped) dropped += count;
        engine_.home.directory->counters[receiving_->hca->index].bad_packets.store(dropped, std::memory_order_relaxed);
    }
    receiving_ = nullptr;
    if (arrived != 0)
        engine_.service.note_talk();
    else if (!just_looked)
        found_nothing_at_ = look;
    if (stalled_.empty()) return arrived;
    const std::uint64_t now = now_ns();
    std::vector<Qp*> ready;
    const Place* asked = nullptr;  // and has no room
    std::erase_if(stalled_, [&](Qp* qp) {
        if (qp->flow->ready_at > now) return false;
        Place* const at = place(*qp->context->hca);
        if (at != nullptr && at->full) {
            if (at == asked || !at->endpoint.await_room(0)) {
                asked = at;
                qp->flow->ready_at = now + full_wait_ns;
                qp->flow->wakes_at = now + longest_full_ns;
                return false;
            }
            at->full = false;
            hear(*at);
        }
        qp->flow->stalled = false;
        ready.push_back(qp);
        return true;
    });
    // The first may take all the room: each is the first in its turn.
    if (!ready.empty())
        std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(turn_++ % ready.size()), ready.end());
    for (Qp* qp : ready) {
        if (qp->owes()) engine_.responder.owe(*qp);
        engine_.requester.run(*qp);
    }
    return arrived;
}

void RoceWire::drain() {
    for (unsigned looks = 0; looks < most_looks && poll() != 0; ++looks) {
    }
}

std::uint64_t RoceWire::next_deadline() const {
    std::uint64_t at = 0;
    for (const Qp* qp : stalled_)
        if (const std::uint64_t its = qp->flow->ready_at == 0 ? 1 : qp->flow->wakes_at; at == 0 || its < at) at = its;
    return at;
}

void RoceWire::listen(bool on) {
    listening_ = on;
    for (const auto& place : endpoints_) hear(*place);
}

void RoceWire::close_descriptors() {
    for (const auto& place : endpoints_)
        for (const int fd : place->descriptors) ::close(fd);
}

void RoceWire::arrived(const roce::Arrival& arrival) {
    const Packet& packet = arrival.packet;
    Qp* const qp = packet.dest_qpn != multicast_qpn ? engine_.queue_pairs.find(packet.dest_qpn) : nullptr;
    if (packet.service == Service::cnp) {
        if (qp == nullptr || qp->flow == nullptr) return;
        add(counters_of(*qp->context).cnp_received);
        qp->flow->rate.notified(roce::Time{static_cast<std::int64_t>(now_ns())});
        return;
    }
    if (arrival.ecn() == roce::Ecn::congested && qp != nullptr && qp->type() == IBV_QPT_RC && qp->path != nullptr &&
        qp->path->wire == this && notifications_.due(qp->qpn, roce::Time{static_cast<std::int64_t>(now_ns())})) {
        static constexpr std::uint8_t zeros[roce::notification_bytes] = {};
        add(counters_of(*qp->context).cnp_sent);
        put(*qp, *qp->path, roce::notification(qp->partner()), {{}, 0, sizeof zeros, 0, zeros});
    }
    if (qp != nullptr && qp->flow != nullptr) qp->flow->heard = true;
    const Gid source = arrival.source.ip, destination = arrival.destination;
    engine_.responder.on_packet(
        {packet,
         {reinterpret_cast<const std::uint8_t*>(arrival.payload.data()), arrival.payload.size()},
         nullptr,
         0,
         0,
         0,
         &source,
         &destination,
         arrival.traffic_class});
}

void RoceWire::foreign(std::uint32_t slot, const roce::Datagrams& datagrams) {
    const std::shared_ptr<Peer> peer = engine_.peers.at(slot);
    if (peer == nullptr || peer->state == Peer::State::dead) return;
    Forwarded header;
    header.traffic_class = datagrams.traffic_class;
    header.each = datagrams.each;
    header.source = datagrams.source;
    header.destination = datagrams.destination;
    if (peer->state == Peer::State::connecting) {
        if (peer->held.size() >= most_held) return;
        std::vector<std::uint8_t>& message = peer->held.emplace_back(sizeof header + datagrams.bytes.size());
        std::memcpy(message.data(), &header, sizeof header);
        std::memcpy(message.data() + sizeof header, datagrams.bytes.data(), datagrams.bytes.size());
        return;
    }
    iovec data[2] = {{&header, sizeof header},
                     {const_cast<std::byte*>(datagrams.bytes.data()), datagrams.bytes.size()}};
    msghdr message{};
    message.msg_iov = data;
    message.msg_iovlen = 2;
    sendmsg(peer->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);  // what does not fit is lost, as on a wire
}

bool RoceWire::accept_forwarded(std::span<const std::uint8_t> message) {
    Forwarded header;
    if (message.size() <= sizeof header) return false;
    std::memcpy(&header, message.data(), sizeof header);
    if (header.word != 'f') return false;
    const auto bytes = std::as_bytes(message.subspan(sizeof header));
    for (const auto& place : endpoints_) {
        if (place->endpoint.local().ip != header.destination && !roce::is_multicast(header.destination)) continue;
        place->endpoint.accept({header.source, header.destination, header.traffic_class, header.each, bytes}, *this);
        break;
    }
    return true;
}

}  // namespace loom::hca
