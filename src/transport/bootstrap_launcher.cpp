// A rank's end of the socket to the local launcher.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "loom/base/settings.hpp"
#include "transport/bootstrap.hpp"
#include "transport/launch/packet.hpp"

namespace loom::transport {

namespace {

using launching::Kind;
using launching::Packet;
using Clock = std::chrono::steady_clock;

std::atomic<bool> in_use{false};  // answers to two askers on one socket would get mixed up

class OnlyOne {
public:
    OnlyOne() {
        if (in_use.exchange(true)) throw BootstrapError("this process already has a bootstrap by its launcher");
    }
    ~OnlyOne() { in_use = false; }
    OnlyOne(const OnlyOne&) = delete;
    OnlyOne& operator=(const OnlyOne&) = delete;
};

int socket_option(int descriptor, int option) {
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

// The environment may be anything, for instance that of a launcher whose socket was closed on the way here.
int checked_socket() {
    const auto text = settings::read(Setting::run);
    if (!text) throw BootstrapError("no launcher: LOOM_RUN is not set (start the program with loom run)");
    const std::string complaint = "LOOM_RUN=" + *text + ": expected the descriptor of a launcher's socket";
    int descriptor = -1;
    const char* const end = text->data() + text->size();
    if (const auto [stop, error] = std::from_chars(text->data(), end, descriptor);
        error != std::errc{} || stop != end || descriptor < 0)
        throw BootstrapError(complaint);
    if (socket_option(descriptor, SO_DOMAIN) != AF_UNIX || socket_option(descriptor, SO_TYPE) != SOCK_SEQPACKET)
        throw BootstrapError(complaint + " (was it closed between the launcher and this program?)");
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        (peer.uid != geteuid() && peer.uid != getuid() && peer.uid != 0))
        throw BootstrapError(complaint + " of the same user");
    return descriptor;
}

class Launcher : public Bootstrap {
public:
    Launcher() : socket_(checked_socket()), timeout_(bootstrap_timeout()), buffer_(launching::most_packet_bytes) {
        send({.kind = Kind::hello});
        const Packet welcome = await(Kind::welcome, "its welcome");
        if (welcome.size == 0 || welcome.rank.value >= welcome.size)
            throw BootstrapError("the launcher says that this is rank " + std::to_string(welcome.rank.value) + " of " +
                                 std::to_string(welcome.size));
        rank_ = welcome.rank;
        size_ = welcome.size;
        check_lost();
    }

    [[nodiscard]] std::string_view name() const override { return "launcher"; }
    [[nodiscard]] Rank rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t size() const override { return size_; }

    void put(std::string_view key, std::string_view value) override {
        send({.kind = Kind::put, .key = std::string(key), .value = std::string(value)});
    }
    void fence() override {
        send({.kind = Kind::fence});
        (void)await(Kind::fenced, "all ranks");
    }
    [[nodiscard]] std::string get(Rank of, std::string_view key) override {
        send({.kind = Kind::get, .rank = of, .key = std::string(key)});
        return await(Kind::got, "a value").value;
    }
    [[nodiscard]] std::optional<Rank> lost() override {
        while (!broken_) {
            const std::optional<Packet> packet = receive();
            if (!packet) break;
            if (packet->kind != Kind::lost) break_off("the launcher said what nobody had asked for");
        }
        if (lost_.empty()) return {};
        const Rank next = lost_[named_];
        if (named_ + 1 < lost_.size()) ++named_;
        return next;
    }
    void finished() override {
        if (!broken_) send({.kind = Kind::finished});
    }

private:
    [[noreturn]] void break_off(const std::string& why) {
        broken_ = true;
        throw BootstrapError(why);
    }
    [[noreturn]] void launcher_is_gone() { break_off("the launcher is gone"); }

    void check_lost() {
        if (std::all_of(lost_.begin(), lost_.end(), [&](Rank who) { return who.value < size_; })) return;
        lost_.clear();
        break_off("the launcher lost a rank that is not in this job");
    }

    // False when the time was up.
    bool wait_for(short events, Clock::time_point deadline) {
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            if (left.count() < 0) return false;
            pollfd wanted{socket_, events, 0};
            const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
            if (ready > 0) return true;
            if (ready < 0 && errno != EINTR) break_off(std::string("cannot wait: ") + std::strerror(errno));
        }
    }

    void send(const Packet& packet) {
        if (broken_) throw BootstrapError("the launcher cannot be talked to any more");
        const std::string bytes = encode(packet);
        const auto deadline = Clock::now() + timeout_;
        while (::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN) launcher_is_gone();
            if (!wait_for(POLLOUT, deadline)) break_off("the launcher does not listen");
        }
    }

    // What has come; nothing when nothing has.
    std::optional<Packet> receive() {
        for (;;) {
            const ssize_t bytes = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes < 0 && errno == EAGAIN) return {};
            if (bytes <= 0) launcher_is_gone();
            if (static_cast<std::size_t>(bytes) > buffer_.size()) break_off("a packet of the launcher is too long");
            try {
                Packet packet = launching::decode({buffer_.data(), static_cast<std::size_t>(bytes)});
                if (packet.kind == Kind::lost) lost_.push_back(packet.rank);
                if (packet.kind == Kind::lost && size_ != 0) check_lost();
                return packet;
            } catch (const BootstrapError&) {
                broken_ = true;
                throw;
            }
        }
    }

    Packet await(Kind kind, const char* what) {
        const auto deadline = Clock::now() + timeout_;
        for (;;) {
            std::optional<Packet> packet = receive();
            if (!packet) {
                if (!wait_for(POLLIN, deadline))
                    break_off(std::string("waited in vain for ") + what + " for " +
                              std::to_string(std::chrono::duration<double>(timeout_).count()) +
                              " s (LOOM_BOOTSTRAP_TIMEOUT)");
                continue;
            }
            if (packet->kind == kind) return *std::move(packet);
            if (packet->kind == Kind::failed) throw BootstrapError(packet->value);
            if (packet->kind != Kind::lost) break_off("the launcher said what nobody had asked for");
        }
    }

    OnlyOne only_one_;
    int socket_;  // not ours to close: another bootstrap of this process may come later
    std::chrono::milliseconds timeout_;
    std::vector<char> buffer_;
    Rank rank_;
    std::uint32_t size_ = 0;
    std::vector<Rank> lost_;  // in time
    std::size_t named_ = 0;   // the next of them that lost() answers
    bool broken_ = false;
};

}  // namespace

std::unique_ptr<Bootstrap> launcher_bootstrap() {
    return std::make_unique<Launcher>();
}

}  // namespace loom::transport
