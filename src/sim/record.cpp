#include "loom/sim/record.hpp"

#include <algorithm>
#include <chrono>

namespace loom::sim {
namespace {

constexpr std::size_t most_samples = 400;
constexpr Time first_interval = nanoseconds(100);

// Every second sample, from the first on.
template <class T>
void halve(std::vector<T>& samples) {
    for (std::size_t i = 0; 2 * i < samples.size(); ++i) samples[i] = std::move(samples[2 * i]);
    samples.resize((samples.size() + 1) / 2);
}

}  // namespace

Time Recording::finish() const {
    Time last;
    for (const Time rank_end : rank_ends) last = std::max(last, rank_end);
    return last;
}

double gigabits(const Flow& flow, Time now) {
    if (flow.begun == never) return 0;
    const Time span = (flow.ended == never ? now : flow.ended) - flow.begun;
    return span.ps <= 0 ? 0 : static_cast<double>(flow.delivered) * 8'000 / static_cast<double>(span.ps);
}

Recorder::Recorder(Simulation& simulation, RecordOptions options)
    : simulation_(&simulation), options_(std::move(options)), interval_(options_.sample.value_or(first_interval)) {
    recording_.level = simulation.level();
    recording_.ports = options_.ports;
    recording_.counters.resize(options_.ports.size());
    if (interval_.ps != 0) sample();
    next_ = simulation.now() + interval_;
}

void Recorder::play(Time until) {
    const auto begin = std::chrono::steady_clock::now();
    state_ = simulation_->advance(until);
    recording_.wall_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options_.progress) options_.progress(simulation_->now());
}

void Recorder::thin_out() {
    halve(recording_.times);
    halve(recording_.total);
    for (auto& series : recording_.delivered) halve(series);
    for (auto& series : recording_.counters) halve(series);
    interval_ = interval_ * 2;
}

void Recorder::sample() {
    if (!recording_.times.empty() && recording_.times.back() == simulation_->now()) return;
    if (!options_.sample && recording_.times.size() == most_samples) thin_out();
    recording_.times.push_back(simulation_->now());
    const std::vector<Flow> flows = simulation_->flows();
    recording_.delivered.resize(std::min(flows.size(), options_.flows));
    std::uint64_t total = 0;
    for (const Flow& flow : flows) total += flow.delivered;
    recording_.total.push_back(total);
    for (std::size_t i = 0; i < recording_.delivered.size(); ++i) recording_.delivered[i].push_back(flows[i].delivered);
    for (std::size_t i = 0; i < options_.ports.size(); ++i)
        recording_.counters[i].push_back(simulation_->counters(options_.ports[i]));
}

State Recorder::advance(Time until) {
    if (interval_.ps == 0) {
        play(until);
        return state_;
    }
    while (state_ == State::running && simulation_->now() < until) {
        const Time stop = std::min(next_, until);
        play(stop);
        if (stop != next_) break;
        sample();
        while (next_ <= simulation_->now()) next_ += interval_;
    }
    return state_;
}

Recording Recorder::recording() {
    if (interval_.ps != 0) sample();
    Recording result = recording_;
    result.state = state_;
    result.end = simulation_->now();
    result.flows = simulation_->flows();
    result.rank_ends = simulation_->rank_ends();
    result.work = simulation_->work();
    result.trouble = simulation_->trouble();
    return result;
}

void RecordedFabric::read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) {
    for (std::size_t i = 0; i < ports.size(); ++i) counters[i] = recorder_->simulation().counters(ports[i]);
}

bool RecordedFabric::sleep_until(Time time) {
    const Time stop = until_ ? std::min(time, *until_) : time;
    if (recorder_->advance(stop) != State::running) return false;
    return !until_ || recorder_->simulation().now() < *until_;
}

}  // namespace loom::sim
