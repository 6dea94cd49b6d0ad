// What can be set about a simulated fabric. The defaults are a fabric of today's switches and 10 m cables, without
// congestion control.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/model/assumptions.hpp"
#include "loom/model/loggops.hpp"
#include "loom/model/loggp.hpp"

namespace loom::sim {

inline constexpr unsigned max_lanes = 15;  // data lanes; lane 15 is for management
inline constexpr unsigned service_levels = 16;

// One entry of a VL arbitration table: the lane may send `weight` x 64 bytes before the next entry's turn.
struct LaneWeight {
    std::uint8_t lane = 0;
    std::uint8_t weight = 1;  // 0: the entry is skipped
};

struct LaneArbitration {
    std::vector<LaneWeight> high;   // empty: no lane has priority
    std::vector<LaneWeight> low;    // empty: all lanes in turn, packet by packet
    std::uint8_t high_limit = 255;  // x 4096 bytes of high before a low packet gets its turn; 255: no limit
};

// Congestion control of switches, as the standard words it.
struct SwitchControl {
    std::uint8_t threshold = 0;      // 0: no marking; 1 (14/15 of a buffer waits) to 15 (anything waits)
    std::uint16_t marking_rate = 0;  // packets unmarked between two marked ones, in the mean
    std::uint8_t packet_size = 0;    // packets below so many times 64 bytes stay unmarked
    bool victim_mask = false;        // mark at ports that lack credits, too (they are not the root)
};

// Congestion control of host adapters, one set for each service level.
struct HostControl {
    std::uint16_t ccti_timer = 150;  // x 1.024 us until an index falls by one; 0: never
    std::uint8_t ccti_increase = 1;  // for each notification
    std::uint8_t ccti_limit = 0;     // 0: the table's last entry
    std::uint8_t ccti_min = 0;
};

enum class Notify : std::uint8_t {
    cnp,  // a congestion notification packet for each marked packet
    ack,  // a bit in the next acknowledgement
};
enum class ControlScope : std::uint8_t { queue_pair, service_level };

struct CongestionControl {
    SwitchControl switches;
    std::array<HostControl, service_levels> hosts{};
    // Injection delay of each index in packet times: entry i makes a flow wait table[i] times a packet's own time after
    // it. Empty: no throttling.
    std::vector<double> table;
    // Each wait is longer or shorter by up to this share of itself, at random: adapters do not keep step. With 0, flows
    // whose delays are whole multiples of each other lock in phase, and one may never meet the others.
    double jitter = 1.0 / 16;
    Notify notify = Notify::cnp;
    ControlScope scope = ControlScope::queue_pair;
};

// A congestion control table in which each index halves a flow's injection rate: 0, 1, 3, 7... packet times. Up to 15
// entries. With 6, the rates of the testbed in Mizero 2016 come out (docs/results.md).
[[nodiscard]] std::vector<double> halving_table(unsigned entries = 6);

enum class LidChoice : std::uint8_t {
    first,   // always the base LID
    spread,  // LID number (from + to) mod 2^lmc for ranks from and to
};
enum class PathChoice : std::uint8_t {
    tables,    // as the forwarding tables say
    adaptive,  // among the ports that are as near to the destination as the table's, the one with the shortest queue
};
// What the receiving side of a link grants.
enum class FlowControl : std::uint8_t {
    credits,   // lossless, as InfiniBand is
    infinite,  // buffers without bound: what the fabric would do if nothing ever had to wait
};
// How the queue pairs of a host adapter that have something to send take turns.
enum class HostTurns : std::uint8_t {
    packet,   // a packet of each
    message,  // a message of each: messages that were posted together leave one after the other
};
// How the outputs of a switch share an input's buffer.
enum class BufferUse : std::uint8_t {
    shared,      // one pool for each (input, lane): a congested output can fill it, which makes victims
    per_output,  // each output has a whole buffer of its own behind every input: no victims, and no real switch
};

// What a reliable queue pair does about lost packets: sends again from the oldest message that is not acknowledged on,
// so long after it lost one. The defaults are a local ACK timeout of 14 and a retry count of 7.
struct Retries {
    Time after = nanoseconds(67'108'864);
    unsigned most = 7;  // in a row; then the queue pair sends nothing any more
};

struct PacketOptions {
    std::uint32_t mtu = 2048;                             // payload: 256, 512, 1024, 2048 or 4096
    std::uint32_t buffer_bytes = 32 * 1024;               // of each (input port, lane); at least two packets
    Time cable_delay = model::assumed::cable_delay;       // each way; 5 ns a metre
    Time switch_delay = model::assumed::switch_delay;     // from head in to head out, uncontended
    Time host_delay = model::assumed::host_delay;         // from posting to the wire, and from the wire to completion
    Time counter_tick = nanoseconds(22);                  // unit of xmit_wait and xmit_cong_time
    unsigned lanes = 0;                                   // data lanes in use; 0: as many as tables and mapping need
    std::array<std::uint8_t, service_levels> sl_to_vl{};  // all 0; with tables that have lanes, those are used
    bool use_table_lanes = true;
    LaneArbitration arbitration;
    CongestionControl congestion;
    LidChoice lids = LidChoice::first;
    PathChoice paths = PathChoice::tables;
    FlowControl flow_control = FlowControl::credits;
    BufferUse buffer_use = BufferUse::shared;
    HostTurns host_turns = HostTurns::packet;
    // Of live simulations: what LiveSimulation::fail() needs. Nothing: packets are never lost, and no account is kept.
    std::optional<Retries> retries;
};

struct FlowOptions {
    LidChoice lids = LidChoice::first;
    Time cable_delay = model::assumed::cable_delay;
    Time switch_delay = model::assumed::switch_delay;
    Time host_delay = model::assumed::host_delay;
};

using model::LocalCosts;

struct MessageOptions {
    model::LogGops parameters;
    // Messages of more than S bytes go only after a request and an answer, each a message of one byte.
    bool handshake = false;
    bool flows = false;  // keep account of every pair of ranks
};

struct Options {
    PacketOptions packet;
    FlowOptions flow;
    MessageOptions message;
    LocalCosts local;
    unsigned threads = 1;  // packet level, at most; 0: all cores. The numbers never depend on it.
    std::uint64_t seed = 1;
};

}  // namespace loom::sim
