#include "loom/routing/switch_graph.hpp"

#include <algorithm>
#include <string>

#include "loom/base/error.hpp"
#include "loom/fabric/lid_use.hpp"

namespace loom::routing {

using fabric::Fabric;
using fabric::NodeKind;
using fabric::Port;

SwitchGraph::SwitchGraph(const Fabric& fabric)
    : fabric_(&fabric), nodes_(fabric.nodes_of(NodeKind::switch_)), index_(fabric.node_count(), none) {
    base_.reserve(nodes_.size() + 1);
    base_.push_back(0);
    for (SwitchIndex s = 0; s < nodes_.size(); ++s) {
        index_[nodes_[s].value] = s;
        base_.push_back(base_.back() + fabric.node(nodes_[s]).ports + 1u);
    }
    next_.assign(base_.back(), none);
    reverse_.assign(base_.back(), none);
    owner_.resize(base_.back());

    const auto add = [this](const Port& end, SwitchIndex sw, unsigned port) {
        if (end.lid == no_lid) return;
        if (end.lmc > 7 || end.lid.value + (1u << end.lmc) - 1 > max_unicast_lid)
            throw Error(describe(*fabric_, end.node, end.number) + " has LID " + std::to_string(end.lid.value) +
                        " with LMC " + std::to_string(end.lmc) + ", expected LIDs from 1 to 49151");
        destinations_.push_back(
            {end.lid, end.lmc, static_cast<std::uint8_t>(port), sw, fabric_->port_index(end.node, end.number)});
        top_lid_ = std::max(top_lid_, Lid{static_cast<std::uint16_t>(end.lid.value + (1u << end.lmc) - 1)});
    };
    for (SwitchIndex s = 0; s < nodes_.size(); ++s) {
        for (ChannelIndex c = base_[s]; c < base_[s + 1]; ++c) owner_[c] = s;
        for (const Port& port : fabric.ports(nodes_[s])) {
            if (!port.connected()) continue;
            const Port& peer = fabric.port(port.peer);
            if (const SwitchIndex other = index_[peer.node.value]; other != none) {
                const ChannelIndex c = base_[s] + port.number.value;
                next_[c] = other;
                reverse_[c] = base_[other] + peer.number.value;
            } else {
                add(peer, s, port.number.value);
            }
        }
    }
    hosts_ = destinations_.size();
    for (SwitchIndex s = 0; s < nodes_.size(); ++s) add(fabric.port(nodes_[s], PortNum{0}), s, 0);
    if (const auto shared = fabric::shared_lids(fabric); !shared.empty())
        throw Error(describe(fabric, shared[0]) + "; expected a LID to be that of one port");
}

}  // namespace loom::routing
