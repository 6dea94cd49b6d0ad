#include "loom/session/simulation.hpp"

#include <array>
#include <deque>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "session/core.hpp"
#include "session/physical/simulated.hpp"

namespace loom::session {

namespace {

class VirtualClock final : public Clock {
public:
    Time now() override { return time; }
    void sleep_until(Time until) override { time = std::max(time, until); }
    void compute(Time duration) override { time += duration; }
    Time time = milliseconds(1);
};

// While it lives, loom::now() of this thread is the simulation's.
class Under {
public:
    explicit Under(Clock& clock) : before_(swap_clock(&clock)) {}
    ~Under() { swap_clock(before_); }
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;

private:
    Clock* before_;
};

constexpr std::size_t index(Side side) {
    return static_cast<std::size_t>(side);
}

}  // namespace

class Simulation::Implementation {
public:
    explicit Implementation(const SimulationOptions& options);

    Core& core(Side side) { return *ends_[index(side)].core; }
    template <class Work>
    auto at(Side side, Work&& work) {
        const Under under(clock_);
        return work(core(side));
    }
    void run_until(Time time, const Request& request);
    void lose(double probability);
    void infiniband(bool works);
    [[nodiscard]] Time now() const { return clock_.time; }

private:
    struct Said {
        Time arrival;
        Bytes bytes;
    };
    struct End {
        std::unique_ptr<SimulatedPort> ethernet, infiniband;
        std::unique_ptr<Sealer> sealer;
        std::unique_ptr<Core> core;
        std::deque<Said> heard;  // on the control channel: in order, without loss
    };
    void add_end(Side side, const SimulationOptions& options);
    [[nodiscard]] Time next() const;
    void settle();
    void restore();

