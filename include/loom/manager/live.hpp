// A real subnet through the tools of infiniband-diags: counters by perfquery, settings by ibccquery and ibccconfig.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/fabric/living.hpp"

namespace loom::manager {

// Whether anything is written to the subnet.
enum class Apply : std::uint8_t { dry_run, apply };

struct LiveOptions {
    Apply apply = Apply::dry_run;
    bool reset_counters =
        false;            // reset 32-bit counters beyond half their range, which stand still at its end; needs apply
    std::string adapter;  // -C; empty: the tools' own choice
    unsigned adapter_port = 0;                       // -P; 0: the tools' own choice
    std::optional<std::uint64_t> cc_key;             // of congestion management; never printed
    Time limit = milliseconds(10'000);               // for one command; discover(): twelve times as long
    unsigned jobs = 8;                               // commands at once
    std::function<void(const std::string&)> remark;  // what is odd about the subnet, once each
    std::function<void(const std::string&)>
        command;  // each command that changes something, before it runs or would run
};

// What `ibnetdiscover` prints, for fabric::parse_fabric. Throws Error with what the tool said.
[[nodiscard]] std::string discover(const LiveOptions& options);

// Addresses switches by the LIDs in `fabric`, and before it first uses one asks the switch for its GUID: a file that is
// no longer true is an Error, not a change to another switch. Throws Error as soon as a tool is missing.
//
// Cost of a read: two processes for each switch and one more for each port; what one of them takes depends on the
// subnet (6 ms against a simulated one).
class LiveFabric : public fabric::CounterSource, public fabric::CongestionParameters {
public:
    // The fabric must outlive it.
    LiveFabric(const fabric::Fabric& fabric, LiveOptions options);
    ~LiveFabric() override;

    // Counts go on over a reset by reset_counters, but for what is counted between the read and the reset.
    // A switch that answers no congestion counters is told in a remark; its ports count no congested time, so that only
    // those that lead to hosts can be found congested.
    void read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) override;
    // Of the port where it has a setting of its own, else of its switch. In a dry run: what would be set by now. Throws
    // Error for ports above 31: the tools count the settings of a block as 32 here and as 48 there, so that they would
    // read and change other ports.
    [[nodiscard]] std::uint16_t marking_rate(PortIndex switch_port) override;
    // Keeps threshold and packet size, and reads back what it wrote. The rate that was found first brings back the
    // setting that was found, too.
    void set_marking_rate(PortIndex switch_port, std::uint16_t rate) override;

    [[nodiscard]] std::uint64_t processes() const;  // started so far

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The time since it was made. While it lives, SIGINT and SIGTERM end sleep_until (which then returns false) instead of
// the program; the second signal of either kind ends the program. At most one at a time.
class WallClock : public fabric::Clock {
public:
    WallClock();
    WallClock(const WallClock&) = delete;
    WallClock& operator=(const WallClock&) = delete;
    ~WallClock() override;

    [[nodiscard]] Time now() override;
    bool sleep_until(Time time) override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace loom::manager
