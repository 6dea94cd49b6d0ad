#include "hca/wire/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/objects/pieces.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t entry_mask = ring_entries - 1, bulk_mask = bulk_bytes - 1, bulk_unit = 64;

constexpr std::uint64_t whole_units(std::uint64_t bytes) {
    return (bytes + bulk_unit - 1) & ~(bulk_unit - 1);
}

// Where a payload of that size begins when the ring of bytes has got to `position`: it is never split at the end.
constexpr std::uint64_t bulk_start(std::uint64_t position, std::uint64_t size) {
    const std::uint64_t offset = position & bulk_mask;
    return offset + size <= bulk_bytes ? position : position + (bulk_bytes - offset);
}

// Two overlapping words instead of a call.
inline void copy_up_to_16(std::uint8_t* to, const std::uint8_t* from, std::uint32_t length) {
    if (length >= 8) {
        std::uint64_t head, tail;
        std::memcpy(&head, from, 8);
        std::memcpy(&tail, from + length - 8, 8);
        std::memcpy(to, &head, 8);
        std::memcpy(to + length - 8, &tail, 8);
    } else {
        for (std::uint32_t i = 0; i < length; ++i) to[i] = from[i];
    }
}

struct Extension {
    std::uint64_t remote_address;
    std::uint32_t rkey, dma_length;
    std::uint64_t swap_or_add, compare;
};
static_assert(sizeof(Extension) == Entry::extension_size);

constexpr bool needs_extension(Op op) {
    return has_reth(op) || has_atomic(op) || op == Op::atomic_acknowledge || op == Op::send_by_reference;
}

// What stands in an entry itself. Each field is read once: the other may change it meanwhile.
inline Packet packet_of(const Entry& shared, std::uint8_t flags) {
    Packet packet;
    packet.op = static_cast<Op>(shared.op);
    packet.service = static_cast<Service>(shared.service);
    packet.solicited = (flags & Entry::solicited) != 0;
    packet.ack_request = (flags & Entry::ack_request) != 0;
    packet.syndrome = shared.syndrome;
    packet.dest_qpn = QpNumber{shared.dest_qpn};
    packet.src_qpn = QpNumber{shared.src_qpn};
    packet.psn = Psn(shared.psn);
    packet.imm = shared.imm;
    packet.msn = packet.qkey = shared.qkey_or_msn;
    return packet;
}

inline void extend(Packet& packet, const std::uint8_t* copied) {
    Extension extension;
    std::memcpy(&extension, copied, sizeof extension);
    packet.remote_address = extension.remote_address;
    packet.rkey = extension.rkey;
    packet.dma_length = extension.dma_length;
    packet.swap_or_add = extension.swap_or_add;
    packet.compare = extension.compare;
}

}  // namespace

bool Peer::room(std::uint32_t payload) {
    const auto fits = [&] {
        if (tail - taken >= ring_entries) return false;
        const std::uint64_t size = whole_units(payload);
        return bulk_start(bulk_tail, size) + size - bulk_taken <= bulk_bytes;
    };
    if (fits()) return true;
    // What the other says it has taken must lie between what we knew and what we wrote.
    const std::uint64_t seen = in->consumed.load(std::memory_order_acquire);
    const std::uint64_t seen_bulk = in->bulk_consumed.load(std::memory_order_acquire);
    broken = seen - taken > tail - taken || seen_bulk - bulk_taken > bulk_tail - bulk_taken;
    if (broken) return false;
    taken = seen;
    bulk_taken = seen_bulk;
    return fits();
}

