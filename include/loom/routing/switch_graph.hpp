// The fabric as routing sees it: switches numbered densely, one channel for each direction of a cable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::routing {

using SwitchIndex = std::uint32_t;   // 0..switch_count-1, in NodeId order
using ChannelIndex = std::uint32_t;  // base[switch] + port number: the channel that leaves there
inline constexpr std::uint32_t none = 0xffffffffu;

// One LID (or 2^lmc consecutive ones) and the switch port behind which it lives. For a switch's own
// LID port is 0 and `sw` is the switch itself.
struct Destination {
    Lid lid;
    std::uint8_t lmc = 0;
    std::uint8_t port = 0;
    SwitchIndex sw = 0;
    PortIndex end = no_port;  // the host port, or port 0 of the switch

    [[nodiscard]] unsigned lid_count() const { return 1u << lmc; }
};

// A frozen view; building it is one pass over the ports. Valid while the fabric is unchanged. Throws Error
// when a LID is none that a subnet can have.
class SwitchGraph {
public:
    explicit SwitchGraph(const fabric::Fabric& fabric);

    [[nodiscard]] const fabric::Fabric& fabric() const { return *fabric_; }
    [[nodiscard]] std::uint32_t switch_count() const { return static_cast<std::uint32_t>(nodes_.size()); }
    [[nodiscard]] std::uint32_t channel_count() const { return base_.back(); }
    [[nodiscard]] NodeId node(SwitchIndex s) const { return nodes_[s]; }
    // none when the node is no switch.
    [[nodiscard]] SwitchIndex index(NodeId node) const { return index_[node.value]; }

    [[nodiscard]] unsigned port_count(SwitchIndex s) const { return base_[s + 1] - base_[s] - 1; }
    [[nodiscard]] ChannelIndex channel(SwitchIndex s, unsigned port) const { return base_[s] + port; }
    [[nodiscard]] SwitchIndex owner(ChannelIndex c) const { return owner_[c]; }
    [[nodiscard]] unsigned port(ChannelIndex c) const { return c - base_[owner_[c]]; }
    // The switch the channel leads to; none for host ports and open ports.
    [[nodiscard]] SwitchIndex next(ChannelIndex c) const { return next_[c]; }
    // The channel the other way over the same cable; none unless next() is a switch.
    [[nodiscard]] ChannelIndex reverse(ChannelIndex c) const { return reverse_[c]; }
    [[nodiscard]] std::span<const SwitchIndex> next_by_channel() const { return next_; }
    [[nodiscard]] std::span<const ChannelIndex> base() const { return base_; }  // switch_count + 1 long

    // Hosts and routers first, by (switch, port), then the switches. Only those that have a LID.
    [[nodiscard]] std::span<const Destination> destinations() const { return destinations_; }
    [[nodiscard]] std::span<const Destination> host_destinations() const {
        return std::span(destinations_).first(hosts_);
    }
    [[nodiscard]] Lid top_lid() const { return top_lid_; }

private:
    const fabric::Fabric* fabric_;
    std::vector<NodeId> nodes_;
    std::vector<SwitchIndex> index_;
    std::vector<ChannelIndex> base_;
    std::vector<SwitchIndex> next_;
    std::vector<ChannelIndex> reverse_;
    std::vector<SwitchIndex> owner_;
    std::vector<Destination> destinations_;
    std::size_t hosts_ = 0;
    Lid top_lid_;
};

}  // namespace loom::routing
