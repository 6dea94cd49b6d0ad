// Devices of one process: the host of one copies into the memory of the other, as GPUs do over their bus.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "device/cpu/bell.hpp"
#include "device/host/network.hpp"
#include "loom/base/error.hpp"

namespace loom::device {

class PeerHub {
public:
    explicit PeerHub(std::uint32_t devices) : members(devices) {}

    struct Member {
        std::unique_ptr<std::byte, decltype(&std::free)> storage{nullptr, &std::free};
        std::span<std::byte> memory;
        std::mutex mutex;  // of the two below
        std::deque<Arrival> arrivals;
        std::deque<std::vector<std::vector<std::byte>>> parts;  // of exchanges that are not complete, by process
        std::uint64_t taken = 0;                                // exchanges that it has taken
        Bell bell;
    };
    std::deque<Member> members;
};

namespace {

class PeerNetwork final : public Network {
public:
    PeerNetwork(std::shared_ptr<PeerHub> hub, std::uint32_t process)
        : hub_(std::move(hub)), me_(process), members_(hub_->members) {}

    [[nodiscard]] std::string_view name() const override { return "peer"; }
    [[nodiscard]] std::uint32_t process() const override { return me_; }
    [[nodiscard]] std::uint32_t processes() const override { return static_cast<std::uint32_t>(members_.size()); }
    [[nodiscard]] std::uint32_t node_of(std::uint32_t) const override { return 0; }

    std::span<std::byte> allocate(std::uint64_t bytes) override {
        constexpr std::uint64_t line = 256;
        std::byte* const at = static_cast<std::byte*>(std::calloc(bytes + line, 1));
        if (at == nullptr) throw Error("no memory for a device of " + std::to_string(bytes) + " bytes");
        members_[me_].storage.reset(at);
        const std::uint64_t skip = (line - reinterpret_cast<std::uint64_t>(at) % line) % line;
        return members_[me_].memory = {at + skip, bytes};
    }

    // Done by progress(), so that a shuffled order of turns shows what comes late.
    void put(std::uint32_t to, std::uint64_t offset, std::span<const std::byte> data,
             std::optional<std::uint32_t> value, std::uint64_t cookie) override {
        started_.push_back({to, offset, data, value, cookie, true});
    }
    void notify(std::uint32_t to, std::uint32_t value) override { started_.push_back({to, 0, {}, value, 0, false}); }

    std::optional<std::uint64_t> next_completion() override {
        if (completed_.empty()) return {};
        const std::uint64_t cookie = completed_.front();
        completed_.pop_front();
        return cookie;
    }
    std::optional<Arrival> next_notification() override {
        PeerHub::Member& me = members_[me_];
        const std::scoped_lock lock(me.mutex);
        if (me.arrivals.empty()) return {};
        const Arrival arrival = me.arrivals.front();
        me.arrivals.pop_front();
        return arrival;
    }

    void exchange(std::span<const std::byte> mine) override {
        for (PeerHub::Member& each : members_) {
            {
                const std::scoped_lock lock(each.mutex);
                while (each.taken + each.parts.size() <= exchanges_) each.parts.emplace_back(members_.size());
                each.parts[exchanges_ - each.taken][me_].assign(mine.begin(), mine.end());
                each.parts[exchanges_ - each.taken][me_].push_back(std::byte{1});  // that it has come
            }
            each.bell.ring();
        }
        ++exchanges_;
    }
    std::optional<std::vector<std::vector<std::byte>>> exchanged() override {
        PeerHub::Member& me = members_[me_];
        const std::scoped_lock lock(me.mutex);
        if (me.parts.empty()) return {};
        for (const auto& part : me.parts.front())
            if (part.empty()) return {};
        std::vector<std::vector<std::byte>> all = std::move(me.parts.front());
        me.parts.pop_front();
        ++me.taken;
        for (auto& part : all) part.pop_back();
        return all;
    }

    bool progress() override {
        const bool moved = !started_.empty();
        for (; !started_.empty(); started_.pop_front()) {
            const Started& each = started_.front();
            PeerHub::Member& target = members_[each.to];
            if (!each.data.empty()) std::memcpy(target.memory.data() + each.offset, each.data.data(), each.data.size());
            if (each.is_put) completed_.push_back(each.cookie);
            if (!each.value) continue;
            {
                const std::scoped_lock lock(target.mutex);
                target.arrivals.push_back({me_, *each.value});
            }
            target.bell.ring();
        }
        return moved;
    }
    bool idle() const override { return started_.empty(); }
    bool is_closed() const override { return true; }
    void pause() override { std::this_thread::yield(); }
    void sleep(Time most) override {
        Bell& bell = members_[me_].bell;
        const std::uint64_t seen = seen_;
        seen_ = bell.rung();
        bell.sleep(seen, std::chrono::microseconds(most.ps / 1'000'000));
    }
    void interrupt() override { members_[me_].bell.ring(); }

private:
    struct Started {
        std::uint32_t to;
        std::uint64_t offset;
        std::span<const std::byte> data;
        std::optional<std::uint32_t> value;
        std::uint64_t cookie;
        bool is_put;
    };
    std::shared_ptr<PeerHub> hub_;
    std::uint32_t me_;
    std::deque<PeerHub::Member>& members_;
    std::deque<Started> started_;
    std::deque<std::uint64_t> completed_;
    std::uint64_t exchanges_ = 0;
    std::uint64_t seen_ = 0;
};

}  // namespace

std::shared_ptr<PeerHub> make_hub(std::uint32_t devices) {
    return std::make_shared<PeerHub>(devices);
}

std::unique_ptr<Network> open_peer(std::shared_ptr<PeerHub> hub, std::uint32_t process) {
    return std::make_unique<PeerNetwork>(std::move(hub), process);
}

}  // namespace loom::device
