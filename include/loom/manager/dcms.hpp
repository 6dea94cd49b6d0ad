// The Dynamic Congestion Management System of Mizero 2016: from what ports count to which marking rate they get.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "loom/fabric/living.hpp"
#include "loom/manager/decision.hpp"
#include "loom/manager/settings.hpp"

namespace loom::manager {

// What managing costs: management packets, in effect.
struct Work {
    std::uint64_t sweeps = 0;
    std::uint64_t reads = 0;       // ports whose counters were read
    std::uint64_t missed = 0;      // ports whose counters could not be read
    std::uint64_t rate_reads = 0;  // marking rates asked for
    std::uint64_t writes = 0;      // marking rates set
    std::uint64_t lowered = 0;     // congestion events with victims
    std::uint64_t restored = 0;
    std::uint64_t left = 0;  // congestion events without
};

// One sweep at a time: read the wanted ports, observe() each, then judge(). Deterministic: decisions come in port
// order and depend on what was observed alone. Memory: about 150 bytes a switch port; a sweep costs a pass over
// them, and for each congested port a look at those that face its switch.
class Dcms {
public:
    // The fabric must outlive it. Throws UsageError when the settings make no sense.
    Dcms(const fabric::Fabric& fabric, const Settings& settings);
    Dcms(Dcms&&) noexcept;
    ~Dcms();

    // Connected switch ports whose counters the coming sweep wants, those of one switch side by side.
    [[nodiscard]] std::span<const PortIndex> wanted() const;
    // A port that was wanted and is not observed counts as unknown: it starts nothing and ends nothing.
    void observe(PortIndex port, Time when, const fabric::PortCounters& counters);
    // Told as a decision; not an observation.
    void unreadable(std::span<const PortIndex> ports, Time when, const std::string& error);
    // Algorithm 2, Algorithm 3. A rate that `parameters` refuses (by throwing Error) is told and tried again: lowering
    // after T_I sweeps, restoring in the next.
    void judge(Time now, fabric::CongestionParameters& parameters, const OnDecision& decided);
    // From the beginning of this sweep to the next, after judge().
    [[nodiscard]] Time interval() const;
    // Restores what is low, so that nothing stays behind.
    void stop(Time now, fabric::CongestionParameters& parameters, const OnDecision& decided);

    [[nodiscard]] const Work& work() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Algorithm 1: sweeps until settings.sweeps are done or the clock has nothing more to wait for, then restores. A
// switch that cannot be read is told and passed over; when none can, in the first sweep or three times in a row,
// the Error is thrown (after restoring).
Work run_manager(const fabric::Fabric& fabric, fabric::CounterSource& counters,
                 fabric::CongestionParameters& parameters, fabric::Clock& clock, const Settings& settings,
                 const OnDecision& decided);

}  // namespace loom::manager
