#include "hca/roce/socket.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "hca/roce/gid.hpp"
#include "loom/base/descriptor.hpp"
#include "loom/base/error.hpp"

// Newer than some C libraries' headers; the numbers are the kernel's interface.
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

namespace loom::hca::roce {
namespace {

constexpr std::size_t chunk_packets = 64;   // prepared before they are handed to the kernel in one call
constexpr std::size_t run_packets = 64;     // the kernel's limit of segments (128 in newer ones)
constexpr std::size_t run_bytes = 65507;    // of an IPv4 datagram
constexpr std::size_t staged_bytes = 4160;  // a whole datagram, rounded up
constexpr std::size_t receive_messages = 8;
constexpr std::size_t receive_bytes = 65536;
constexpr int ecn_capable = static_cast<int>(Ecn::capable0);
constexpr std::uint8_t usual_hop_limit = 64;

[[noreturn]] void refuse(const std::string& what) {
    throw IoError(what + ": " + std::strerror(errno));
}

bool set(const Descriptor& socket, int level, int name, int value) {
    return setsockopt(socket.number(), level, name, &value, sizeof value) == 0;
}

Descriptor bound_socket(const Address& address, const EndpointOptions& options) {
    const bool ipv4 = family(address.ip) == Family::ipv4;
    Descriptor socket(::socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (socket.number() < 0) refuse("no socket for RoCE");
    if (!set(socket, SOL_SOCKET, SO_REUSEPORT, 1)) refuse("RoCE port cannot be shared");
    const int in = static_cast<int>(std::min<std::size_t>(options.receive_bytes, 1u << 30));
    const int out = static_cast<int>(std::min<std::size_t>(options.send_bytes, 1u << 30));
    if (!set(socket, SOL_SOCKET, SO_RCVBUFFORCE, in)) set(socket, SOL_SOCKET, SO_RCVBUF, in);
    if (!set(socket, SOL_SOCKET, SO_SNDBUFFORCE, out)) set(socket, SOL_SOCKET, SO_SNDBUF, out);
    // Never fragmented, and not connected: so IPv4's identification is 0, or a segment's number, and the CRC can cover
    // it.
    if (ipv4) {
        if (!set(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)) refuse("RoCE packets cannot be kept whole");
        set(socket, IPPROTO_IP, IP_TOS, ecn_capable);
        set(socket, IPPROTO_IP, IP_TTL, usual_hop_limit);
        set(socket, IPPROTO_IP, IP_MULTICAST_TTL, usual_hop_limit);
        set(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0);
        set(socket, IPPROTO_IP, IP_RECVTOS, 1);
    } else {
        set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        if (!set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO))
            refuse("RoCE packets cannot be kept whole");
        set(socket, IPPROTO_IPV6, IPV6_TCLASS, ecn_capable);
        set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, usual_hop_limit);
        set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, usual_hop_limit);
        set(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
        set(socket, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);  // adapters send none: the CRC protects the packet
    }
    if (options.offload == Offload::on) {
        set(socket, IPPROTO_UDP, UDP_GRO, 1);
    } else if (ipv4) {
        set(socket, SOL_SOCKET, SO_NO_CHECK, 1);
    } else {
        set(socket, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1);
    }
    const SocketAddress name = to_socket_address(address);
    if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&name.storage), name.size) != 0)
        refuse("RoCE address " + to_string(address.ip) + " port " + std::to_string(address.port));
    return socket;
}

Address bound_address(const Descriptor& socket) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) refuse("RoCE address");
    return from_socket_address(storage);
}

// Appends one integer of ancillary data to a message whose control buffer is large enough.
template <class Number>
void attach(msghdr& message, int level, int type, Number number) {
    auto* at = reinterpret_cast<cmsghdr*>(static_cast<std::byte*>(message.msg_control) + message.msg_controllen);
    at->cmsg_level = level;
    at->cmsg_type = type;
    at->cmsg_len = CMSG_LEN(sizeof number);
    std::memcpy(CMSG_DATA(at), &number, sizeof number);
    message.msg_controllen += CMSG_SPACE(sizeof number);
}

struct Group {
    Gid ip{};
    Descriptor socket;
    std::size_t joined = 0;
};

