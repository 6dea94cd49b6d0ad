#include "twin/background.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/twin/run.hpp"

namespace loom::twin {

namespace {

constexpr Time step = microseconds(10);

// The two ranks of a flow; each has what its own calls need.
class Flow {
public:
    Flow(const BackgroundFlow& plan, Rank from) : plan_(plan), from_(from) {
        if (plan.message == 0 || plan.window == 0)
            throw UsageError(fmt::format("background flow {}: expected messages and a window above 0", plan.name));
        if (plan.from == plan.to || plan.from == no_port || plan.to == no_port)
            throw UsageError(fmt::format("background flow {}: expected two host ports", plan.name));
        messages_ = std::max<std::uint64_t>(1, (plan.bytes + plan.message - 1) / plan.message);
    }

    void start(Rank rank, Time now, sim::LiveSimulation& simulation) {
        if (rank != from_) return;
        if (plan_.start > now)
            simulation.wake(rank, plan_.start, 0);
        else
            begin(simulation);
    }
    void woken(sim::LiveSimulation& simulation) { begin(simulation); }
    void sent(sim::LiveSimulation& simulation) {
        ++acknowledged_;
        if (more())
            send(simulation);
        else if (acknowledged_ == messages_)
            simulation.end(from_);
    }
    void received(Rank rank, sim::LiveSimulation& simulation) {
        if (!plan_.endless && ++received_ == messages_) simulation.end(rank);
    }

private:
    [[nodiscard]] bool more() const { return plan_.endless || sent_ < messages_; }
    void begin(sim::LiveSimulation& simulation) {
        for (std::uint32_t i = 0; i < plan_.window && more(); ++i) send(simulation);
    }
    void send(sim::LiveSimulation& simulation) {
        const std::uint64_t before = sent_++ * plan_.message;
        const std::uint64_t bytes = plan_.endless ? plan_.message : std::min(plan_.message, plan_.bytes - before);
        simulation.send(from_, Rank{from_.value + 1}, bytes, 0, plan_.sl);
    }

    const BackgroundFlow& plan_;
    Rank from_;
    std::uint64_t messages_ = 0;
    std::uint64_t sent_ = 0, acknowledged_ = 0;
    std::uint64_t received_ = 0;  // the receiver's
};

void add_hosts(sim::Network& network, std::span<const BackgroundFlow> background) {
    for (const BackgroundFlow& plan : background) {
        network.placement.hosts.push_back(plan.from);
        network.placement.hosts.push_back(plan.to);
    }
}

class WithBackground final : public sim::LiveSimulation, private sim::Programs {
public:
    WithBackground(std::span<const BackgroundFlow> background, sim::Level level, sim::Network network,
                   std::uint32_t ranks, sim::Programs& programs, const sim::Options& options)
        : ranks_(ranks), programs_(programs), plans_(background.begin(), background.end()), mine_(ranks) {
        network.placement.hosts.resize(ranks);
        add_hosts(network, plans_);
        flows_.reserve(plans_.size());
        for (const BackgroundFlow& plan : plans_)
            flows_.emplace_back(plan, Rank{ranks + 2 * static_cast<std::uint32_t>(flows_.size())});
        const auto all = static_cast<std::uint32_t>(network.placement.hosts.size());
        inner_ = sim::make_live_simulation(level, network, all, *this, options);
    }

    [[nodiscard]] sim::Level level() const override { return inner_->level(); }
    [[nodiscard]] Time now() const override { return inner_->now(); }
    sim::State advance(Time until) override {
        while (true) {
            const sim::State state = inner_->advance(std::min(until, inner_->now() + step));
            if (have_ended()) return sim::State::finished;
            if (state != sim::State::running) return state;
            if (are_stuck()) return sim::State::stuck;
            if (inner_->now() >= until) return state;
        }
    }
    [[nodiscard]] std::vector<sim::Flow> flows() const override { return inner_->flows(); }
    [[nodiscard]] std::vector<Time> rank_ends() const override {
        std::vector<Time> ends = inner_->rank_ends();
        ends.resize(ranks_);
        return ends;
    }
    [[nodiscard]] fabric::PortCounters counters(PortIndex port) const override { return inner_->counters(port); }
    [[nodiscard]] fabric::CongestionParameters* congestion_parameters() override {
        return inner_->congestion_parameters();
    }
    [[nodiscard]] Work work() const override { return inner_->work(); }
    [[nodiscard]] std::vector<std::string> trouble() const override { return inner_->trouble(); }

