#include "support/network/capture.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>

#include "loom/base/error.hpp"

namespace loom::test {

class Capture::Implementation {
public:
    Implementation(const std::string& interface, const std::filesystem::path& file)
        : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)), out_(file, std::ios::binary) {
        const int buffer = 64 * 1024 * 1024;
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
        if (socket_ < 0 || !out_ || address.sll_ifindex == 0 ||
            setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0 ||
            bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            const std::string why = std::strerror(errno);
            if (socket_ >= 0) close(socket_);
            throw Error("cannot capture on " + interface + ": " + why);
        }
        // Magic number, version 2.4, no offset, no accuracy, whole frames, Ethernet.
        for (const std::uint32_t word : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 262144u, 1u}) put(word);
        thread_ = std::thread([this] { record(); });
    }

    ~Implementation() {
        stop();
        close(socket_);
    }

    Seen stop() {
        if (thread_.joinable()) {
            stopping_ = true;
            thread_.join();
            out_.close();
            tpacket_stats kernel{};
            socklen_t size = sizeof kernel;
            if (getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &kernel, &size) == 0) seen_.missed = kernel.tp_drops;
        }
        return seen_;
    }

private:
    void put(std::uint32_t word) { out_.write(reinterpret_cast<const char*>(&word), sizeof word); }

    void record() {
        std::array<char, 65536 + 64> buffer;
        for (;;) {
            const bool last_look = stopping_;
            pollfd readable{socket_, POLLIN, 0};
            while (::poll(&readable, 1, last_look ? 0 : 10) == 1) {
                const ssize_t length = recv(socket_, buffer.data(), buffer.size(), 0);
                if (length <= 0) break;
                const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
                put(static_cast<std::uint32_t>(now / 1'000'000));
                put(static_cast<std::uint32_t>(now % 1'000'000));
                put(static_cast<std::uint32_t>(length));
                put(static_cast<std::uint32_t>(length));
                out_.write(buffer.data(), length);
                ++seen_.frames;
            }
            if (last_look) return;
        }
    }

    int socket_;
    std::ofstream out_;
    Seen seen_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

Capture::Capture(const std::string& interface, const std::filesystem::path& file)
    : implementation_(std::make_unique<Implementation>(interface, file)) {}

Capture::~Capture() = default;

Capture::Seen Capture::stop() {
    return implementation_->stop();
}

}  // namespace loom::test