struct alignas(cmsghdr) Control {
    std::array<std::byte, 3 * CMSG_SPACE(sizeof(int))> bytes;
};

// Everything for one call of sendmmsg. Messages are runs of packets; a run of several is cut by the kernel.
struct SendSpace {
    // How many of the messages from `first` on were taken, or -1.
    int give(int fd, std::size_t first, std::size_t count) {
        if (count > 1) return sendmmsg(fd, &messages[first], static_cast<unsigned>(count), MSG_DONTWAIT);
        const ssize_t size = sendmsg(fd, &messages[first].msg_hdr, MSG_DONTWAIT);
        messages[first].msg_len = static_cast<unsigned>(std::max<ssize_t>(size, 0));
        return size < 0 ? -1 : 1;
    }

    std::array<mmsghdr, chunk_packets> messages{};
    std::array<Control, chunk_packets> controls;
    std::array<std::uint16_t, chunk_packets> packets_in{};
    std::array<iovec, chunk_packets> pieces{};  // one a message: its packets lie back to back
    std::unique_ptr<std::byte[]> staged = std::make_unique_for_overwrite<std::byte[]>(chunk_packets * staged_bytes);
};

// Headers, payload and padding of a datagram of `size` bytes, and the CRC of those.
CrcRegister write_covered(const Outgoing& outgoing, std::size_t size, std::uint16_t id, const Envelope& envelope,
                          std::byte* at) {
    const std::size_t headers = write_headers(outgoing.packet, outgoing.payload_bytes,
                                              std::span<std::byte, max_header_bytes>(at, max_header_bytes));
    std::byte* to = at + headers;
    for (const iovec& piece : std::span(outgoing.payload, outgoing.pieces)) {
        if (piece.iov_len == 0) continue;
        std::memcpy(to, piece.iov_base, piece.iov_len);
        to += piece.iov_len;
    }
    std::memset(to, 0, padding(outgoing.payload_bytes));
    return envelope.start({at, size - sizeof(CrcRegister)}, size, id);
}

struct ReceiveSpace {
    ReceiveSpace() {
        for (std::size_t i = 0; i < receive_messages; ++i) {
            pieces[i] = {bytes.get() + i * receive_bytes, receive_bytes};
            messages[i].msg_hdr.msg_name = &sources[i];
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
            messages[i].msg_hdr.msg_control = controls[i].bytes.data();
        }
    }
    ReceiveSpace(const ReceiveSpace&) = delete;
    ReceiveSpace& operator=(const ReceiveSpace&) = delete;

    // How many of the messages asked for came, or -1.
    int take(int fd, std::size_t asked) {
        for (std::size_t i = 0; i < asked; ++i) {
            messages[i].msg_hdr.msg_namelen = sizeof sources[i];
            messages[i].msg_hdr.msg_controllen = controls[i].bytes.size();
        }
        if (asked > 1) return recvmmsg(fd, messages.data(), static_cast<unsigned>(asked), MSG_DONTWAIT, nullptr);
        const ssize_t size = recvmsg(fd, &messages[0].msg_hdr, MSG_DONTWAIT);
        messages[0].msg_len = static_cast<unsigned>(std::max<ssize_t>(size, 0));
        return size < 0 ? -1 : 1;
    }

    Datagrams read(std::size_t index) {
        msghdr& message = messages[index].msg_hdr;
        Datagrams result;
        result.source = from_socket_address(sources[index]);
        result.each = static_cast<std::uint16_t>(messages[index].msg_len);
        result.bytes = {bytes.get() + index * receive_bytes, messages[index].msg_len};
        for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
            if (at->cmsg_level == IPPROTO_UDP && at->cmsg_type == UDP_GRO) {
                int each = 0;
                std::memcpy(&each, CMSG_DATA(at), sizeof each);
                if (each > 0) result.each = static_cast<std::uint16_t>(each);
            } else if ((at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_TOS) ||
                       (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_TCLASS)) {
                result.traffic_class = *CMSG_DATA(at);  // a byte, or an int low byte first
            }
        }
        return result;
    }

    std::array<mmsghdr, receive_messages> messages{};
    std::array<Control, receive_messages> controls;
    std::array<iovec, receive_messages> pieces{};
    std::array<sockaddr_storage, receive_messages> sources{};
    std::unique_ptr<std::byte[]> bytes = std::make_unique_for_overwrite<std::byte[]>(receive_messages * receive_bytes);
    std::size_t ask = 1;
};

}  // namespace

