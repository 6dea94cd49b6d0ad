#include "hca/kit/rendezvous.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "loom/base/error.hpp"

namespace loom::kit {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(what + ": " + std::strerror(errno));
}

sockaddr_in parse(const std::string& address, std::uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(port);
    if (inet_pton(AF_INET, address.c_str(), &result.sin_addr) != 1)
        throw UsageError("expected an IPv4 address, not '" + address + "'");
    return result;
}

}  // namespace

Rendezvous::Rendezvous(int socket, double patience) : socket_(socket) {
    const int one = 1;
    const timeval limit{static_cast<time_t>(patience) + 1, 0};
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Rendezvous::Rendezvous(Rendezvous&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}

Rendezvous::~Rendezvous() {
    if (socket_ >= 0) close(socket_);
}

Rendezvous Rendezvous::as_server(const std::string& address, std::uint16_t port, double patience) {
    const sockaddr_in own = parse(address, port);
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listening, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 || listen(listening, 1) != 0)
        refuse("cannot listen on " + address);
    pollfd waiting{listening, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(patience * 1000)) != 1) throw Error("no client came");
    const int accepted = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    close(listening);
    if (accepted < 0) refuse("cannot accept");
    return {accepted, patience};
}

Rendezvous Rendezvous::as_client(const std::string& address, std::uint16_t port, double patience) {
    const sockaddr_in target = parse(address, port);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
    for (;;) {
        const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0) return {client, patience};
        close(client);
        if (std::chrono::steady_clock::now() > end) refuse("cannot connect to " + address);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the server may not listen yet
    }
}

std::string Rendezvous::exchange(const std::string& line) {
    const std::string out = line + "\n";
    if (send(socket_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
        refuse("cannot talk to the other side");
    std::size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
        char buffer[1024];
        const ssize_t length = recv(socket_, buffer, sizeof buffer, 0);
        if (length == 0) throw Error("the other side has gone while we were at '" + line + "'");
        if (length < 0) refuse("the other side does not answer at '" + line + "'");
        received_.append(buffer, static_cast<std::size_t>(length));
    }
    const std::string result = received_.substr(0, end);
    received_.erase(0, end + 1);
    return result;
}

void Rendezvous::meet(const std::string& where) {
    const std::string other = exchange(where);
    if (other != where) throw Error("we are at '" + where + "', the other side at '" + other + "'");
}

}  // namespace loom::kit
