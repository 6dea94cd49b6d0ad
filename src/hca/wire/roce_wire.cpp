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
    const std::int32_t in_flight = std::max(0, psn_distance(qp.sent_psn, qp.unacked_psn));
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
    if (f.asked && (!f.probed || psn_distance(qp.unacked_psn, f.probed_psn) <= 0)) {
        const std::uint64_t now = now_ns(), gap = f.moved_at != 0 && now > f.moved_at ? now - f.moved_at : 0;
        f.gap_ns = std::max(f.gap_ns - f.gap_ns / 256, gap);
        f.probe_ns = RoceFlow::first_probe_ns + 3 * f.gap_ns;
    }
    f.probed = false;
    f.deferred = 0;
    if (f.asked && psn_distance(qp.unacked_psn, f.asked_end) >= 0) f.asked = false;
}

// An answer of its own costs both hosts a packet, and wakes a thread of each. Where nobody waits for it, it may ride on
// what the other sends next; we ask when too much or the oldest for too long is unanswered, before a timer has to.
bool RoceWire::asks(Qp& qp, const SendWqe& w) {
    RoceFlow& f = flow(qp);
    if (f.must_ask || qp.state() == IBV_QPS_SQD || qp.sq_used() * 2 > qp.init.cap.max_send_wr) return true;
    const std::uint32_t since = f.asked ? f.asked_end : qp.unacked_psn, end = (w.first_psn + w.packets) & psn_mask;
    const std::int32_t unasked = psn_distance(end, since);
    if (f.asked && unasked <= 0) return true;  // sent again
    if (unasked >= std::min(most_unasked, static_cast<std::int32_t>(f.window.packets() / 2))) return true;
    return !f.asked && qp.retry_at != 0 && now_ns() - f.moved_at >= longest_unasked_ns;
}

void RoceWire::note_asked(Qp& qp, std::uint32_t end, std::uint64_t now) {
    RoceFlow& f = flow(qp);
    f.window.sent(end, now);
    if (!f.asked) {
        f.moved_at = now;
        if (qp.retry_at != 0) qp.retry_at = engine_.requester.retry_time(qp);
    }
    if (!f.asked || psn_distance(end, f.asked_end) > 0) f.asked_end = end;
    f.asked = true;
}

void RoceWire::lost(Qp& qp) {
    flow(qp).window.lost(qp.unacked_psn, qp.sent_psn);
}

bool RoceWire::send(Qp& qp, const Path& path, const Packet& packet, std::span<const ibv_sge> gather,
                    std::uint32_t offset, std::uint32_t length, const std::uint8_t* bytes) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return true;
    const auto wait = [&] {
        // An adapter's datagrams wait for the wire as well, but not for a neighbour that is not there.
        if (qp.type() == IBV_QPT_UD && engine_.requester.waited_enough(qp)) {
            add(counters_of(*qp.context).dropped);
            return true;
        }
        wait_for_room(*at, qp);
        return false;
    };
    // Others wait for the same room: what goes on must not keep it from them. Answers are short.
    if (at->full && is_request(packet.op)) return wait();
    iovec pieces[max_sges];
    roce::Outgoing out;
    out.packet = packet;
    out.payload = pieces;
    out.payload_bytes = length;
    if (bytes != nullptr) {
        pieces[0] = {const_cast<std::uint8_t*>(bytes) + offset, length};
        out.pieces = length != 0 ? 1 : 0;
    } else {
        out.pieces = pieces_of(gather, offset, length, pieces);
    }
    // An acknowledgement that is owed rides along: the two are one run for the kernel.
    roce::Outgoing both[2] = {out, {}};
    const bool carries =
        is_request(packet.op) && length >= 4 && qp.owed != 0 && qp.answers.empty() && qp.type() == IBV_QPT_RC;
    if (carries) engine_.responder.make_acknowledgement(qp, both[1].packet);
    const std::size_t taken = at->endpoint.send(destination(path), {both, carries ? 2u : 1u});
    if (taken == 2) {
        qp.ack_due = false;
        qp.owed = 0;
    }
    if (taken != 0) {
        if (qp.type() == IBV_QPT_UD) qp.waits_since = 0;
        if (qp.flow != nullptr && is_request(packet.op)) {
            const std::uint64_t now = now_ns();
            qp.flow->rate.sent(length + 60, roce::Time{static_cast<std::int64_t>(now)});
            if (packet.ack_request) note_asked(qp, (packet.psn + 1) & psn_mask, now);
        }
        return true;
    }
    return wait();
}