struct Endpoint::State {
    State(const Address& address, const EndpointOptions& given) : options(given), socket(bound_socket(address, given)) {
        local = bound_address(socket);
        local.scope = address.scope;
        LocalAddresses addresses;
        const auto found = addresses.find(local.ip);
        if (!found) return;
        interface = found->index;
        if (family(local.ip) == Family::ipv4) {
            ip_mreqn request{};
            request.imr_ifindex = static_cast<int>(interface);
            setsockopt(socket.number(), IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request);
        } else {
            set(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface));
        }
    }

    EndpointOptions options;
    Descriptor socket;
    Address local;
    std::uint32_t interface = 0;  // index of the one that has the address; 0: not known
    EndpointCounters counters;
    std::vector<Group> groups;
    SendSpace sending;
    ReceiveSpace receiving;
    IdentificationGuard guard;

    struct Chunk {
        std::size_t messages = 0;
        std::size_t packets = 0;
    };
    void start_message(std::size_t index, const Destination& to, const SocketAddress& name);
    Chunk prepare(const Destination& to, const SocketAddress& name, const Envelope& envelope,
                  std::span<const Outgoing> packets, Offload offload);
    std::size_t receive_from(const Descriptor& from, const Gid& destination, Sink& sink, std::size_t budget);
    void sort(const Datagrams& datagrams, Sink& sink);
    void check(const Datagrams& datagrams, Sink& sink);
};

// Writes packets back to back until the chunk is full; a packet joins the run before it when the kernel may cut that
// run into equal datagrams. Payloads are copied: that costs no more than handing their pieces to the kernel (the CRC
// has to read them anyway, and the kernel then reads from the cache), and the CRC fits what is sent even if the program
// writes to the memory meanwhile.
Endpoint::State::Chunk Endpoint::State::prepare(const Destination& to, const SocketAddress& name,
                                                const Envelope& envelope, std::span<const Outgoing> packets,
                                                Offload offload) {
    Chunk chunk;
    std::byte* at = sending.staged.get();
    std::size_t each = 0;  // length of the first packet of the run, and of all but its last
    bool open = false;     // the run may grow
    for (const Outgoing& outgoing : packets.first(std::min(packets.size(), chunk_packets))) {
        const std::size_t size = datagram_bytes(outgoing.packet, outgoing.payload_bytes);
        const bool joins = open && size <= each && sending.pieces[chunk.messages - 1].iov_len + size <= run_bytes;
        if (!joins) {
            start_message(chunk.messages, to, name);
            sending.pieces[chunk.messages++] = {at, 0};
            each = size;
        }
        std::uint16_t& count = sending.packets_in[chunk.messages - 1];
        const CrcRegister crc =
            ~write_covered(outgoing, size, count, envelope, at);  // the kernel numbers a run's datagrams
        std::memcpy(at + size - sizeof crc, &crc, sizeof crc);
        at += size;
        sending.pieces[chunk.messages - 1].iov_len += size;
        ++count;
        if (count == 2)
            attach(sending.messages[chunk.messages - 1].msg_hdr, IPPROTO_UDP, UDP_SEGMENT,
                   static_cast<std::uint16_t>(each));
        open = offload == Offload::on && size == each && count < run_packets;
        ++chunk.packets;
    }
    return chunk;
}

void Endpoint::State::start_message(std::size_t index, const Destination& to, const SocketAddress& name) {
    const bool ipv4 = family(local.ip) == Family::ipv4;
    const int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
    msghdr& message = sending.messages[index].msg_hdr;
    message = {};
    message.msg_name = const_cast<sockaddr_storage*>(&name.storage);
    message.msg_namelen = name.size;
    message.msg_iov = &sending.pieces[index];
    message.msg_iovlen = 1;
    message.msg_control = sending.controls[index].bytes.data();
    const int traffic_class = to.traffic_class & 0xfc;
    if (traffic_class != 0) attach(message, level, ipv4 ? IP_TOS : IPV6_TCLASS, traffic_class | ecn_capable);
    if (to.hop_limit != 0 && to.hop_limit != usual_hop_limit)
        attach(message, level, ipv4 ? IP_TTL : IPV6_HOPLIMIT, static_cast<int>(to.hop_limit));
    sending.packets_in[index] = 0;
}

