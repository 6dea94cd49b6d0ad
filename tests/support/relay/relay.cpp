#include "support/relay/relay.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <queue>
#include <thread>
#include <vector>

#include "loom/base/descriptor.hpp"
#include "loom/base/error.hpp"

namespace loom::test {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

[[noreturn]] void refuse(const std::string& what) {
    throw Error(what + ": " + std::strerror(errno));
}

int open_packet_socket(const std::string& interface) {
    const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);  // hears nothing yet
    if (socket < 0) refuse("cannot open a packet socket");
    const int one = 1;
    const int buffer = 32 * 1024 * 1024;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
    if (address.sll_ifindex == 0 || setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
        setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0 ||
        bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int why = errno;
        close(socket);
        errno = why;
        refuse("cannot listen on " + interface);
    }
    return socket;
}

struct Frame {
    Clock::time_point due;
    std::uint64_t number;  // frames due at one moment keep their order
    std::vector<std::uint8_t> bytes;
};

struct Later {
    bool operator()(const Frame& a, const Frame& b) const {
        return a.due != b.due ? a.due > b.due : a.number > b.number;
    }
};

// From one interface to the other.
class Direction {
public:
    Direction(int from, int to, const Faults& faults, unsigned index)
        : from_(from), to_(to), faults_(faults), dice_(faults, index) {}

    // Reads what has arrived, a bounded number of frames; tells how many.
    std::uint64_t take_in() {
        constexpr std::uint64_t batch = 64;
        std::array<std::uint8_t, 65536 + 64> buffer;
        for (std::uint64_t i = 0; i < batch; ++i) {
            const ssize_t length = recv(from_, buffer.data(), buffer.size(), 0);
            if (length <= 0) return i;
            accept({buffer.data(), static_cast<std::size_t>(length)});
        }
        return batch;
    }

    void send_due(Clock::time_point now) {
        while (!waiting_.empty() && waiting_.top().due <= now) {
            const Frame& frame = waiting_.top();
            if (send(to_, frame.bytes.data(), frame.bytes.size(), 0) < 0) {
                if (errno == EAGAIN || errno == ENOBUFS) return;  // it goes out on the next turn
                ++counters_.refused;
            } else {
                ++counters_.sent;
            }
            waiting_.pop();
        }
    }

    [[nodiscard]] Clock::time_point next_due() const {
        return waiting_.empty() ? Clock::time_point::max() : waiting_.top().due;
    }
    [[nodiscard]] int from() const { return from_; }

    [[nodiscard]] RelayCounters counters() {
        tpacket_stats kernel{};  // counts since it was last asked
        socklen_t size = sizeof kernel;
        if (getsockopt(from_, SOL_PACKET, PACKET_STATISTICS, &kernel, &size) == 0) counters_.missed += kernel.tp_drops;
        return counters_;
    }

private:
    void accept(std::span<const std::uint8_t> bytes) {
        const Clock::time_point now = Clock::now();
        ++counters_.arrived;
        counters_.arrived_bytes += bytes.size();
        const bool concerned = !faults_.only_udp_port || udp_port(bytes) == faults_.only_udp_port;
        const Fate fate = concerned ? dice_.next() : Fate{};
        if (fate.lost) {
            ++counters_.lost;
            return;
        }
        Clock::time_point due = std::max(now, free_at_);
        if (faults_.bits_per_second > 0) {
            const double backlog = std::chrono::duration<double>(due - now).count() * faults_.bits_per_second / 8;
            if (backlog + static_cast<double>(bytes.size()) > static_cast<double>(faults_.queue_bytes)) {
                ++counters_.overflowed;
                return;
            }
            due += Nanoseconds(
                static_cast<std::int64_t>(static_cast<double>(bytes.size()) * 8e9 / faults_.bits_per_second));
            free_at_ = due;
        }
        due += faults_.delay + fate.jitter;
        if (fate.reordered) {
            ++counters_.reordered;
            due += faults_.reorder_delay;
        } else {
            due = std::max(due, last_due_);
            last_due_ = due;
        }
        if (fate.duplicated) {
            ++counters_.duplicated;
            waiting_.push({due, number_++, {bytes.begin(), bytes.end()}});
        }
        waiting_.push({due, number_++, {bytes.begin(), bytes.end()}});
    }