bool RoceWire::send_run(Qp& qp, SendWqe& w, std::span<const ibv_sge> sges) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return true;
    const roce::Destination to = destination(*qp.path);
    const std::uint32_t each = std::clamp(flow(qp).window.packets() / 4, asks_least, asks_most);
    static thread_local std::vector<iovec> pieces;
    static thread_local std::vector<roce::Outgoing> packets;
    while (w.sent < w.packets) {
        const std::uint32_t count = std::min({w.packets - w.sent, allowance(qp), batch});
        if (count == 0) return false;
        if (at->full) {
            wait_for_room(*at, qp);
            return false;
        }
        pieces.resize(count * (sges.size() + 1));
        packets.assign(count, {});
        std::uint64_t total = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            roce::Outgoing& out = packets[i];
            const std::uint32_t index = w.sent + i, offset = index * qp.mtu,
                                length = std::min(w.length - offset, qp.mtu);
            engine_.requester.make_packet(qp, w, index, out.packet);
            if (index % each == each - 1) out.packet.ack_request = true;
            out.payload = &pieces[i * (sges.size() + 1)];
            out.pieces = pieces_of(sges, offset, length, &pieces[i * (sges.size() + 1)]);
            out.payload_bytes = length;
            total += length + 60;
        }
        // What is sent next goes when this is answered.
        if (w.sent + count < w.packets) packets.back().packet.ack_request = true;
        // An acknowledgement that is owed rides along.
        const bool carries = qp.owed != 0 && qp.answers.empty();
        if (carries) engine_.responder.make_acknowledgement(qp, packets.emplace_back().packet);
        auto taken = static_cast<std::uint32_t>(at->endpoint.send(to, packets));
        add(counters_of(*qp.context).sent_packets, taken);
        if (taken > count) {
            qp.ack_due = false;
            qp.owed = 0;
            taken = count;
        }
        w.sent += taken;
        qp.sent_psn = (w.first_psn + w.sent) & psn_mask;
        const std::uint64_t now = now_ns();
        flow(qp).rate.sent(total * taken / count, roce::Time{static_cast<std::int64_t>(now)});
        for (std::uint32_t i = taken; i > 0; --i)
            if (packets[i - 1].packet.ack_request) {
                note_asked(qp, (packets[i - 1].packet.psn + 1) & psn_mask, now);
                break;
            }
        if (taken < count) {
            wait_for_room(*at, qp);
            return false;
        }
    }
    return true;
}

bool RoceWire::send_response(Qp& qp, Answer& due, const std::uint8_t* memory) {
    Place* at = place(*qp.context->hca);
    if (at == nullptr) return true;
    const roce::Destination to = destination(*qp.path);
    PortCounters& counters = counters_of(*qp.context);
    iovec pieces[batch];
    static thread_local std::vector<roce::Outgoing> packets;
    while (true) {
        if (at->full) {
            wait_for_room(*at, qp);
            return false;
        }
        packets.clear();
        std::uint32_t left = due.left, done = 0;
        bool first = due.first, last = false;
        for (std::uint32_t i = 0; i < batch && !last; ++i) {
            const std::uint32_t length = std::min(left, qp.mtu);
            last = length == left;
            roce::Outgoing out;
            out.packet.service = Service::rc;
            out.packet.dest_qpn = qp.attr.dest_qp_num;
            out.packet.syndrome = syndrome_ack;
            out.packet.msn = due.msn;
            out.packet.psn = (due.psn + i) & psn_mask;
            out.packet.op = first ? (last ? Op::read_response_only : Op::read_response_first)
                                  : (last ? Op::read_response_last : Op::read_response_middle);
            pieces[i] = {const_cast<std::uint8_t*>(memory) + done, length};
            out.payload = &pieces[i];
            out.pieces = length != 0 ? 1 : 0;
            out.payload_bytes = length;
            packets.push_back(out);
            first = false;
            left -= length;
            done += length;
        }
        const auto taken = static_cast<std::uint32_t>(at->endpoint.send(to, packets));
        add(counters.sent_packets, taken);
        const std::uint32_t bytes = std::min(taken * qp.mtu, due.left);
        add(counters.sent_bytes[static_cast<std::size_t>(Way::roce)], bytes);
        if (taken != 0) due.first = false;
        due.psn = (due.psn + taken) & psn_mask;
        due.address += bytes;
        due.left -= bytes;
        memory += bytes;
        if (taken < packets.size()) {
            wait_for_room(*at, qp);
            return false;
        }
        if (last) return true;
    }
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
        qp->path->kind == Path::Kind::roce &&
        notifications_.due(qp->qpn, roce::Time{static_cast<std::int64_t>(now_ns())})) {
        static constexpr std::uint8_t zeros[roce::notification_bytes] = {};
        add(counters_of(*qp->context).cnp_sent);
        send(*qp, *qp->path, roce::notification(qp->attr.dest_qp_num), {}, 0, sizeof zeros, zeros);
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
