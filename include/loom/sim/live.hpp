// A simulation of programs that run: their operations are given while it plays, not in a schedule beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::sim {

// The caller's name for an operation. The simulation only hands it back.
using Cookie = std::uint64_t;

// A message, as the simulation names it from its send() until it was taken.
using LiveMessage = Id<struct LiveMessageTag, std::uint32_t>;

// What the simulation calls while it plays. Calls about one rank come one after the other, in the order of time. At the
// packet level with several threads, calls for ranks on different host ports may come at once. A call may begin
// operations of the rank that it names (LiveSimulation), and of no other. What it throws ends advance().
class Programs {
public:
    virtual ~Programs() = default;

    // Once for each rank, at time 0.
    virtual void start(Rank rank, Time now) = 0;
    // The data of a send of `rank` may change. At the packet and flow level after arrived(), at the message level it
    // may come before: then the data must be kept elsewhere.
    virtual void sent(Rank rank, Cookie send, Time now) = 0;
    // All of a message from `from` is at `rank`. Answers the receive that takes it, for which received() follows; or
    // nothing, and then a later take() takes it.
    [[nodiscard]] virtual std::optional<Cookie> arrived(Rank rank, Rank from, LiveMessage message, Cookie send,
                                                        Time now) = 0;
    // A receive of `rank` has its message.
    virtual void received(Rank rank, Cookie receive, Time now) = 0;
    // A work() or a wake() of `rank` is over.
    virtual void woken(Rank rank, Cookie what, Time now) = 0;
};

// The same engines as behind make_simulation(): ranks that begin the operations of a schedule when those before them
// are over end when a simulation of that schedule ends, to the picosecond. Which of several that become possible at one
// moment goes first is decided as there: at the message level sends, then takes, then work, those alike in the order
// in which the rank began them; at the other levels in the order in which it began them. Different ranks of one host
// port act in the order of their numbers.
//
// flows() has the pairs that have sent so far. rank_ends() are the moments at which ranks said end().
class LiveSimulation : public Simulation {
public:
    using Simulation::work;  // the account, beside the operation

    // These only inside a call of Programs, and for the rank that it names.

    // Messages between the same two ranks arrive in the order of their sends (at the packet level in that in which they
    // are complete, where service levels differ or paths are adaptive). Packet level: where Options do not say how many
    // lanes there are, those of all service levels are in use.
    virtual void send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t sl = 0) = 0;
    // A receive takes a message that arrived() answered nothing for. True: it has it now; else received() follows, at
    // the same moment or later.
    [[nodiscard]] virtual bool take(Rank rank, LiveMessage message, Cookie receive) = 0;
    // Keeps the rank's core busy, behind what it does already. True: over at once (packet and flow level, no time);
    // else woken() follows.
    [[nodiscard]] virtual bool work(Rank rank, Time duration, Cookie what) = 0;
    // woken() at `at` (not before now), whatever the core does. Also between two calls of advance(), for any rank.
    virtual void wake(Rank rank, Time at, Cookie what) = 0;
    // The rank will begin nothing any more. Every rank says so once; State::finished needs it of all.
    virtual void end(Rank rank) = 0;

    // These two between two calls of advance().

    // Nothing passes these ports any more; name both ends of a cable. Packet level: needs PacketOptions::retries.
    // Packets that are on the cable still arrive, those that wait for a port or come to it later are lost, and their
    // messages sent again. Flow level: messages that cross one stand still until tables lead them elsewhere. Throws
    // UsageError where nothing can fail.
    virtual void fail(std::span<const PortIndex> ports);
    // Packets that come to a switch, and messages that begin or stand still, go by these from now on. Of the same
    // switches and LIDs; they must outlive the simulation. A pair that they do not connect is no Error any more: its
    // packets are lost.
    virtual void use_tables(const routing::Tables& tables);
};

// `programs` must outlive the simulation. `network` may be empty for Level::message. Throws UsageError for options that
// make no sense, among them MessageOptions::handshake, and Error for a placement and network that do not belong
// together. Pairs that the tables do not connect are named when one sends to the other.
[[nodiscard]] std::unique_ptr<LiveSimulation> make_live_simulation(Level level, const Network& network,
                                                                   std::uint32_t ranks, Programs& programs,
                                                                   const Options& options);

}  // namespace loom::sim
