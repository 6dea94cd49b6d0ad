// One RoCE endpoint: an IP address and UDP port from which packets are sent and on which they arrive. Never blocks.
// Not thread-safe, except that one thread may send while another receives.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hca/protocol/packet.hpp"
#include "hca/roce/address.hpp"
#include "hca/roce/codec.hpp"

namespace loom::hca::roce {

enum class Offload : std::uint8_t { off, on };  // UDP segmentation when sending and its inverse when receiving

struct EndpointOptions {
    // Off: one datagram is one packet for captures and relays, and carries no UDP checksum, as adapters send it.
    Offload offload = Offload::on;
    // Queue pairs whose number has another slot belong to other processes; 0: all are ours.
    std::uint32_t slot = 0;
    // Asked of the kernel, which may give less. What is sent waits in front of the wire, and everything that is sent
    // later behind it, acknowledgements too: no more than keeps the wire busy until the sender looks again.
    std::size_t receive_bytes = std::size_t{8} << 20;
    std::size_t send_bytes = std::size_t{256} << 10;
};

struct Destination {
    Address address;
    std::uint8_t traffic_class = 0;  // its upper six bits are used; the lower two always say ECN-capable
    std::uint8_t hop_limit = 0;      // 0: 64
};

// A packet to be sent. The payload stays the caller's and is read during the call only.
struct Outgoing {
    Packet packet;
    const iovec* payload = nullptr;
    std::uint32_t pieces = 0;
    std::uint32_t payload_bytes = 0;  // sum of the pieces; at most 4096
};

// One or more datagrams of one flow, back to back: all of `each` bytes but the last, which may be shorter.
struct Datagrams {
    Address source;
    Gid destination{};  // ours, or a multicast group
    std::uint8_t traffic_class = 0;
    std::uint16_t each = 0;
    std::span<const std::byte> bytes;
};

enum class Ecn : std::uint8_t { not_capable = 0, capable1 = 1, capable0 = 2, congested = 3 };

// A checked packet; everything in it is valid during the call only.
struct Arrival {
    const Address& source;
    const Gid& destination;
    std::uint8_t traffic_class;
    const Packet& packet;
    std::span<const std::byte> payload;

    [[nodiscard]] Ecn ecn() const { return static_cast<Ecn>(traffic_class & 3); }
};

// What the owner of an endpoint does with what arrives. May send on the endpoint; not receive, join or leave.
class Sink {
public:
    virtual void arrived(const Arrival& arrival) = 0;
    // Unchecked datagrams for another process's slot: hand them to its Endpoint::accept.
    virtual void foreign(std::uint32_t slot, const Datagrams& datagrams) = 0;

protected:
    ~Sink() = default;
};

// Plain numbers since the endpoint was made.
struct EndpointCounters {
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;  // UDP payload
    std::uint64_t send_calls = 0;
    std::uint64_t offload_batches = 0;  // runs of packets the kernel cut into datagrams
    std::uint64_t refused_full = 0;     // calls that ended because the socket buffer was full
    std::uint64_t send_errors =
        0;  // packets lost to an error of the network (no route, too big): as if the wire lost them
    std::uint64_t received_packets = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t receive_calls = 0;
    std::uint64_t receive_errors = 0;
    std::uint64_t foreign_packets = 0;
    std::uint64_t congestion_marks = 0;
    std::array<std::uint64_t, drop_kinds> dropped{};  // by Drop
};

class Endpoint {
public:
    // Binds; the port may be shared with other processes of this user. Port 0: the kernel chooses. IoError if refused.
    explicit Endpoint(const Address& local, const EndpointOptions& options = {});
    ~Endpoint();
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;

    [[nodiscard]] const Address& local() const;
    [[nodiscard]] int fd() const;  // readable when something waits; for epoll
    [[nodiscard]] Offload offload() const;

    // Sends to one destination and returns how many packets, from the first on, were taken; fewer than all only when
    // the socket buffer is full (try again once writable). Payloads are read while the call lasts. Runs of packets of
    // equal length go to the kernel as one, so a long message is best given whole: 1 MiB at 4096 bytes is about 18
    // datagrams to the kernel.
    std::size_t send(const Destination& to, std::span<const Outgoing> packets);
    // Whether a socket that was full has half of its room again by then. A system call.
    bool await_room(int most_ms) const;

    // A congestion notification for the sender of a flow, its queue pair `qpn`. Lost if the socket buffer is full.
    void notify(const Destination& to, QpNumber qpn);

    // Takes in what waits, about `budget` packets at most, and returns how many packets there were (dropped ones
    // count): 0 when nothing waited.
    std::size_t receive(Sink& sink, std::size_t budget);

    // Datagrams that another process received and handed over: checked as if they had just arrived here.
    void accept(const Datagrams& datagrams, Sink& sink);

    // Joins the group's multicast address on the endpoint's interface; returns the descriptor that becomes readable for
    // it (receive() drains it too). Joining again counts. IoError if refused.
    int join(const Gid& group);
    void leave(const Gid& group);

    [[nodiscard]] const EndpointCounters& counters() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace loom::hca::roce