Endpoint::Endpoint(const Address& local, const EndpointOptions& options)
    : state_(std::make_unique<State>(local, options)) {}
Endpoint::~Endpoint() = default;
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&&) noexcept = default;

const Address& Endpoint::local() const {
    return state_->local;
}
int Endpoint::fd() const {
    return state_->socket.number();
}
Offload Endpoint::offload() const {
    return state_->options.offload;
}
const EndpointCounters& Endpoint::counters() const {
    return state_->counters;
}
std::size_t Endpoint::send(const Destination& to, std::span<const Outgoing> packets) {
    State& state = *state_;
    SendSpace& sending = state.sending;
    EndpointCounters& counters = state.counters;
    const SocketAddress name = to_socket_address(to.address);
    const Envelope envelope(state.local, to.address);
    std::size_t taken = 0;
    Offload offload = state.options.offload;
    while (taken < packets.size()) {
        const auto chunk = state.prepare(to, name, envelope, packets.subspan(taken), offload);
        for (std::size_t at = 0; at < chunk.messages;) {
            ++counters.send_calls;
            const int sent = sending.give(state.socket.number(), at, chunk.messages - at);
            if (sent > 0) {
                for (const std::size_t end = at + static_cast<std::size_t>(sent); at < end; ++at) {
                    counters.sent_packets += sending.packets_in[at];
                    counters.sent_bytes += sending.messages[at].msg_len;
                    if (sending.packets_in[at] > 1) ++counters.offload_batches;
                    taken += sending.packets_in[at];
                }
                continue;
            }
            if (errno == EINTR) continue;
            if (errno == EAGAIN) {
                ++counters.refused_full;
                return taken;
            }
            if (sending.packets_in[at] >
                1) {  // this way or this interface cannot cut runs: what is left goes one by one
                if (errno == EIO) state.options.offload = Offload::off;
                offload = Offload::off;
                break;
            }
            ++counters.send_errors;
            ++taken;
            ++at;
        }
    }
    return taken;
}

bool Endpoint::await_room(int most_ms) const {
    pollfd socket{state_->socket.number(), POLLOUT, 0};
    return ::poll(&socket, 1, most_ms) > 0;
}

void Endpoint::notify(const Destination& to, QpNumber qpn) {
    static constexpr std::array<std::byte, notification_bytes> zeros{};
    const iovec payload{const_cast<std::byte*>(zeros.data()), zeros.size()};
    const Outgoing outgoing{notification(qpn), &payload, 1, notification_bytes};
    send(to, {&outgoing, 1});
}

// Datagrams as they came from the kernel: those of other processes' queue pairs go their way in runs.
void Endpoint::State::sort(const Datagrams& datagrams, Sink& sink) {
    if (options.slot == 0) return check(datagrams, sink);
    const auto owner = [&](std::span<const std::byte> datagram) {
        if (datagram.size() < 8) return options.slot;
        const QpNumber qpn = destination_qpn(datagram);
        const std::uint32_t slot = slot_of(qpn);
        return qpn == multicast_qpn || slot == 0 ? options.slot : slot;
    };
    Datagrams run = datagrams;
    std::span<const std::byte> rest = datagrams.bytes;
    while (!rest.empty()) {
        std::size_t size = std::min<std::size_t>(datagrams.each, rest.size());
        const std::uint32_t slot = owner(rest.first(size));
        std::size_t count = 1;
        while (size < rest.size()) {
            const auto next = rest.subspan(size, std::min<std::size_t>(datagrams.each, rest.size() - size));
            if (owner(next) != slot) break;
            size += next.size();
            ++count;
        }
        run.bytes = rest.first(size);
        rest = rest.subspan(size);
        if (slot == options.slot) {
            check(run, sink);
        } else {
            counters.foreign_packets += count;
            sink.foreign(slot, run);
        }
    }
}

