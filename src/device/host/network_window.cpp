// Devices of different processes, over the room window: `verbs` sends one message for a put, `mpi` two.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "device/host/network.hpp"
#include "loom/base/error.hpp"
#include "loom/transport/waiting.hpp"
#include "loom/window/window.hpp"

namespace loom::device {

namespace {

using window::Window;
using window::World;

// What both managers share: two windows, one on the device's memory and one on the host's, whose notifications are
// taken by different threads; and exchanges, which are puts into the others' host windows.
class WindowNetwork : public Network {
public:
    WindowNetwork(World& world, std::uint64_t most_exchanged)
        : world_(world),
          team_(world.team()),
          most_(most_exchanged),
          host_memory_(world.allocate(2 * most_exchanged * world.size())),
          out_(world.allocate(2 * most_exchanged)),
          host_(team_.create(host_memory_)) {}
    ~WindowNetwork() override = default;

    [[nodiscard]] std::uint32_t process() const override { return world_.rank().value; }
    [[nodiscard]] std::uint32_t processes() const override { return world_.size(); }
    [[nodiscard]] std::uint32_t node_of(std::uint32_t process) const override {
        return world_.transport().hosts()[process];
    }

    [[nodiscard]] std::span<std::byte> allocate(std::uint64_t bytes) override {
        const std::span<std::byte> memory = world_.allocate(bytes);
        device_.emplace(team_.create(memory));
        return memory;
    }

    [[nodiscard]] std::optional<std::uint64_t> next_completion() override {
        const std::uint64_t finished = done_puts();
        if (taken_ == finished || cookies_.empty()) return {};
        ++taken_;
        const std::uint64_t cookie = cookies_.front();
        cookies_.pop_front();
        return cookie;
    }

    // Each process has two places in each other's memory, which take turns: nobody begins an exchange before all have
    // begun the last one, and that means that they have taken the one before.
    void exchange(std::span<const std::byte> mine) override {
        if (mine.size() > most_) throw Error("an exchange between hosts is too long");
        const std::uint64_t turn = exchanges_++ % 2;
        std::memcpy(out_.data() + turn * most_, mine.data(), mine.size());
        for (std::uint32_t to = 0; to < processes(); ++to)
            host_.put_notify(Rank{to}, (turn * processes() + process()) * most_,
                             out_.subspan(turn * most_, mine.size()),
                             window::Tag{static_cast<std::uint32_t>(mine.size() << 1 | turn)});
    }
    [[nodiscard]] std::optional<std::vector<std::vector<std::byte>>> exchanged() override {
        while (const auto note = host_.next()) {
            auto& each = arrived_[note->tag.value & 1];
            each.sizes.resize(processes());
            if (each.sizes[note->source.value]) throw Error("two parts of one exchange between hosts");
            each.sizes[note->source.value] = std::min<std::uint64_t>(note->tag.value >> 1, most_);
            ++each.count;
        }
        Turn& now = arrived_[taken_exchanges_ % 2];
        if (now.count < processes()) return {};
        std::vector<std::vector<std::byte>> all(processes());
        for (std::uint32_t from = 0; from < processes(); ++from) {
            const std::byte* const at = host_memory_.data() + (taken_exchanges_ % 2 * processes() + from) * most_;
            all[from].assign(at, at + *now.sizes[from]);
        }
        now = {};
        ++taken_exchanges_;
        return all;
    }

