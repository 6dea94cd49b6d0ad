// The control channel: messages over a TCP connection, each behind its length.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "loom/base/descriptor.hpp"
#include "loom/base/time.hpp"
#include "session/control/message.hpp"

namespace loom::session {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] std::uint16_t port() const;
    void set_port(std::uint16_t port);
};

// "HOST:PORT" or "[HOST]:PORT". Throws UsageError.
[[nodiscard]] SocketAddress parse_address(const std::string& address, bool to_listen);

// A listening TCP socket. Throws IoError.
[[nodiscard]] Descriptor listen_at(const SocketAddress& address);
[[nodiscard]] SocketAddress own_address(int socket);
[[nodiscard]] SocketAddress peer_address(int socket);

class ControlSocket {
public:
    explicit ControlSocket(Descriptor socket);
    // Throws IoError when nobody answers by then.
    [[nodiscard]] static ControlSocket connect(const SocketAddress& address, Time deadline);

    [[nodiscard]] int number() const { return socket_.number(); }
    // What the peer does not read is kept, up to a bound; beyond it the session is lost.
    void say(const ControlMessage& message);
    // Sends what is kept, as far as it goes now.
    void flush();
    [[nodiscard]] bool wants_to_write() const { return !unsent_.empty(); }
    // The next message that is there. Throws ParseError for what is none, IoError when the connection has ended.
    [[nodiscard]] std::optional<ControlMessage> hear();
    // Waits for it. Throws IoError when it does not come by then.
    [[nodiscard]] ControlMessage hear_until(Time deadline);
    // Longest segment of a UDP packet on this way that is not fragmented.
    [[nodiscard]] std::size_t datagram_bytes() const;

private:
    static constexpr std::size_t most_unsent = std::size_t{64} << 10;
    Descriptor socket_;
    Bytes unsent_, unread_;
};

}  // namespace loom::session