void Endpoint::State::check(const Datagrams& datagrams, Sink& sink) {
    const Envelope arrived(datagrams.source, {datagrams.destination, local.port});
    IdentificationGuard::Source& source = guard.of(datagrams.source);
    std::span<const std::byte> rest = datagrams.bytes;
    const bool marked = static_cast<Ecn>(datagrams.traffic_class & 3) == Ecn::congested;
    while (!rest.empty()) {
        const auto datagram = rest.first(std::min<std::size_t>(datagrams.each, rest.size()));
        rest = rest.subspan(datagram.size());
        Parsed parsed = parse(datagram);
        if (parsed.drop == Drop::none) {
            const auto identification = arrived.identify(datagram);
            if (!identification || !source.plausible(*identification)) parsed.drop = Drop::crc;
        }
        ++counters.received_packets;
        counters.received_bytes += datagram.size();
        if (marked) ++counters.congestion_marks;
        if (parsed.drop != Drop::none) {
            ++counters.dropped[static_cast<std::size_t>(parsed.drop)];
            continue;
        }
        sink.arrived({datagrams.source, datagrams.destination, datagrams.traffic_class, parsed.packet, parsed.payload});
    }
}

// Asking for one message is the quickest when a packet is waited for, asking for many when they stream in: so the
// number asked for follows what came.
std::size_t Endpoint::State::receive_from(const Descriptor& from, const Gid& destination, Sink& sink,
                                          std::size_t budget) {
    std::size_t packets = 0;
    while (packets < budget) {
        const std::size_t asked = receiving.ask;
        ++counters.receive_calls;
        const int result = receiving.take(from.number(), asked);
        if (result < 0 && errno != EAGAIN && errno != EINTR) ++counters.receive_errors;
        const auto count = static_cast<std::size_t>(std::max(result, 0));
        receiving.ask = count == asked ? std::min(2 * asked, receive_messages) : std::max<std::size_t>(count, 1);
        for (std::size_t i = 0; i < count; ++i) {
            Datagrams datagrams = receiving.read(i);
            datagrams.destination = destination;
            if (datagrams.bytes.empty()) {
                ++packets;
                ++counters.received_packets;
                ++counters.dropped[static_cast<std::size_t>(Drop::too_short)];
                continue;
            }
            packets += (datagrams.bytes.size() + datagrams.each - 1) / datagrams.each;
            sort(datagrams, sink);
        }
        if (count < asked || asked == 1) break;
    }
    return packets;
}

std::size_t Endpoint::receive(Sink& sink, std::size_t budget) {
    std::size_t packets = state_->receive_from(state_->socket, state_->local.ip, sink, budget);
    for (std::size_t i = 0; i < state_->groups.size() && packets < budget; ++i)
        packets += state_->receive_from(state_->groups[i].socket, state_->groups[i].ip, sink, budget - packets);
    return packets;
}

void Endpoint::accept(const Datagrams& datagrams, Sink& sink) {
    Datagrams whole = datagrams;
    if (whole.each == 0) whole.each = static_cast<std::uint16_t>(std::min<std::size_t>(whole.bytes.size(), 0xffff));
    state_->check(whole, sink);
}

int Endpoint::join(const Gid& group) {
    State& state = *state_;
    const Gid ip = multicast_ip(group, family(state.local.ip));
    for (Group& known : state.groups) {
        if (known.ip != ip) continue;
        ++known.joined;
        return known.socket.number();
    }
    const Address address{ip, state.local.port, state.interface};
    Group added{ip, bound_socket(address, state.options), 1};
    group_req request{};
    request.gr_interface = state.interface;
    request.gr_group = to_socket_address(address).storage;
    const int level = family(ip) == Family::ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
    if (setsockopt(added.socket.number(), level, MCAST_JOIN_GROUP, &request, sizeof request) != 0)
        refuse("multicast group " + to_string(ip));
    state.groups.push_back(std::move(added));
    return state.groups.back().socket.number();
}

void Endpoint::leave(const Gid& group) {
    const Gid ip = multicast_ip(group, family(state_->local.ip));
    std::erase_if(state_->groups, [&](Group& known) { return known.ip == ip && --known.joined == 0; });
}

}  // namespace loom::hca::roce
