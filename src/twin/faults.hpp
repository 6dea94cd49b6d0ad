// What breaks in a job, when it breaks, and how the subnet's tables follow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/sim/live.hpp"
#include "loom/twin/run.hpp"

namespace loom::twin {

// Between two steps of the simulation.
class Faults {
public:
    // Throws UsageError for faults that the job cannot have, and sets what the simulation must know beforehand.
    static void prepare(Options& options, std::uint32_t ranks);
    Faults(const Options& options, sim::LiveSimulation& simulation, std::function<bool(Rank)> has_ended);

    // When it must be played next; never when nothing is left.
    [[nodiscard]] Time next() const { return due_.empty() ? never : due_.begin()->first; }
    // All that is due by now.
    void play(Time now);
    [[nodiscard]] const std::vector<std::string>& events() const { return events_; }

private:
    static constexpr std::size_t repair = SIZE_MAX;

    void play(const sim::Fault& fault);
    void kill(Rank rank, Time at, const char* why);
    void cut(std::span<const PortIndex> ports);
    void mend(Time now);
    void kill_cut_off_ranks(const routing::SwitchGraph& graph, Time now);
    void note(Time at, const std::string& text);

    const Options& options_;
    sim::LiveSimulation& simulation_;
    std::function<bool(Rank)> has_ended_;
    std::multimap<Time, std::size_t> due_;  // number of a fault, or `repair`
    std::optional<fabric::Fabric> fabric_;  // what is left of it, once something has failed
    std::vector<std::unique_ptr<routing::Tables>> tables_;
    std::vector<std::string> events_;
};

}  // namespace loom::twin