    void send(Rank from, Rank to, std::uint64_t bytes, sim::Cookie send, std::uint8_t sl) override {
        inner_->send(from, to, bytes, send, sl);
        ++mine_[from.value].under_way;
    }
    [[nodiscard]] bool take(Rank rank, sim::LiveMessage message, sim::Cookie receive) override {
        return inner_->take(rank, message, receive);
    }
    [[nodiscard]] bool work(Rank rank, Time duration, sim::Cookie what) override {
        const bool over = inner_->work(rank, duration, what);
        if (!over) ++mine_[rank.value].under_way;
        return over;
    }
    void wake(Rank rank, Time at, sim::Cookie what) override {
        inner_->wake(rank, at, what);
        ++mine_[rank.value].under_way;
    }
    void fail(std::span<const PortIndex> ports) override { inner_->fail(ports); }
    void use_tables(const routing::Tables& tables) override { inner_->use_tables(tables); }
    void end(Rank rank) override {
        inner_->end(rank);
        mine_[rank.value].ended = true;
    }

private:
    // What a rank has asked for and not been answered; belongs to whoever plays its host.
    struct Mine {
        std::uint64_t under_way = 0;
        bool ended = false;
    };

    [[nodiscard]] bool have_ended() const {
        return std::all_of(mine_.begin(), mine_.end(), [](const Mine& each) { return each.ended; });
    }
    [[nodiscard]] bool are_stuck() const {
        return inner_->now() > Time{} &&
               std::all_of(mine_.begin(), mine_.end(), [](const Mine& each) { return each.under_way == 0; });
    }
    [[nodiscard]] bool is_flow(Rank rank) const { return rank.value >= ranks_; }
    [[nodiscard]] Flow& flow(Rank rank) { return flows_[(rank.value - ranks_) / 2]; }

    // sim::Programs
    void start(Rank rank, Time now) override {
        if (is_flow(rank)) return flow(rank).start(rank, now, *inner_);
        programs_.start(rank, now);
    }
    void sent(Rank rank, sim::Cookie send, Time now) override {
        if (is_flow(rank)) return flow(rank).sent(*inner_);
        --mine_[rank.value].under_way;
        programs_.sent(rank, send, now);
    }
    [[nodiscard]] std::optional<sim::Cookie> arrived(Rank rank, Rank from, sim::LiveMessage message, sim::Cookie send,
                                                     Time now) override {
        if (is_flow(rank)) return sim::Cookie{0};
        return programs_.arrived(rank, from, message, send, now);
    }
    void received(Rank rank, sim::Cookie receive, Time now) override {
        if (is_flow(rank)) return flow(rank).received(rank, *inner_);
        programs_.received(rank, receive, now);
    }
    void woken(Rank rank, sim::Cookie what, Time now) override {
        if (is_flow(rank)) return flow(rank).woken(*inner_);
        --mine_[rank.value].under_way;
        programs_.woken(rank, what, now);
    }

    std::uint32_t ranks_;
    sim::Programs& programs_;
    std::vector<BackgroundFlow> plans_;
    std::vector<Mine> mine_;
    std::vector<Flow> flows_;
    std::unique_ptr<sim::LiveSimulation> inner_;
};

}  // namespace

std::unique_ptr<sim::LiveSimulation> make_simulation_with(std::span<const BackgroundFlow> background, sim::Level level,
                                                          sim::Network network, std::uint32_t ranks,
                                                          sim::Programs& programs, const sim::Options& options) {
    if (level == sim::Level::message)
        throw UsageError("background traffic needs links, which the message level does not have");
    return std::make_unique<WithBackground>(background, level, std::move(network), ranks, programs, options);
}

sim::Network whole_network(const Options& options) {
    sim::Network network = options.network;
    add_hosts(network, options.background);
    return network;
}

}  // namespace loom::twin
