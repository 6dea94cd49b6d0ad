#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "bare/bare.hpp"

namespace loom::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Socket {
public:
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] bool there() const { return descriptor_ >= 0; }

private:
    int descriptor_;
};

sockaddr_in address_of(const std::string& side, const std::string& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
    if (side == "serve")
        address.sin_addr.s_addr = INADDR_ANY;
    else if (inet_pton(AF_INET, side.c_str(), &address.sin_addr) != 1)
        errno = EINVAL, address.sin_family = AF_UNSPEC;
    return address;
}

bool send_all(int to, const char* data, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
        const auto count = send(to, data + done, size - done, MSG_NOSIGNAL);
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

bool take_all(int from, char* data, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
        const auto count = recv(from, data + done, size - done, 0);
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

double tcp_bandwidth(std::size_t bytes, std::size_t rounds, const std::string& side, const std::string& port) {
    const sockaddr_in address = address_of(side, port);
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.there() || address.sin_family != AF_INET) return -1;
    std::vector<char> data(bytes, 'x');
    const int on = 1;
    if (side == "serve") {
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(socket.get(), where, sizeof address) != 0 || listen(socket.get(), 1) != 0) return -1;
        const Socket client(accept(socket.get(), nullptr, nullptr));
        if (!client.there()) return -1;
        for (std::size_t round = 0; round < rounds; ++round)
            if (!take_all(client.get(), data.data(), bytes)) return -1;
        return send_all(client.get(), "!", 1) ? 0 : -1;
    }
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(socket.get(), where, sizeof address) != 0) return -1;
    const auto begin = Clock::now();
    for (std::size_t round = 0; round < rounds; ++round)
        if (!send_all(socket.get(), data.data(), bytes)) return -1;
    if (!take_all(socket.get(), data.data(), 1)) return -1;  // the other side has it all
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>(bytes) * static_cast<double>(rounds) / seconds / 1e6;
}

// Both sides poll without sleeping, as programs on verbs do.
double udp_latency(std::size_t bytes, std::size_t rounds, const std::string& side, const std::string& port) {
    const sockaddr_in address = address_of(side, port);
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.there() || address.sin_family != AF_INET) return -1;
    std::vector<char> data(bytes, 'x');
    const auto take = [&](sockaddr_in* from) {
        const auto limit = Clock::now() + std::chrono::seconds(20);
        for (unsigned spins = 0;; ++spins) {
            socklen_t length = sizeof *from;
            if (recvfrom(socket.get(), data.data(), bytes, 0, reinterpret_cast<sockaddr*>(from),
                         from ? &length : nullptr) >= 0)
                return true;
            if (errno != EAGAIN || (spins % 1024 == 0 && Clock::now() > limit)) return false;
        }
    };
    if (side == "serve") {
        if (bind(socket.get(), where, sizeof address) != 0) return -1;
        for (std::size_t round = 0; round < rounds; ++round) {
            sockaddr_in from{};
            if (!take(&from)) return -1;
            if (sendto(socket.get(), data.data(), bytes, 0, reinterpret_cast<sockaddr*>(&from), sizeof from) < 0)
                return -1;
        }
        return 0;
    }
    std::vector<double> times(rounds);
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto begin = Clock::now();
        if (sendto(socket.get(), data.data(), bytes, 0, where, sizeof address) < 0 || !take(nullptr)) return -1;
        times[round] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    std::nth_element(times.begin(), times.begin() + static_cast<long>(rounds / 2), times.end());
    return times[rounds / 2] / 2;
}

}  // namespace loom::bench
