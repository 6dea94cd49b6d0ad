// Multicast groups. Who is a member stands in each process's directory; a process that joins makes itself known to all
// others, and one that sends for the first time looks for all others: whichever comes second finds the first.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hca/engine.hpp"
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

int Engine::attach(Qp& qp, const ibv_gid& raw) {
    Gid gid;
    std::memcpy(gid.data(), raw.raw, 16);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.gid == gid; });
    if (group == groups.end()) {
        const Words words = words_of(gid);
        GroupEntry* free = nullptr;
        for (GroupEntry& entry : directory->groups)
            if (free == nullptr && entry.members.load(std::memory_order_relaxed) == 0) free = &entry;
        if (free == nullptr) return ENOMEM;
        free->gid[0].store(words.w[0], std::memory_order_relaxed);
        free->gid[1].store(words.w[1], std::memory_order_relaxed);
        free->members.store(1, std::memory_order_seq_cst);
        groups.push_back({gid, {}});
        group = std::prev(groups.end());
        meet_everybody();
    }
    if (std::find(group->members.begin(), group->members.end(), &qp) != group->members.end()) return 0;
    if (roce != nullptr && qp.context->hca->link == LinkLayer::ethernet) roce->join(*qp.context->hca, gid);
    group->members.push_back(&qp);
    ++qp.groups;
    return 0;
}

int Engine::detach(Qp& qp, const ibv_gid& raw) {
    Gid gid;
    std::memcpy(gid.data(), raw.raw, 16);
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.gid == gid; });
    if (group == groups.end() || std::erase(group->members, &qp) == 0) return EINVAL;
    --qp.groups;
    if (!group->members.empty()) return 0;
    const Words words = words_of(gid);
    for (GroupEntry& entry : directory->groups)
        if (entry.members.load(std::memory_order_relaxed) != 0 &&
            entry.gid[0].load(std::memory_order_relaxed) == words.w[0] &&
            entry.gid[1].load(std::memory_order_relaxed) == words.w[1])
            entry.members.store(0, std::memory_order_release);
    groups.erase(group);
    return 0;
}

// One copy to each process with members. False: some are still to be met, or the wire has no room, and the queue pair
// runs again then; what a process has no room for is lost, as datagrams may be.
bool Engine::send_to_group(Qp& qp, const SendWqe& w, const Packet& packet, std::span<const ibv_sge> sges) {
    if (!looked_for_members) {
        looked_for_members = true;
        meet_everybody();
    }
    // Those who answered the call and have not said who they are may be members. Nobody is waited for twice: one that
    // is stopped, of another's job perhaps, would hold up every datagram.
    for (const auto& peer : peers) {
        if (peer == nullptr || peer->state != Peer::State::connecting || peer->was_waited_for) continue;
        if (!waited_enough(qp)) {
            block_on(*peer, qp);
            return false;
        }
        peer->was_waited_for = true;
    }
    qp.waits_since = 0;
    const Path& path = *w.path;
    const Words words = words_of(path.dgid);
    Packet copy = packet;
    copy.dest_qpn = multicast_qpn;
    const bool by_roce = qp.context->hca->link == LinkLayer::ethernet;
    if (by_roce && !roce->send(qp, path, copy, sges, 0, w.length, nullptr)) return false;
    for (std::size_t i = 0; i < up.size() && (!by_roce || config().shared_memory); ++i) {
        Peer& peer = *up[i];
        const bool member = std::any_of(std::begin(peer.directory->groups), std::end(peer.directory->groups),
                                        [&](const GroupEntry& entry) {
                                            return entry.members.load(std::memory_order_acquire) != 0 &&
                                                   entry.gid[0].load(std::memory_order_relaxed) == words.w[0] &&
                                                   entry.gid[1].load(std::memory_order_relaxed) == words.w[1];
                                        });
        const double lost = std::max(faults.drop, faults.datagrams);
        if (member && lost > 0 && drops.unit() < lost)
            add(counters_of(*qp.context).dropped);
        else if (member && !send(peer, copy, sges, 0, w.length, path, 0))
            add(counters_of(*qp.context).dropped);
    }
    return true;
}

}  // namespace loom::hca
