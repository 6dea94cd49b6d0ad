// Plays a simulation and writes down what flows and ports did on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "loom/fabric/living.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::sim {

struct RecordOptions {
    // Time between samples; nothing: as many as suit, from 200 to 400. 0: none, only the end is looked at.
    std::optional<Time> sample = {};
    std::size_t flows = 256;            // so many flows, from the first on, get a series of their own
    std::vector<PortIndex> ports = {};  // to watch
    std::function<void(Time)> progress = {};
};

// Everything is counted from the beginning: what happened between two samples is their difference.
struct Recording {
    Level level = Level::packet;
    State state = State::running;
    Time end;                          // of the simulation so far
    std::vector<Time> times;           // of the samples, ascending; the first is the beginning, the last is `end`
    std::vector<std::uint64_t> total;  // payload bytes of all flows, by sample
    std::vector<std::vector<std::uint64_t>> delivered;  // by flow with a series, by sample
    std::vector<PortIndex> ports;
    std::vector<std::vector<fabric::PortCounters>> counters;  // by watched port, by sample

    std::vector<Flow> flows;  // all of them, at the end
    std::vector<Time> rank_ends;
    Simulation::Work work;
    std::vector<std::string> trouble;
    double wall_seconds = 0;  // spent in the engine

    // The last rank's end; never while some are open.
    [[nodiscard]] Time finish() const;
};

// The mean rate of a flow from its beginning to its end, or to `now` while it lasts, in Gbit/s of payload.
[[nodiscard]] double gigabits(const Flow& flow, Time now);

// Cost: a sample asks for all flows and the watched ports; with automatic sampling a few hundred times in all.
class Recorder {
public:
    // The simulation must outlive it.
    Recorder(Simulation& simulation, RecordOptions options);

    // As Simulation::advance, sampling on the way.
    State advance(Time until);
    // Of a live simulation that came to its end and was given more to do.
    void resume() { state_ = State::running; }
    [[nodiscard]] Simulation& simulation() { return *simulation_; }
    // What was recorded, with the state of now. The recorder can go on.
    [[nodiscard]] Recording recording();

private:
    void sample();
    void thin_out();
    void play(Time until);

    Simulation* simulation_;
    RecordOptions options_;
    Recording recording_;
    Time interval_;
    Time next_;
    State state_ = State::running;
};

// The narrow interfaces of a living fabric, served by a recorded simulation: reading costs no time, sleeping plays.
class RecordedFabric final : public fabric::CounterSource, public fabric::Clock {
public:
    // Sleeps no longer than `until`, or than the simulation runs.
    RecordedFabric(Recorder& recorder, std::optional<Time> until) : recorder_(&recorder), until_(until) {}

    void read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) override;
    [[nodiscard]] Time now() override { return recorder_->simulation().now(); }
    bool sleep_until(Time time) override;

private:
    Recorder* recorder_;
    std::optional<Time> until_;
};

}  // namespace loom::sim
