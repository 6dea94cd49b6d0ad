#include "session/control/socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "session/stack/bytes.hpp"

namespace loom::session {

namespace {

constexpr std::size_t length_bytes = 2;

[[noreturn]] void fail(const std::string& what) {
    throw IoError(what + ": " + std::strerror(errno));
}

int milliseconds_until(Time deadline) {
    if (deadline == never) return 60'000;
    const std::int64_t left = (deadline - now()).ps / milliseconds(1).ps + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// False when it does not come by then.
bool await(int socket, short what, Time deadline) {
    for (;;) {
        pollfd waiting{socket, what, 0};
        const int ready = poll(&waiting, 1, milliseconds_until(deadline));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) fail("cannot wait for the control channel");
        if (now() >= deadline) return false;
    }
}

void set(int socket, int level, int option, int value) {
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

std::uint16_t SocketAddress::port() const {
    return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                                               : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

void SocketAddress::set_port(std::uint16_t port) {
    if (storage.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
    else
        reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
}

SocketAddress parse_address(const std::string& address, bool to_listen) {
    const std::size_t colon = address.rfind(':');
    const std::string digits = colon == std::string::npos ? "" : address.substr(colon + 1);
    unsigned port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || port > 65535)
        throw UsageError(fmt::format("'{}': expected HOST:PORT", address));
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = to_listen ? AI_PASSIVE : 0;
    const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), digits.c_str(), &hints, &found);
    if (code != 0) throw UsageError(fmt::format("'{}': {}", address, gai_strerror(code)));
    SocketAddress result;
    result.size = found->ai_addrlen;
    std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return result;
}

Descriptor listen_at(const SocketAddress& address) {
    Descriptor made(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.open()) fail("cannot make a socket");
    set(made.number(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(made.number(), address.raw(), address.size) != 0 || ::listen(made.number(), 64) != 0)
        fail("cannot listen for sessions");
    return made;
}

SocketAddress own_address(int socket) {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (getsockname(socket, address.raw(), &address.size) != 0) fail("cannot read the address of a socket");
    return address;
}

SocketAddress peer_address(int socket) {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (getpeername(socket, address.raw(), &address.size) != 0) fail("cannot read the address of a peer");
    return address;
}

// A peer whose host is gone is noticed after some seconds.
ControlSocket::ControlSocket(Descriptor socket) : socket_(std::move(socket)) {
    const int number = socket_.number();
    if (fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) != 0) fail("cannot set up a socket");
    set(number, IPPROTO_TCP, TCP_NODELAY, 1);
    set(number, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(number, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(number, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(number, IPPROTO_TCP, TCP_KEEPCNT, 5);
    set(number, IPPROTO_TCP, TCP_USER_TIMEOUT, 7000);
}

ControlSocket ControlSocket::connect(const SocketAddress& address, Time deadline) {
    Descriptor made(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.open()) fail("cannot make a socket");
    if (::connect(made.number(), address.raw(), address.size) != 0) {
        if (errno != EINPROGRESS) fail("cannot open a session");
        if (!await(made.number(), POLLOUT, deadline)) throw IoError("cannot open a session: nobody answers");
        socklen_t size = sizeof errno;
        if (getsockopt(made.number(), SOL_SOCKET, SO_ERROR, &errno, &size) != 0 || errno != 0)
            fail("cannot open a session");
    }
    return ControlSocket(std::move(made));
}

void ControlSocket::say(const ControlMessage& message) {
    const Bytes bytes = encode(message);
    if (unsent_.size() + bytes.size() > most_unsent) throw IoError("the other end does not read the control channel");
    std::array<std::byte, length_bytes> length;
    put<length_bytes>(length.data(), bytes.size());
    unsent_.insert(unsent_.end(), length.begin(), length.end());
    unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
    flush();
}

void ControlSocket::flush() {
    while (!unsent_.empty()) {
        const ssize_t sent = ::send(socket_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) fail("the connection to the other end has ended");
        unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
    }
}

std::optional<ControlMessage> ControlSocket::hear() {
    for (;;) {
        if (unread_.size() >= length_bytes) {
            const std::uint64_t length = get<length_bytes>(unread_.data());
            if (length > most_control_bytes) throw ParseError("control channel", 0, "expected a shorter message");
            if (unread_.size() >= length_bytes + length) {
                ControlMessage message = decode(std::span(unread_).subspan(length_bytes, length));
                unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(length_bytes + length));
                return message;
            }
        }
        std::array<std::byte, most_control_bytes> part;
        const ssize_t got = recv(socket_.number(), part.data(), part.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
        if (got < 0) fail("the connection to the other end has ended");
        if (got == 0) throw IoError("the other end is gone");
        unread_.insert(unread_.end(), part.begin(), part.begin() + got);
    }
}

ControlMessage ControlSocket::hear_until(Time deadline) {
    for (;;) {
        if (auto message = hear()) return *std::move(message);
        if (!await(socket_.number(), POLLIN, deadline)) throw IoError("the other end does not answer");
    }
}

std::size_t ControlSocket::datagram_bytes() const {
    const bool six = own_address(socket_.number()).storage.ss_family == AF_INET6;
    int mtu = 1280;
    socklen_t size = sizeof mtu;
    (void)(six ? getsockopt(socket_.number(), IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
               : getsockopt(socket_.number(), IPPROTO_IP, IP_MTU, &mtu, &size));
    constexpr int least = 576, most = 16'384;
    return static_cast<std::size_t>(std::clamp(mtu, least, most) - (six ? 48 : 28));
}

}  // namespace loom::session