bool RingWire::write(Peer& peer, const Packet& packet, const Path& path, const Load& load) {
    const bool datagram = packet.service == Service::ud;
    const std::uint32_t prefix = datagram && path.global ? 32 : 0;
    const std::uint32_t whole = prefix + load.length;
    const bool extended = needs_extension(packet.op);
    const std::size_t small_at = extended ? Entry::extension_size : 0;
    const bool in_bulk = whole > Entry::small_size - small_at;
    if (!peer.room(in_bulk ? whole : 0)) return false;

    Entry& entry = peer.out->entries[peer.tail & entry_mask];
    entry.op = static_cast<std::uint8_t>(packet.op);
    entry.service = static_cast<std::uint8_t>(packet.service);
    entry.flags = static_cast<std::uint8_t>(
        load.flags | (packet.solicited ? Entry::solicited : 0) | (packet.ack_request ? Entry::ack_request : 0) |
        (extended ? Entry::extended : 0) | (in_bulk ? Entry::in_bulk : 0) | (prefix != 0 ? Entry::global : 0));
    entry.syndrome = packet.syndrome;
    entry.dest_qpn = packet.dest_qpn.value;
    entry.src_qpn = packet.src_qpn.value;
    entry.psn = packet.psn.value();
    entry.length = whole;
    entry.imm = packet.imm;
    entry.qkey_or_msn = datagram ? packet.qkey : packet.msn;
    entry.slid = path.slid;
    entry.dlid = path.dlid;
    if (extended) {
        const Extension extension{packet.remote_address, packet.rkey, packet.dma_length, packet.swap_or_add,
                                  packet.compare};
        std::memcpy(entry.small, &extension, sizeof extension);
    }
    std::uint8_t* to = entry.small + small_at;
    if (in_bulk) {
        const std::uint64_t size = whole_units(whole), at = bulk_start(peer.bulk_tail, size);
        entry.bulk = static_cast<std::uint32_t>(at & bulk_mask);
        to = peer.out->bulk.data() + (at & bulk_mask);
        peer.bulk_tail = at + size;
    }
    if (prefix != 0) {
        std::memcpy(to, path.sgid.data(), 16);
        std::memcpy(to + 16, path.dgid.data(), 16);
        to += prefix;
    }
    if (load.bytes != nullptr)
        std::memcpy(to, load.bytes + load.offset, load.length);
    else
        each_part(load.gather, load.offset, load.length, [&](const std::uint8_t* from, std::uint32_t part) {
            std::memcpy(to, from, part);
            to += part;
        });
    ++peer.tail;
    entry.tag.store(peer.tail, std::memory_order_release);
    engine_.peers.touch(peer);
    return true;
}

Wire::Put RingWire::put(Qp& qp, const Path& path, const Packet& packet, const Load& load) {
    Peer* peer = path.peer.get();
    std::shared_ptr<Peer> found;
    if (peer == nullptr) {
        found = engine_.peers.at(slot_of(packet.dest_qpn));
        peer = found.get();
    }
    // Nobody of ours has that number: on Ethernet it may be another user's process.
    if (peer == nullptr && engine_.roce->has(*qp.context->hca)) return engine_.roce->put(qp, path, packet, load);
    if (peer == nullptr || peer->state == Peer::State::dead) return Put::dropped;
    if (peer->state != Peer::State::up || !write(*peer, packet, path, load)) {
        if (qp.type() != IBV_QPT_RC && engine_.requester.waited_enough(qp)) return Put::dropped;
        engine_.peers.block_on(*peer, qp);
        return Put::waits;
    }
    qp.wire_position = peer->tail;
    return Put::sent;
}

Overdue RingWire::overdue(Qp& qp, std::uint64_t now) {
    const Peer* const peer = qp.path->peer.get();
    Overdue overdue = Wire::overdue(qp, now);
    // Nothing is lost: the other has not come to it yet.
    if (peer != nullptr && peer->state != Peer::State::dead &&
        (peer->state == Peer::State::connecting ||
         peer->in->consumed.load(std::memory_order_acquire) < qp.wire_position))
        overdue.verdict = Overdue::Verdict::wait;
    return overdue;
}

