// A session whose other end says and sends anything: it may end, but not crash, hang or take memory without bound.
#include <deque>

#include "fuzz/fuzz.hpp"
#include "loom/base/clock.hpp"
#include "session/core.hpp"
#include "session/stack/bytes.hpp"

namespace {

using namespace loom;
using namespace loom::session;

class FedWire final : public Physical {
public:
    std::span<std::byte> block() override { return block_; }
    void push(std::size_t) override {}
    std::span<std::byte> pop() override {
        if (fed.empty()) return {};
        arrived_ = std::move(fed.front());
        fed.pop_front();
        return arrived_;
    }
    const std::string& failure() const override { return none_; }
    std::deque<Bytes> fed;

private:
    Bytes block_ = Bytes(300), arrived_;
    std::string none_;
};

class Hours final : public Clock {
public:
    Time now() override { return time; }
    void sleep_until(Time) override {}
    void compute(Time) override {}
    Time time = milliseconds(1);
};

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    [[nodiscard]] bool empty() const { return left_ == 0; }
    std::uint8_t byte() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    Bytes bytes(std::size_t most) {
        Bytes all(std::min<std::size_t>(byte(), most));
        for (std::byte& each : all) each = static_cast<std::byte>(byte());
        return all;
    }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

// Ports and epoch are right, so that what is above them is reached.
Bytes addressed(Bytes packet, std::uint32_t epoch) {
    Bytes whole(8);
    put<2>(whole.data(), 2);
    put<2>(whole.data() + 2, 1);
    put<4>(whole.data() + 4, epoch);
    whole.insert(whole.end(), packet.begin(), packet.end());
    return whole;
}

void hear(Core& core, const Bytes& bytes) {
    try {
        core.hear(decode(bytes));
    } catch (const Error&) {
        core.lose("not to be understood");
    }
}

void step(Core& core, FedWire& ethernet, FedWire& infiniband, Hours& clock, Input& input) {
    const std::uint32_t epoch = core.composition().epoch;
    switch (input.byte() % 8) {
        case 0:
            hear(core, input.bytes(255));
            break;
        case 1:
            hear(core,
                 encode(Ready{epoch + 1, core.composition().settings, {input.byte(), input.byte(), input.byte()}}));
            break;
        case 2: {
            Settings settings;
            settings.scheme = static_cast<Scheme>(input.byte() % 2);
            settings.network = static_cast<Network>(input.byte() % 2);
            hear(core, encode(Propose{epoch + 1, settings, {input.byte(), input.byte(), input.byte()}, "any"}));
            break;
        }
        case 3:
            ethernet.fed.push_back(addressed(input.bytes(255), epoch + input.byte() % 2));
            break;
        case 4:
            infiniband.fed.push_back(addressed(input.bytes(255), epoch + input.byte() % 2));
            break;
        case 5:
            (void)core.send(input.bytes(255));
            break;
        case 6:
            (void)core.receive();
            break;
        case 7:
            core.set(static_cast<Scheme>(input.byte() % 2), "any");
            break;
    }
    clock.time += microseconds(100 * input.byte());
    core.pump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Hours clock;
    Clock* const before = swap_clock(&clock);
    {
        FedWire ethernet, infiniband;
        Start start;
        const std::uint8_t how = input.byte();
        start.opener = (how & 1) != 0;
        start.place = (how & 2) != 0 ? Place::elsewhere : Place::cluster;
        start.settings.scheme = static_cast<Scheme>(how >> 2 & 1);
        start.settings.network = static_cast<Network>(how >> 3 & 1);
        start.settings.controller = static_cast<Controller>((how >> 4) % 3);
        start.settings.selective = (how & 64) != 0;
        start.own_port = 1;
        start.peer_port = 2;
        start.ethernet_bytes = start.infiniband_bytes = 300;
        start.most_message = 100'000;
        Core core(start, &ethernet, &infiniband, [](const ControlMessage&) {});
        for (int steps = 0; steps < 200 && !input.empty(); ++steps) {
            step(core, ethernet, infiniband, clock, input);
            const Inbox& inbox = core.board().inbox;
            fuzz::require(inbox.messages.size() <= 2 * Outbox::most_messages + 1, "messages that wait have a bound");
            fuzz::require(core.board().partial.capacity() <= start.most_message, "so has the one that is put together");
        }
    }
    swap_clock(before);
    return 0;
}
