// The fabric as the packet level sees it: flat arrays by port, fixed for a run.
#pragma once

#include <cstdint>
#include <vector>

#include "loom/sim/simulation.hpp"
#include "sim/packet/types.hpp"

namespace loom::sim::packet {

struct Plant {
    // Network and schedule have been checked to belong together. Without a schedule all ranks have a place, and may use
    // every service level. Throws Error for what cannot be played.
    Plant(const Network& network, std::uint32_t ranks, const traffic::Schedule* schedule, const PacketOptions& options);

    std::uint32_t switches = 0;
    std::uint32_t switch_ports = 0;  // ports below this belong to switches
    std::uint32_t ports = 0;         // and the host ports behind them
    std::uint32_t entities = 0;
    unsigned lanes = 1;
    unsigned window_shift = 0;

    struct PortInfo {
        Port peer = none;         // the port at the other end of the cable
        std::uint32_t rate = 0;   // picoseconds a byte, times 256
        std::uint32_t speed = 0;  // megabits a second: sums are exact
        std::int64_t reach = 0;   // from a packet's start here to its event at the peer, without serialisation at hosts
        Entity entity = 0;        // of this port
        bool to_host = false;     // the peer is a host port
    };
    std::vector<PortInfo> port;
    std::int64_t cable = 0;

    struct EntityInfo {
        std::uint32_t index = 0;  // SwitchIndex or Endpoint
        bool is_switch = false;
    };
    std::vector<EntityInfo> entity;

    struct SwitchInfo {
        Port first = 0;           // port 0 of the switch
        std::uint32_t width = 0;  // ports, port 0 included
        const std::uint8_t* row = nullptr;
        std::uint32_t row_size = 0;
    };
    std::vector<SwitchInfo> switch_info;

    struct EndpointInfo {
        Port port = 0;
        Lid lid;
        std::uint8_t lmc = 0;
        routing::SwitchIndex leaf = 0;
        PortIndex where;
    };
    std::vector<EndpointInfo> endpoint;
    std::vector<Endpoint> rank_endpoint;  // none for a place keeper

    std::vector<Port> port_of_lid;     // of endpoints; only with PacketOptions::retries
    std::vector<Port> port_of_fabric;  // by PortIndex; none where nothing is played

    // Time that so many bytes take on the port's link.
    [[nodiscard]] std::int64_t serialise(Port p, std::uint32_t bytes) const {
        return serialise_at(port[p].rate, bytes);
    }
    [[nodiscard]] static std::int64_t serialise_at(std::uint32_t rate, std::uint32_t bytes) {
        return static_cast<std::int64_t>((std::uint64_t{bytes} * rate) >> 8);
    }
    [[nodiscard]] bool is_switch_port(Port p) const { return p < switch_ports; }
    // The LID that packets of `from` to `to` are addressed to.
    [[nodiscard]] std::uint16_t address(Rank from, Rank to) const;
    // The lane of packets that enter at the endpoint.
    [[nodiscard]] std::uint8_t lane(Endpoint from, std::uint16_t dlid, std::uint8_t sl) const;

    // Ports as near to the endpoint's switch as the table's, as bits; only with PathChoice::adaptive. Row of a
    // (switch, leaf) pair: `mask_words` words.
    unsigned mask_words = 1;
    std::vector<std::uint64_t> near;
    std::vector<std::uint32_t> leaf_of_lid;  // dense number of the leaf, by LID
    std::uint32_t leaves = 0;
    // By switch and LID: 1 where the tables lead from there to the LID without a detour. Adaptive choice keeps to such
    // switches, or packets could run in circles.
    std::vector<std::uint8_t> straight;
    std::uint32_t lids = 0;
    [[nodiscard]] bool is_straight(std::uint32_t s, std::uint16_t lid) const {
        return straight[std::size_t{s} * lids + lid] != 0;
    }

    const Network* network = nullptr;
    const PacketOptions* options = nullptr;

private:
    void lay_out();
    void place_ranks(std::uint32_t ranks, const traffic::Schedule* schedule);
    void choose_lanes(const traffic::Schedule* schedule);
    void find_near_ports();
    void find_straight_ways(const std::vector<routing::SwitchIndex>& by_hops, std::uint32_t leaf);
};

// "S1 port 15", "host A port 1".
[[nodiscard]] std::string describe(const Plant& plant, Port port);

}  // namespace loom::sim::packet