// Takes what the other has written. Everything is copied out of its memory before it is looked at, but for payload in
// the ring of bytes, whose place and length are checked and whose content is never interpreted before it is copied.
void RingWire::drain(Peer& peer) {
    const std::uint64_t began = peer.head;
    const std::uint64_t stop_at = began + 2 * ring_entries;  // others want their turn too
    while (peer.state == Peer::State::up && peer.head != stop_at) {
        const Entry& shared = peer.in->entries[peer.head & entry_mask];
        if (shared.tag.load(std::memory_order_acquire) != peer.head + 1) break;
        ++peer.head;
        alignas(8) std::uint8_t small[Entry::small_size];
        const std::uint8_t flags = shared.flags;
        Packet packet = packet_of(shared, flags);
        std::uint32_t length = shared.length;
        const std::uint32_t bulk = shared.bulk;
        const std::uint16_t slid = shared.slid, dlid = shared.dlid;
        std::atomic_signal_fence(
            std::memory_order_seq_cst);  // the other may change it: never read again by the compiler

        const bool extended = (flags & Entry::extended) != 0;
        const std::size_t small_at = extended ? Entry::extension_size : 0;
        const std::uint8_t* payload = small + small_at;
        bool sound = extended == needs_extension(packet.op) && length <= ring_mtu + 32 &&
                     ((flags & Entry::placed) == 0 || length == 0);
        if ((flags & Entry::in_bulk) != 0) {
            const std::uint64_t size = whole_units(length), at = bulk_start(peer.bulk_head, size);
            sound = sound && bulk == (at & bulk_mask);
            if (sound) {
                payload = peer.in->bulk.data() + bulk;
                peer.bulk_head = at + size;
            }
            if (extended) std::memcpy(small, shared.small, Entry::extension_size);
        } else {
            sound = sound && length <= Entry::small_size - small_at;
            if (sound) std::memcpy(small, shared.small, small_at + length);
        }
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (sound && extended) extend(packet, small);
        Gid gids[2];
        const bool global = (flags & Entry::global) != 0;
        if (global) {
            sound = sound && length >= 32 && packet.service == Service::ud;
            if (sound) {
                std::memcpy(gids, payload, 32);
                payload += 32;
                length -= 32;
            }
        }
        if (!sound) {
            engine_.peers.lose(peer);
            return;
        }
        engine_.responder.on_packet({packet,
                                     {payload, length},
                                     &peer,
                                     slid,
                                     dlid,
                                     flags,
                                     global ? &gids[0] : nullptr,
                                     global ? &gids[1] : nullptr,
                                     0});
    }
    if (peer.head != began && peer.out != nullptr) {
        peer.out->bulk_consumed.store(peer.bulk_head, std::memory_order_release);
        peer.out->consumed.store(peer.head, std::memory_order_release);
        // Whoever waits for room looks when it polls; one that sleeps has to be told.
        if (peer.head - began >= ring_entries / 4) engine_.peers.touch(peer);
    }
}

void RingWire::send_short(Qp& qp, const SendWqe& w, const std::uint8_t* from) {
    const Path& path = *qp.path;
    Peer& peer = *path.peer;
    Entry& entry = peer.out->entries[peer.tail & entry_mask];
    entry.op = static_cast<std::uint8_t>(w.opcode == IBV_WR_SEND ? Op::send_only : Op::send_only_imm);
    entry.service = static_cast<std::uint8_t>(qp.type() == IBV_QPT_RC ? Service::rc : Service::uc);
    entry.flags =
        static_cast<std::uint8_t>(((w.flags & IBV_SEND_SOLICITED) != 0 ? Entry::solicited : 0) | Entry::ack_request);
    entry.dest_qpn = qp.partner().value;
    entry.src_qpn = qp.qpn.value;
    entry.psn = w.first_psn.value();
    entry.length = w.length;
    entry.imm = w.imm;
    entry.slid = path.slid;
    entry.dlid = path.dlid;
    if (w.length <= 16)
        copy_up_to_16(entry.small, from, w.length);
    else
        std::memcpy(entry.small, from, w.length);
    ++peer.tail;
    entry.tag.store(peer.tail, std::memory_order_release);
    qp.wire_position = peer.tail;
    qp.waits_since = 0;
    engine_.peers.touch(peer);
    PortCounters& counters = counters_of(*qp.context);
    add(counters.sent_packets);
    add(counters.sent_bytes[static_cast<std::size_t>(Way::store)], w.length);
}

bool RingWire::acknowledge(Qp& qp) {
    const Path& path = *qp.path;
    Peer& peer = *path.peer;
    if (peer.state != Peer::State::up || !peer.room(0)) return false;
    Entry& entry = peer.out->entries[peer.tail & entry_mask];
    entry.op = static_cast<std::uint8_t>(Op::acknowledge);
    entry.service = static_cast<std::uint8_t>(Service::rc);
    entry.flags = 0;
    entry.syndrome = syndrome_ack;
    entry.dest_qpn = qp.partner().value;
    entry.src_qpn = 0;
    entry.psn = (qp.expected_psn - 1).value();
    entry.length = 0;
    entry.imm = 0;
    entry.qkey_or_msn = qp.msn;
    entry.slid = path.slid;
    entry.dlid = path.dlid;
    ++peer.tail;
    entry.tag.store(peer.tail, std::memory_order_release);
    qp.wire_position = peer.tail;
    qp.waits_since = 0;
    engine_.peers.touch(peer);
    add(counters_of(*qp.context).sent_packets);
    return true;
}

void RingWire::drain_self() {
    Peer& self = engine_.peers.self();
    for (unsigned rounds = 0; self.has_mail() && rounds < 64; ++rounds) {
        drain(self);
        engine_.responder.settle(Acks::now);
    }
}

}  // namespace loom::hca
