#include "hca/host/groups.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/roce/gid.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

namespace {

struct Words {
    std::uint64_t w[2];
};

Words words_of(const Gid& gid) {
    Words out;
    std::memcpy(out.w, gid.data(), 16);
    return out;
}

}  // namespace

int Groups::attach(Qp& qp, const ibv_gid& raw) {
    Gid gid;
    std::memcpy(gid.data(), raw.raw, 16);
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == gid; });
    if (group == groups_.end()) {
        const Words words = words_of(gid);
        GroupEntry* free = nullptr;
        for (GroupEntry& entry : engine_.home.directory->groups)
            if (free == nullptr && entry.members.load(std::memory_order_relaxed) == 0) free = &entry;
        if (free == nullptr) return ENOMEM;
        free->gid[0].store(words.w[0], std::memory_order_relaxed);
        free->gid[1].store(words.w[1], std::memory_order_relaxed);
        free->members.store(1, std::memory_order_seq_cst);
        groups_.push_back({gid, {}});
        group = std::prev(groups_.end());
        engine_.peers.meet_everybody();
    }
    if (std::find(group->members.begin(), group->members.end(), &qp) != group->members.end()) return 0;
    if (engine_.roce != nullptr && qp.context->hca->link == LinkLayer::ethernet)
        engine_.roce->join(*qp.context->hca, gid);
    group->members.push_back(&qp);
    ++qp.groups;
    return 0;
}

int Groups::detach(Qp& qp, const ibv_gid& raw) {
    Gid gid;
    std::memcpy(gid.data(), raw.raw, 16);
    const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == gid; });
    if (group == groups_.end() || std::erase(group->members, &qp) == 0) return EINVAL;
    --qp.groups;
    if (!group->members.empty()) return 0;
    const Words words = words_of(gid);
    for (GroupEntry& entry : engine_.home.directory->groups)
        if (entry.members.load(std::memory_order_relaxed) != 0 &&
            entry.gid[0].load(std::memory_order_relaxed) == words.w[0] &&
            entry.gid[1].load(std::memory_order_relaxed) == words.w[1])
            entry.members.store(0, std::memory_order_release);
    groups_.erase(group);
    return 0;
}

void Groups::forget(Qp& qp) {
    for (Group& group : groups_) std::erase(group.members, &qp);
}

bool Groups::send(Qp& qp, const SendWqe& w, const Packet& packet, std::span<const ibv_sge> sges) {
    if (!looked_for_members_) {
        looked_for_members_ = true;
        engine_.peers.meet_everybody();
    }
    // Those who answered the call and have not said who they are may be members. Nobody is waited for twice: one that
    // is stopped, of another's job perhaps, would hold up every datagram.
    for (const auto& peer : engine_.peers.all()) {
        if (peer == nullptr || peer->state != Peer::State::connecting || peer->was_waited_for) continue;
        if (!engine_.requester.waited_enough(qp)) {
            engine_.peers.block_on(*peer, qp);
            return false;
        }
        peer->was_waited_for = true;
    }
    qp.waits_since = 0;
    const Path& path = *w.path;
    const Words words = words_of(path.dgid);
    Packet copy = packet;
    copy.dest_qpn = multicast_qpn;
    const Load load{sges, 0, w.length};
    const bool by_roce = qp.context->hca->link == LinkLayer::ethernet;
    if (by_roce && engine_.roce->put(qp, path, copy, load) == RoceWire::Put::waits) return false;
    for (std::size_t i = 0; i < engine_.peers.up().size() && (!by_roce || config().shared_memory); ++i) {
        Peer& peer = *engine_.peers.up()[i];
        const bool member = std::any_of(std::begin(peer.directory->groups), std::end(peer.directory->groups),
                                        [&](const GroupEntry& entry) {
                                            return entry.members.load(std::memory_order_acquire) != 0 &&
                                                   entry.gid[0].load(std::memory_order_relaxed) == words.w[0] &&
                                                   entry.gid[1].load(std::memory_order_relaxed) == words.w[1];
                                        });
        if (member && engine_.faults.lose_copy())
            add(counters_of(*qp.context).dropped);
        else if (member && !engine_.ring.write(peer, copy, path, load))
            add(counters_of(*qp.context).dropped);
    }
    return true;
}

void Groups::arrived(const Arrival& arrival) {
    if (arrival.dgid == nullptr || arrival.packet.service != Service::ud) return;
    const bool by_roce = arrival.from == nullptr;
    if (by_roce && engine_.peers.met(slot_of(arrival.packet.src_qpn)) && RoceWire::is_local(*arrival.sgid))
        return;  // came by memory
    for (Group& group : groups_) {
        // The address of the packet is made from the group's name.
        if ((by_roce ? roce::multicast_ip(group.gid, roce::family(*arrival.dgid)) : group.gid) != *arrival.dgid)
            continue;
        for (std::size_t i = 0; i < group.members.size(); ++i)
            engine_.responder.on_datagram(*group.members[i], arrival);
    }
}

}  // namespace loom::hca
