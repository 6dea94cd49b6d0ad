// One run of a schedule, at one of three fidelities, behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/fabric/living.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/tables.hpp"
#include "loom/sim/options.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim {

enum class Level : std::uint8_t {
    packet,   // every packet, credit and mark
    flow,     // max-min fair rates on the routed links
    message,  // LogGOPS, no topology
};
[[nodiscard]] std::string_view to_string(Level level);

// What packet and flow play on. Graph and tables must outlive the simulation.
struct Network {
    const routing::SwitchGraph* graph = nullptr;
    const routing::Tables* tables = nullptr;
    fabric::Placement placement;  // where the schedule's ranks sit; several may share a host port
};

enum class State : std::uint8_t {
    running,     // more will happen
    finished,    // every operation of every rank is complete
    deadlocked,  // packets wait for each other in a circle; see Simulation::trouble
    stuck,       // nothing more can happen, and operations are open (a receive that nobody serves)
};
[[nodiscard]] std::string_view to_string(State state);

// All sends of one rank to another.
struct Flow {
    Rank from;
    Rank to;
    std::uint64_t bytes = 0;      // in all sends together
    std::uint64_t delivered = 0;  // payload that has arrived so far
    Time begun = never;           // when the first send began
    Time ended = never;           // when the last byte arrived; never while bytes are missing
};

// Deterministic: the same input gives the same numbers, whatever the number of threads. Not thread-safe itself.
class Simulation {
public:
    virtual ~Simulation() = default;

    [[nodiscard]] virtual Level level() const = 0;
    [[nodiscard]] virtual Time now() const = 0;
    // Plays on until `until`, or until nothing more can happen. Afterwards now() >= until (by less than a
    // microsecond; the packet level stops between two of its steps) unless the state is final.
    virtual State advance(Time until) = 0;

    // Flows in (from, to) order; the same count at all times. Message level: only with Options::message.flows.
    [[nodiscard]] virtual std::vector<Flow> flows() const = 0;
    // When each rank's last operation completed; never where some are open.
    [[nodiscard]] virtual std::vector<Time> rank_ends() const = 0;
    // All zero for a port without a cable and at message level. The flow level counts data, packets and time spent
    // below the wished rate only.
    [[nodiscard]] virtual fabric::PortCounters counters(PortIndex port) const = 0;
    // The congestion settings of a living fabric; nullptr where there are none (flow and message level).
    [[nodiscard]] virtual fabric::CongestionParameters* congestion_parameters() = 0;

    struct Work {
        std::uint64_t events = 0;   // what the engine handled one by one
        std::uint64_t packets = 0;  // data packets delivered; 0 at other levels
        std::uint64_t bytes = 0;    // payload delivered
    };
    [[nodiscard]] virtual Work work() const = 0;
    // In words, a line each: the circle of waiting buffers, or the operations that wait for ever.
    [[nodiscard]] virtual std::vector<std::string> trouble() const = 0;
};

// What the packet level would have to play: the packets of all messages that leave their host. One pass.
[[nodiscard]] std::uint64_t count_packets(const traffic::Schedule& schedule, const fabric::Placement& placement,
                                          std::uint32_t mtu);

// The schedule must outlive the simulation. `network` may be empty for Level::message. Throws UsageError for options
// that make no sense and Error for a schedule, placement and network that do not belong together (a pair that the
// tables do not connect, named).
[[nodiscard]] std::unique_ptr<Simulation> make_simulation(Level level, const Network& network,
                                                          const traffic::Schedule& schedule, const Options& options);

}  // namespace loom::sim
