#include "hca/wire/path.hpp"

#include <algorithm>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/roce/gid.hpp"

namespace loom::hca {

namespace {

Gid gid_of(const ibv_gid& gid) {
    Gid out;
    std::memcpy(out.data(), gid.raw, 16);
    return out;
}

}  // namespace

std::shared_ptr<Path> find_path(Engine& engine, Context& context, const ibv_ah_attr& attr, QpNumber dest_qpn,
                                bool connected) {
    const HcaConfig& hca = *context.hca;
    auto path = std::make_shared<Path>();
    path->global = attr.is_global != 0;
    path->slid = hca.lid;
    path->dlid = attr.dlid;
    path->wire = &engine.ring;
    if (path->global) {
        if (attr.grh.sgid_index >= hca.gids.size()) return nullptr;
        path->sgid = hca.gids[attr.grh.sgid_index].gid;
        path->dgid = gid_of(attr.grh.dgid);
        path->traffic_class = attr.grh.traffic_class;
        path->hop_limit = attr.grh.hop_limit;
        path->multicast = roce::is_multicast(path->dgid);
    }
    if (hca.link == LinkLayer::ethernet) {
        if (!path->global) return nullptr;  // RoCE has no other addresses
        path->slid = path->dlid = 0;
        if (!path->multicast && !RoceWire::is_local(path->dgid)) path->wire = engine.roce.get();
    } else if (!path->multicast && attr.dlid >= 0xc000) {
        path->multicast = true;
    }
    if (path->multicast) path->dlid = 0;
    if (connected && path->wire == &engine.ring) {
        const std::uint32_t owner = slot_of(dest_qpn);
        // Another user's process may have our slot; its address is not ours.
        const auto has_address = [&](const HcaConfig& own) {
            return std::any_of(own.gids.begin(), own.gids.end(),
                               [&](const GidEntry& e) { return e.gid == path->dgid; });
        };
        const std::vector<HcaConfig>& ours = config().hcas;
        const bool foreign = hca.link == LinkLayer::ethernet && owner == engine.home.slot &&
                             std::none_of(ours.begin(), ours.end(), has_address);
        if (!foreign) path->peer = engine.peers.at(owner);
        // Nobody of ours has that number: on Ethernet it may be another user's process, which only packets reach.
        if (path->peer == nullptr) {
            path->wire = &engine.nowhere;
            if (hca.link == LinkLayer::ethernet) path->wire = engine.roce.get();
        }
    }
    if (path->wire == engine.roce.get() && !engine.roce->open(hca)) {
        engine.roce->tell_refusal();
        path->wire = &engine.nowhere;
    }
    return path;
}

}  // namespace loom::hca