    int from_;
    int to_;
    Faults faults_;
    Dice dice_;
    RelayCounters counters_;
    Clock::time_point free_at_{};   // when the rate lets the next frame begin
    Clock::time_point last_due_{};  // of the frames that keep their order
    std::uint64_t number_ = 0;
    std::priority_queue<Frame, std::vector<Frame>, Later> waiting_;
};

timespec until(Clock::time_point moment, Clock::time_point now) {
    const auto left = std::max(moment - now, Clock::duration::zero());
    return {static_cast<time_t>(left.count() / 1'000'000'000), static_cast<long>(left.count() % 1'000'000'000)};
}

}  // namespace

class Relay::Implementation {
public:
    Implementation(const std::string& left, const std::string& right, const Faults& faults)
        : left_(open_packet_socket(left)),
          right_(open_packet_socket(right)),
          stop_(eventfd(0, EFD_CLOEXEC)),
          directions_{Direction{left_.number(), right_.number(), faults, 0},
                      Direction{right_.number(), left_.number(), faults, 1}},
          thread_([this] { relay(); }) {}

    ~Implementation() { stop(); }

    RelayReport stop() {
        if (thread_.joinable()) {
            const std::uint64_t one = 1;
            while (write(stop_.number(), &one, sizeof one) < 0 && errno == EINTR) {
            }
            thread_.join();
            report_ = {directions_[0].counters(), directions_[1].counters()};
        }
        return report_;
    }

    [[nodiscard]] std::uint64_t arrived() const { return arrived_; }

private:
    void relay() {
        constexpr Clock::time_point never = Clock::time_point::max();
        Clock::time_point end = never;  // of what is still sent once we are to stop
        for (;;) {
            for (Direction& direction : directions_) direction.send_due(Clock::now());
            const Clock::time_point due = std::min(directions_[0].next_due(), directions_[1].next_due());
            const bool stopping = end != never;
            pollfd descriptors[3] = {
                {stop_.number(), POLLIN, 0}, {left_.number(), POLLIN, 0}, {right_.number(), POLLIN, 0}};
            const timespec wait = stopping && due > end ? timespec{} : until(due, Clock::now());
            ppoll(descriptors, 3, due == never && !stopping ? nullptr : &wait, nullptr);
            std::uint64_t taken = 0;
            for (Direction& direction : directions_) taken += direction.take_in();
            arrived_ += taken;
            if (stopping && taken == 0 && due > end) return;
            std::uint64_t ignored = 0;
            if (descriptors[0].revents != 0 && read(stop_.number(), &ignored, sizeof ignored) > 0)
                end = Clock::now() + std::chrono::seconds{1};
        }
    }

    Descriptor left_;
    Descriptor right_;
    Descriptor stop_;
    std::array<Direction, 2> directions_;
    RelayReport report_;
    std::atomic<std::uint64_t> arrived_{0};
    std::thread thread_;
};

Relay::Relay(const std::string& left, const std::string& right, const Faults& faults)
    : implementation_(std::make_unique<Implementation>(left, right, faults)) {}

Relay::~Relay() = default;

std::uint64_t Relay::arrived() const {
    return implementation_->arrived();
}

RelayReport Relay::stop() {
    return implementation_->stop();
}

std::string to_json(const RelayReport& report) {
    const auto direction = [](const RelayCounters& c) {
        std::string text = "{";
        const std::pair<const char*, std::uint64_t> fields[] = {{"arrived", c.arrived},
                                                                {"arrived_bytes", c.arrived_bytes},
                                                                {"lost", c.lost},
                                                                {"overflowed", c.overflowed},
                                                                {"duplicated", c.duplicated},
                                                                {"reordered", c.reordered},
                                                                {"sent", c.sent},
                                                                {"refused", c.refused},
                                                                {"missed", c.missed}};
        for (const auto& [name, value] : fields)
            text += (text.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + std::to_string(value);
        return text + "}";
    };
    return "{\"left_to_right\":" + direction(report.left_to_right) +
           ",\"right_to_left\":" + direction(report.right_to_left) + "}";
}

}  // namespace loom::test