    bool progress() override { return world_.progress(); }
    [[nodiscard]] bool idle() const override { return device_->started() == device_->finished(); }
    void pause() override { transport::pause(world_.transport().waiting()); }
    void sleep(Time most) override { world_.transport().sleep(std::chrono::microseconds(most.ps / 1'000'000)); }
    void interrupt() override {
        if (events_) world_.transport().interrupt();
    }
    void set_events(bool on) override {
        events_ = on;
        world_.transport().set_events(on);
    }

protected:
    [[nodiscard]] World& world() const { return world_; }
    [[nodiscard]] Window& device() { return *device_; }
    [[nodiscard]] virtual std::uint64_t done_puts() { return device_->finished(); }
    void remember(std::uint64_t cookie) { cookies_.push_back(cookie); }

private:
    struct Turn {
        std::vector<std::optional<std::uint64_t>> sizes;
        std::uint32_t count = 0;
    };
    World& world_;
    window::Team team_;
    std::uint64_t most_;
    std::span<std::byte> host_memory_, out_;
    Window host_;
    std::optional<Window> device_;
    std::deque<std::uint64_t> cookies_;  // of puts, in the order in which they were started
    std::uint64_t taken_ = 0;            // of them
    std::uint64_t exchanges_ = 0, taken_exchanges_ = 0;
    std::array<Turn, 2> arrived_;
    bool events_ = false;
};

class VerbsNetwork final : public WindowNetwork {
public:
    using WindowNetwork::WindowNetwork;
    [[nodiscard]] std::string_view name() const override { return "verbs"; }
    void put(std::uint32_t to, std::uint64_t offset, std::span<const std::byte> data,
             std::optional<std::uint32_t> value, std::uint64_t cookie) override {
        if (value)
            device().put_notify(Rank{to}, offset, data, window::Tag{*value});
        else
            device().put(Rank{to}, offset, data);
        remember(cookie);
    }
    void notify(std::uint32_t to, std::uint32_t value) override { device().notify(Rank{to}, window::Tag{value}); }
    [[nodiscard]] std::optional<Arrival> next_notification() override {
        const auto note = device().next();
        if (!note) return {};
        return Arrival{note->source.value, note->tag.value};
    }
};

// As 002 has it over MPI: the first message says what to do, the second is the data, received where it belongs.
class MpiNetwork final : public WindowNetwork {
public:
    MpiNetwork(World& world, std::uint64_t most_exchanged) : WindowNetwork(world, most_exchanged) {
        for (std::uint32_t from = 0; from < processes(); ++from) {
            Peer& peer = peers_.emplace_back();
            peer.from = from;
            listen(peer);
        }
    }
    // Collective: nobody leaves while a receive of theirs, or of ours, is under way.
    ~MpiNetwork() override {
        for (std::uint32_t to = 0; to < processes(); ++to) start(to, {0, 0, 0, farewell}, {});
        while (!is_over()) {
            try {
                if (!progress()) pause();
            } catch (const Error&) {
                return;  // ranks are gone, and what they could have finished is
            }
        }
    }
    MpiNetwork(const MpiNetwork&) = delete;
    MpiNetwork& operator=(const MpiNetwork&) = delete;
    [[nodiscard]] std::string_view name() const override { return "mpi"; }
    [[nodiscard]] std::span<std::byte> allocate(std::uint64_t bytes) override {
        return memory_ = WindowNetwork::allocate(bytes);
    }
    void put(std::uint32_t to, std::uint64_t offset, std::span<const std::byte> data,
             std::optional<std::uint32_t> value, std::uint64_t cookie) override {
        start(to, {offset, data.size(), value.value_or(0), value ? 1u : 0u}, data);
        remember(cookie);
        sends_.back().is_put = true;
    }
    void notify(std::uint32_t to, std::uint32_t value) override { start(to, {0, 0, value, 1}, {}); }
    [[nodiscard]] std::optional<Arrival> next_notification() override {
        if (arrivals_.empty()) return {};
        const Arrival arrival = arrivals_.front();
        arrivals_.pop_front();
        return arrival;
    }
    bool progress() override {
        bool moved = WindowNetwork::progress();
        for (Peer& peer : peers_)
            while (peer.ready) {
                peer.ready = false;
                peer.data_phase ? finish(peer) : begin(peer);
                moved = true;
            }
        return moved;
    }
    [[nodiscard]] bool idle() const override {
        return std::all_of(sends_.begin(), sends_.end(), [](const Send& each) { return each.open == 0; });
    }

protected:
    [[nodiscard]] std::uint64_t done_puts() override {
        for (; !sends_.empty() && sends_.front().open == 0; sends_.pop_front()) done_ += sends_.front().is_put;
        return done_;
    }

private:
    struct Header {
        std::uint64_t offset = 0, bytes = 0;
        std::uint32_t value = 0, notifies = 0;
    };
    struct Send {
        Header header;
        int open = 0;  // messages that are under way
        bool is_put = false;
        transport::Message first, second;
    };
    struct Peer {
        std::uint32_t from = 0;
        Header header;
        bool ready = false, data_phase = false, gone = false;
        transport::Message message;
    };
    // Nobody else sends messages on this transport with these tags.
    static constexpr transport::Tag header_tag{0xdc0da00000000000}, data_tag{0xdc0da00000000001};

    static constexpr std::uint32_t farewell = 2;

    [[nodiscard]] bool is_over() const {
        return idle() && std::all_of(peers_.begin(), peers_.end(), [](const Peer& each) { return each.gone; });
    }
    void start(std::uint32_t to, const Header& header, std::span<const std::byte> data) {
        Send& send = sends_.emplace_back();
        send.header = header;
        const auto go = [&](transport::Message& message, transport::Tag tag, std::span<const std::byte> bytes) {
            message.owner = &send;
            message.finished = [](transport::Message& done) { --static_cast<Send*>(done.owner)->open; };
            ++send.open;
            if (world().transport().send(Rank{to}, tag, bytes, message)) --send.open;
        };
        go(send.first, header_tag, std::as_bytes(std::span(&send.header, 1)));
        if (!data.empty()) go(send.second, data_tag, data);
    }
    void receive(Peer& peer, transport::Tag tag, std::span<std::byte> into) {
        peer.message.owner = &peer;
        peer.message.finished = [](transport::Message& done) { static_cast<Peer*>(done.owner)->ready = true; };
        if (world().transport().receive(Rank{peer.from}, tag, into, peer.message)) peer.ready = true;
    }
    void listen(Peer& peer) {
        peer.data_phase = false;
        receive(peer, header_tag, std::as_writable_bytes(std::span(&peer.header, 1)));
    }
    void begin(Peer& peer) {
        const Header& header = peer.header;
        peer.gone = peer.message.outcome != transport::Message::Outcome::done || header.notifies == farewell;
        if (peer.gone) return;
        if (header.bytes == 0) return finish(peer);
        if (header.offset > memory_.size() || header.bytes > memory_.size() - header.offset)
            throw Error("a message for memory that is not the device's");
        peer.data_phase = true;
        receive(peer, data_tag, memory_.subspan(header.offset, header.bytes));
    }
    void finish(Peer& peer) {
        if (peer.header.notifies != 0) arrivals_.push_back({peer.from, peer.header.value});
        listen(peer);
    }

    std::span<std::byte> memory_;
    std::deque<Send> sends_;
    std::uint64_t done_ = 0;
    std::deque<Peer> peers_;
    std::deque<Arrival> arrivals_;
};

}  // namespace

std::unique_ptr<Network> open_window(World& world, Manager manager, std::uint64_t most_exchanged) {
    if (manager == Manager::mpi) return std::make_unique<MpiNetwork>(world, most_exchanged);
    return std::make_unique<VerbsNetwork>(world, most_exchanged);
}

}  // namespace loom::device
