#include "session/physical/ethernet.hpp"

#include <netinet/udp.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "loom/base/error.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace loom::session {

namespace {

constexpr std::size_t datagram_bytes = 65'536;

[[noreturn]] void fail(const char* what) {
    throw IoError(std::string(what) + ": " + std::strerror(errno));
}

void ask(int socket, int level, int option, int value) {
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Ethernet::Ethernet(SocketAddress own) {
    own.set_port(0);
    socket_ = Descriptor(socket(own.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.open() || bind(socket_.number(), own.raw(), own.size) != 0) fail("cannot make a UDP socket");
    constexpr int buffer = 4 << 20;
    for (const int option : {SO_RCVBUFFORCE, SO_RCVBUF}) ask(socket_.number(), SOL_SOCKET, option, buffer);
    ask(socket_.number(), SOL_SOCKET, SO_SNDBUF, 1 << 20);
    ask(socket_.number(), SOL_UDP, UDP_GRO, 1);
}

void Ethernet::connect(const SocketAddress& peer, std::size_t segment_bytes) {
    if (::connect(socket_.number(), peer.raw(), peer.size) != 0) fail("cannot reach the other end by UDP");
    segment_bytes_ = segment_bytes;
    out_.resize(blocks * segment_bytes);
    in_.resize(datagrams * datagram_bytes);
}

std::uint16_t Ethernet::port() const {
    return own_address(socket_.number()).port();
}

std::span<std::byte> Ethernet::block() {
    if (first_ + lengths_.size() == blocks) {
        flush();
        if (!lengths_.empty()) return {};
    }
    return std::span(out_).subspan((first_ + lengths_.size()) * segment_bytes_, segment_bytes_);
}

void Ethernet::push(std::size_t bytes) {
    lengths_.push_back(bytes);
}

// Those that the kernel takes as one: all but the last are full.
std::size_t Ethernet::send_run(std::size_t first, std::size_t count) {
    std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += lengths_[i];
    iovec part{out_.data() + first * segment_bytes_, bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 1) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto size = static_cast<std::uint16_t>(segment_bytes_);
        std::memcpy(CMSG_DATA(header), &size, sizeof size);
    }
    if (sendmsg(socket_.number(), &message, MSG_NOSIGNAL) >= 0) return count;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
        blocked_ = true;
        return 0;
    }
    if (count > 1 && (errno == EIO || errno == EINVAL || errno == EOPNOTSUPP)) {
        gso_ = false;
        return 0;
    }
    // Nobody listens there at present, or the way is gone: the control channel finds out which. A lost segment is
    // ordinary.
    if (errno == ECONNREFUSED || errno == EINTR || errno == EMSGSIZE || errno == EPERM) return count;
    if (errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN) return count;
    failure_ = std::string("UDP does not work any more: ") + std::strerror(errno);
    return count;
}

void Ethernet::flush() {
    blocked_ = false;
    while (!lengths_.empty() && !blocked_) {
        std::size_t count = 1;
        const std::size_t most = gso_ ? std::min(blocks, most_at_once / segment_bytes_) : 1;
        while (count < most && count < lengths_.size() && lengths_[count - 1] == segment_bytes_) ++count;
        const std::size_t sent = send_run(first_, count);
        lengths_.erase(lengths_.begin(), lengths_.begin() + static_cast<std::ptrdiff_t>(sent));
        first_ += sent;
    }
    if (lengths_.empty()) first_ = 0;
}

void Ethernet::fill() {
    std::array<mmsghdr, datagrams> messages{};
    std::array<iovec, datagrams> parts;
    std::array<std::array<char, CMSG_SPACE(sizeof(int))>, datagrams> controls{};
    for (std::size_t i = 0; i < datagrams; ++i) {
        parts[i] = {in_.data() + i * datagram_bytes, datagram_bytes};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_control = controls[i].data();
        messages[i].msg_hdr.msg_controllen = controls[i].size();
    }
    const int got = recvmmsg(socket_.number(), messages.data(), datagrams, 0, nullptr);
    for (int i = 0; i < got; ++i) {
        msghdr& message = messages[static_cast<std::size_t>(i)].msg_hdr;
        const std::size_t length = messages[static_cast<std::size_t>(i)].msg_len;
        std::size_t piece = length;
        for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
            if (each->cmsg_level != SOL_UDP || each->cmsg_type != UDP_GRO) continue;
            int size = 0;
            std::memcpy(&size, CMSG_DATA(each), sizeof size);
            if (size > 0) piece = static_cast<std::size_t>(size);
        }
        const std::size_t begin = static_cast<std::size_t>(i) * datagram_bytes;
        if (length > 0) arrived_.push_back({begin, begin + length, piece});
    }
}

std::span<std::byte> Ethernet::pop() {
    if (arrived_.empty()) fill();
    if (arrived_.empty()) return {};
    Datagram& datagram = arrived_.front();
    const std::size_t begin = datagram.at, size = std::min(datagram.piece, datagram.end - datagram.at);
    datagram.at += size;
    if (datagram.at == datagram.end) arrived_.pop_front();
    return std::span(in_).subspan(begin, size);
}

}  // namespace loom::session