    VirtualClock clock_;
    std::array<SimulatedWire, 2> ethernet_, infiniband_;  // by sender
    std::array<End, 2> ends_;
    Time control_delay_;
    bool infiniband_works_ = true;
};

Simulation::Implementation::Implementation(const SimulationOptions& options)
    : ethernet_{SimulatedWire(options.ethernet, random_stream(options.seed, 0)),
                SimulatedWire(options.ethernet, random_stream(options.seed, 1))},
      infiniband_{SimulatedWire(options.infiniband, random_stream(options.seed, 2)),
                  SimulatedWire(options.infiniband, random_stream(options.seed, 3))},
      control_delay_(options.control_delay) {
    if (options.settings.sealed && options.key.empty()) throw UsageError("a sealed session: expected a key");
    if (options.settings.network == Network::infiniband && !options.has_infiniband)
        throw UsageError("a session over InfiniBand: expected has_infiniband");
    const Under under(clock_);
    add_end(Side::opener, options);
    add_end(Side::acceptor, options);
}

void Simulation::Implementation::add_end(Side side, const SimulationOptions& options) {
    constexpr std::size_t infiniband_bytes = 8128;
    const std::size_t me = index(side), other = 1 - me;
    End& end = ends_[me];
    end.ethernet =
        std::make_unique<SimulatedPort>(ethernet_[me], ethernet_[other], Network::ethernet, options.segment_bytes);
    if (options.has_infiniband)
        end.infiniband =
            std::make_unique<SimulatedPort>(infiniband_[me], infiniband_[other], Network::infiniband, infiniband_bytes);
    if (options.settings.sealed)
        end.sealer = std::make_unique<Sealer>(std::as_bytes(std::span(options.key)), me == 0, Nonce{}, Nonce{});
    Start start;
    start.opener = me == 0;
    start.place = options.place;
    start.settings = options.settings;
    start.why = "simulated";
    start.own_port = static_cast<std::uint16_t>(1 + me);
    start.peer_port = static_cast<std::uint16_t>(1 + other);
    start.ethernet_bytes = options.segment_bytes;
    start.infiniband_bytes = infiniband_bytes;
    start.settle = options.settle;
    const auto say = [this, other](const ControlMessage& message) {
        ends_[other].heard.push_back({clock_.time + control_delay_, encode(message)});
    };
    end.core = std::make_unique<Core>(start, end.ethernet.get(), end.infiniband.get(), say, end.sealer.get());
}

Time Simulation::Implementation::next() const {
    Time at = never;
    for (std::size_t i = 0; i < 2; ++i) {
        const End& end = ends_[i];
        if (!end.heard.empty()) at = std::min(at, end.heard.front().arrival);
        // The other network keeps what arrives there until it is used.
        const bool ethernet = end.core->composition().settings.network == Network::ethernet;
        const SimulatedWire& in = ethernet ? ethernet_[1 - i] : infiniband_[1 - i];
        const SimulatedPort& port = ethernet ? *end.ethernet : *end.infiniband;
        at = std::min({at, in.next_arrival(), end.core->wake(), port.wake()});
    }
    return at;
}

// All that happens at this moment.
void Simulation::Implementation::settle() {
    for (End& end : ends_) {
        while (!end.heard.empty() && end.heard.front().arrival <= clock_.time) {
            const ControlMessage message = decode(end.heard.front().bytes);
            end.heard.pop_front();
            end.core->hear(message);
        }
        end.core->pump();
    }
    restore();
}

void Simulation::Implementation::run_until(Time time, const Request& request) {
    const Under under(clock_);
    settle();
    while (!(request && request->done())) {
        // What cannot be taken at once must not hold the time.
        const Time at = std::max(next(), clock_.time + nanoseconds(100));
        if (at > time) break;
        clock_.time = at;
        settle();
    }
    if (!(request && request->done())) clock_.time = std::max(clock_.time, time);
}

void Simulation::Implementation::lose(double probability) {
    for (auto* wires : {&ethernet_, &infiniband_})
        for (SimulatedWire& wire : *wires) wire.lose(probability);
}

void Simulation::Implementation::infiniband(bool works) {
    infiniband_works_ = works;
    if (works) return;
    for (SimulatedWire& wire : infiniband_) wire.cut();
    for (End& end : ends_)
        if (end.infiniband) end.infiniband->fail("the InfiniBand device does not work any more");
}

// Queue pairs that failed stay so; new ones are made once both ends use the other network.
void Simulation::Implementation::restore() {
    if (!infiniband_works_ || !ends_[0].infiniband) return;
    for (const End& end : ends_)
        if (end.core->composition().settings.network == Network::infiniband) return;
    for (End& end : ends_) {
        if (end.infiniband->failure().empty()) continue;
        for (SimulatedWire& wire : infiniband_) wire.cut();
        end.infiniband->fail("");
        end.core->infiniband_is_back();
    }
}

Simulation::Simulation(const SimulationOptions& options) : implementation_(std::make_unique<Implementation>(options)) {}

Simulation::~Simulation() = default;

Request Simulation::send(Side side, Bytes message) {
    return implementation_->at(side, [&](Core& core) {
        Request request = core.send(std::move(message));
        core.pump();
        return request;
    });
}

Request Simulation::receive(Side side) {
    return implementation_->at(side, [](Core& core) {
        Request request = core.receive();
        core.pump();
        return request;
    });
}

void Simulation::set(Side side, Scheme scheme, const std::string& reason) {
    implementation_->at(side, [&](Core& core) {
        core.set(scheme, reason);
        core.pump();
    });
}

void Simulation::set(Side side, Controller controller, const std::string& reason) {
    implementation_->at(side, [&](Core& core) {
        core.set(controller, reason);
        core.pump();
    });
}

void Simulation::prefer(Side side, Network network, const std::string& reason) {
    implementation_->at(side, [&](Core& core) {
        core.prefer(network, reason);
        core.pump();
    });
}

void Simulation::close(Side side, const std::string& reason) {
    implementation_->at(side, [&](Core& core) { core.close(reason); });
}

void Simulation::lose(double probability) {
    implementation_->lose(probability);
}

void Simulation::stop_infiniband() {
    implementation_->infiniband(false);
}

void Simulation::return_infiniband() {
    implementation_->infiniband(true);
}

Time Simulation::now() const {
    return implementation_->now();
}

void Simulation::run_until(Time time) {
    implementation_->run_until(time, nullptr);
}

bool Simulation::run_until_done(const Request& request, Time limit) {
    implementation_->run_until(limit, request);
    return request->done();
}

const Composition& Simulation::composition(Side side) const {
    return implementation_->core(side).composition();
}

Scheme Simulation::scheme(Side side) const {
    return implementation_->core(side).scheme();
}

const Counters& Simulation::counters(Side side) const {
    return implementation_->core(side).counters();
}

std::vector<Change> Simulation::changes(Side side) const {
    const auto& changes = implementation_->core(side).changes();
    return {changes.begin(), changes.end()};
}

std::string Simulation::ended(Side side) const {
    return implementation_->core(side).ended();
}

}  // namespace loom::session
