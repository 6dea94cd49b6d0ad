// The packet level: plays windows one after the other, entity by entity, on one thread or several.
#pragma once

#include <memory>
#include <span>

#include "sim/executor.hpp"
#include "sim/live_program.hpp"
#include "sim/packet/hosts.hpp"
#include "sim/packet/switches.hpp"

namespace loom::sim::packet {

template <class Program>
class EngineOf : public Program::Interface {
public:
    // Throws UsageError for options that make no sense.
    EngineOf(const Network& network, const typename Program::Source& source, const Options& options);

    using Program::Interface::work;

    [[nodiscard]] Level level() const override { return Level::packet; }
    [[nodiscard]] Time now() const override { return Time{now_}; }
    State advance(Time until) override;
    [[nodiscard]] std::vector<Flow> flows() const override { return program_.flows(); }
    [[nodiscard]] std::vector<Time> rank_ends() const override { return program_.rank_ends(); }
    [[nodiscard]] fabric::PortCounters counters(PortIndex port) const override;
    [[nodiscard]] fabric::CongestionParameters* congestion_parameters() override { return parameters_.get(); }
    [[nodiscard]] Simulation::Work work() const override;
    [[nodiscard]] std::vector<std::string> trouble() const override { return trouble_; }

    // What must always hold: no credit count below zero or above the buffer, and for each link and lane credits,
    // credits under way, packets on the cable and packets in the buffer add up to the buffer. The first line that does
    // not, in words; empty when all is well. Cost: one pass over everything.
    [[nodiscard]] std::string audit() const;
    // CCTI of a flow's messages of a service level.
    [[nodiscard]] unsigned throttle_index(FlowIndex flow, std::uint8_t sl = 0) const {
        return hosts_.throttle_index(flow, sl, now_);
    }
    [[nodiscard]] Program& program() { return program_; }
    // Of a running program, between two calls of advance(); also where nothing happened any more.
    void wake_between(Rank rank, OpIndex ticket, Time at);
    // As LiveSimulation.
    void fail_ports(std::span<const PortIndex> ports);
    void turn_to(const routing::Tables& tables);

private:
    friend struct EngineAccess;  // tests break things through it

    void part_entities(unsigned workers);
    void play(Worker& worker, Window window);
    void apply_credits(Worker& worker, Window window);
    void sort_by_entity(Worker& worker);
    void play_entity(Worker& worker, Event* first, Event* last);
    void run_alone(Window end);
    void run_together(Window end);
    [[nodiscard]] bool is_time_to_audit(unsigned windows) const;
    void assert_audit() const;
    [[nodiscard]] bool worth_a_look();
    [[nodiscard]] State judge();
    [[nodiscard]] std::vector<std::string> find_deadlock() const;
    template <class Visit>
    void visit_pending(Visit&& visit) const;

    Options options_;
    Network network_;
    Plant plant_;
    Ports ports_;
    Links links_;
    Program program_;
    Switches switches_;
    Hosts<Program> hosts_;
    std::vector<std::uint8_t> worker_of_;  // by port
    std::vector<Worker> workers_;
    std::unique_ptr<fabric::CongestionParameters> parameters_;
    std::int64_t now_ = 0;
    Window played_ = -1;       // all windows up to this one
    std::int64_t looked_ = 0;  // for a deadlock
    State state_ = State::running;
    std::vector<std::string> trouble_;
};

extern template class EngineOf<Executor>;
extern template class EngineOf<LiveProgram>;
using Engine = EngineOf<Executor>;
using LiveEngine = Live<EngineOf<LiveProgram>>;

// Throws UsageError naming what makes no sense.
void check_options(const PacketOptions& options);
// Without threads that so few ranks have no use for.
[[nodiscard]] Options with_useful_threads(Options options, std::size_t ranks);

}  // namespace loom::sim::packet
