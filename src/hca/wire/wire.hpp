// How packets travel between queue pairs. A path names its wire when it is found: the ring inside a host, RoCEv2
// between hosts, or one that leads nowhere. What the protocol needs to know of the way it asks here.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "hca/host/shared.hpp"
#include "hca/protocol/packet.hpp"

namespace loom::hca {

struct Answer;
struct Engine;
struct Path;
struct Qp;
struct SendWqe;

// What a packet carries: bytes [offset, offset + length) of a list of pieces, or of `bytes` when that is not null.
struct Load {
    std::span<const ibv_sge> gather{};
    std::uint32_t offset = 0, length = 0;
    std::uint8_t flags = 0;  // Entry's, for the ring
    const std::uint8_t* bytes = nullptr;
};

// What to do when an acknowledgement is missing, and when to look again (ns). wait: nothing; ask: send the last packet
// again, no packet has requested an acknowledgement yet; probe: send the last packet again, to hear what is missing;
// resend: send again from the oldest unacknowledged packet; give_up: fail the request.
struct Overdue {
    enum class Verdict : std::uint8_t { wait, ask, probe, resend, give_up } verdict;
    std::uint64_t next = 0;
};

class Wire {
public:
    virtual ~Wire() = default;
    Wire(const Wire&) = delete;

    // One packet of either half. False: no room now; the queue pair is noted and runs again when there is. What nobody
    // takes is dropped: the sender does not know of it.
    bool send(Qp& qp, const Path& path, const Packet& packet, const Load& load = {});

    [[nodiscard]] virtual std::uint32_t mtu(ibv_mtu asked) const;  // bytes in a packet
    [[nodiscard]] virtual Way counted_as(Way inside_host) const { return inside_host; }

    // Reads: bytes that one request asks for, and of answers that may be under way: nothing else paces them.
    [[nodiscard]] virtual std::uint32_t read_chunk() const { return ~0u; }
    [[nodiscard]] virtual std::uint32_t read_window() const { return ~0u; }

    // Packets may be lost on it: it paces what is sent, and timers send again.
    [[nodiscard]] bool lossy() const { return lossy_; }
    // How many packets the queue pair may send now; 0: it runs again when it may.
    virtual std::uint32_t allowance(Qp&) { return ~0u; }
    // Lossy wires only. Sends as many of the remaining packets of a request, or of the answer to a read, as may go now;
    // returns how many. The queue pair runs again when there is room, or when an acknowledgement opens the window.
    virtual std::uint32_t send_run(Qp&, const SendWqe&, std::span<const ibv_sge>) { return 0; }
    virtual std::uint32_t send_response(Qp&, const Answer&, const std::uint8_t*) { return 0; }
    // Whether the last packet of an unsignalled request requests an acknowledgement all the same.
    virtual bool asks(Qp&, const SendWqe&) { return true; }
    // Packets are under way, and none of them has requested an acknowledgement.
    virtual bool unasked(Qp&) { return false; }
    // An acknowledgement was requested and has not come.
    virtual bool awaits_answer(Qp&) { return false; }
    virtual void progressed(Qp&, std::uint32_t /*packets*/) {}  // so many more are acknowledged
    virtual void lost(Qp&) {}
    virtual void await_room(const Qp&, int /*most_ms*/) {}
    // A timer starts: until when the oldest packet may stay unanswered, ns.
    virtual std::uint64_t retry_time(Qp& qp);
    // The oldest has stayed unanswered for that long.
    virtual Overdue overdue(Qp& qp, std::uint64_t now);

protected:
    enum class Put : std::uint8_t { sent, dropped, waits };

    Wire(Engine& engine, bool lossy) : engine_(engine), lossy_(lossy) {}
    virtual Put put(Qp& qp, const Path& path, const Packet& packet, const Load& load) = 0;
    virtual void lost_by_fault(Qp&, const Packet&) {}

    Engine& engine_;

private:
    bool lossy_;
};

// Of paths that lead nowhere.
class Nowhere final : public Wire {
public:
    explicit Nowhere(Engine& engine) : Wire(engine, false) {}

private:
    Put put(Qp&, const Path&, const Packet&, const Load&) override { return Put::dropped; }
};

}  // namespace loom::hca
