#include "loom/fabric/lid_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/base/table.hpp"

namespace loom::fabric {
namespace {

bool is_switch(const Fabric& fabric, NodeId id) {
    return fabric.node(id).kind == NodeKind::switch_;
}

// End ports that packets can come to.
template <class Visit>
void each_end(const Fabric& fabric, Visit&& visit) {
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const Port& port = fabric.port(PortIndex{i});
        if (port.lid == no_lid) continue;
        if (is_switch(fabric, port.node) ? port.number.value == 0 : port.connected()) visit(PortIndex{i}, port);
    }
}

unsigned lids_of(const Port& port) {
    return 1u << std::min<unsigned>(port.lmc, 7);
}

// Which switches cables join; hosts do not: an adapter's two ports may be on two subnets.
class Pieces {
public:
    explicit Pieces(const Fabric& fabric) : fabric_(fabric), of_(fabric.node_count(), none) {
        std::vector<NodeId> rest;
        for (const NodeId start : fabric.nodes_of(NodeKind::switch_)) {
            if (of_[start.value] != none) continue;
            of_[start.value] = start.value;
            rest.push_back(start);
            while (!rest.empty()) {
                const NodeId id = rest.back();
                rest.pop_back();
                for (const Port& port : fabric.ports(id)) {
                    if (!port.connected()) continue;
                    const NodeId peer = fabric.port(port.peer).node;
                    if (!is_switch(fabric, peer) || of_[peer.value] != none) continue;
                    of_[peer.value] = start.value;
                    rest.push_back(peer);
                }
            }
        }
    }

    [[nodiscard]] bool joined(PortIndex a, PortIndex b) const {
        const std::uint32_t piece = of(a);
        return piece == none ? fabric_.port(a).peer == b : piece == of(b);
    }

private:
    static constexpr std::uint32_t none = 0xffffffffu;

    [[nodiscard]] std::uint32_t of(PortIndex index) const {
        const Port& port = fabric_.port(index);
        return of_[(is_switch(fabric_, port.node) ? port : fabric_.port(port.peer)).node.value];
    }

    const Fabric& fabric_;
    std::vector<std::uint32_t> of_;  // by node: the first switch of its piece
};

}  // namespace

std::vector<SharedLid> shared_lids(const Fabric& fabric) {
    std::vector<std::uint8_t> owners;  // by LID: 0, 1, or 2 for more
    bool any = false;
    each_end(fabric, [&](PortIndex, const Port& port) {
        const std::size_t end = std::size_t{port.lid.value} + lids_of(port);
        if (owners.size() < end) owners.resize(end, 0);
        for (std::size_t lid = port.lid.value; lid < end; ++lid) any |= (owners[lid] = owners[lid] == 0 ? 1 : 2) == 2;
    });
    if (!any) return {};

    struct Owner {
        std::uint32_t lid;
        PortIndex port;
    };
    std::vector<Owner> all;
    each_end(fabric, [&](PortIndex index, const Port& port) {
        for (std::uint32_t k = 0; k < lids_of(port); ++k)
            if (owners[port.lid.value + k] == 2) all.push_back({port.lid.value + k, index});
    });
    std::ranges::stable_sort(all, {}, &Owner::lid);
    const Pieces pieces(fabric);
    std::vector<SharedLid> result;
    for (std::size_t i = 0, first = 0; i < all.size(); ++i) {
        if (all[i].lid != all[first].lid) first = i;
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        const auto here = all.begin() + static_cast<std::ptrdiff_t>(i);
        const auto other =
            std::find_if(begin, here, [&](const Owner& before) { return pieces.joined(before.port, all[i].port); });
        if (other != here) result.push_back({Lid{static_cast<std::uint16_t>(all[i].lid)}, other->port, all[i].port});
    }
    return result;
}

std::string describe(const Fabric& fabric, const SharedLid& shared) {
    const Port& first = fabric.port(shared.first);
    const Port& second = fabric.port(shared.second);
    return fmt::format("LID {} belongs to two ports: {} and {}", shared.lid.value,
                       describe(fabric, first.node, first.number), describe(fabric, second.node, second.number));
}

std::vector<std::string> lid_faults(const Fabric& fabric) {
    std::vector<std::string> result;
    if (const std::vector<SharedLid> shared = shared_lids(fabric); shared.size() == 1)
        result.push_back(describe(fabric, shared[0]));
    else if (!shared.empty())
        result.push_back(fmt::format("{} LIDs are claimed twice; the first: {}", grouped(shared.size()),
                                     describe(fabric, shared[0])));

    std::size_t beyond = 0, unaligned = 0;
    std::string first_beyond, first_unaligned;
    each_end(fabric, [&](PortIndex, const Port& port) {
        const unsigned lids = lids_of(port);
        const auto example = [&] {
            return fmt::format("{} has LID {}, LMC {}", describe(fabric, port.node, port.number), port.lid.value,
                               port.lmc);
        };
        if (port.lid.value + lids - 1 > max_unicast_lid && ++beyond == 1) first_beyond = example();
        if (port.lid.value % lids != 0 && ++unaligned == 1) first_unaligned = example();
    });
    if (beyond != 0)
        result.push_back(fmt::format(
            "{} beyond 49,151, the last of a subnet; the first: {}",
            beyond == 1 ? std::string("a port's LIDs go") : fmt::format("the LIDs of {} ports go", grouped(beyond)),
            first_beyond));
    if (unaligned != 0)
        result.push_back(fmt::format("{} at a multiple of 2^LMC, as they must; the first: {}",
                                     unaligned == 1
                                         ? std::string("a port's LIDs do not begin")
                                         : fmt::format("the LIDs of {} ports do not begin", grouped(unaligned)),
                                     first_unaligned));
    return result;
}

}  // namespace loom::fabric
