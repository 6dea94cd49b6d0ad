// The two-switch testbed of Mizero et al. 2016, Fig. 2, in small: one scale for volumes, times, the sweep and the
// counter thresholds. What is counted in sweeps or set in adapters is not scaled.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "loom/reproduce/parts.hpp"
#include "loom/sim/record.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::reproduce {

// What took a second there takes 4 ms here.
inline constexpr std::int64_t testbed_scale = 250;

// All HCA links are 4xSDR, the one between the switches 4xQDR.
//
//   A (12) \                      / (1) B
//           S1 (15) ---- (20) S2 -- (2) C
//   X (11) /                      \ (23) D, (24) Y
struct Testbed {
    enum Who : std::size_t { xy, ad, bd, cd };  // flows, in this order
    static constexpr std::array<const char*, 4> names{"X-Y", "A-D", "B-D", "C-D"};

    struct Start {
        double seconds;  // of the paper's time
        bool sends = true;
    };
    // Each flow sends `gigabits` in the paper's terms, cut into messages of 128 MiB, two of them on their way.
    Testbed(const Parts& parts, std::array<Start, 4> starts, double gigabits);

    fabric::Fabric fabric;
    std::unique_ptr<routing::SwitchGraph> graph;
    routing::Tables tables;
    traffic::Schedule schedule;
    fabric::Placement placement;
    PortIndex between;  // S1 port 15
    PortIndex root;     // S2 port 23

    [[nodiscard]] sim::Network network() const { return {graph.get(), &tables, placement}; }
};

// Threshold 15, CCTI_Increase 1 and no limit but the table's, as the paper sets them; the table is ours.
[[nodiscard]] sim::Options testbed_options(std::uint16_t ccti_timer, std::uint16_t marking_rate);

// Of Experiment II. A flow sends 140 messages.
inline constexpr double testbed_gigabits = 140 * 128.0 * 1024 * 1024 * 8 * 1e-9;  // 150.3
// T_C of 8 million at the 6.0 million ticks a second that Fig. 5b shows: 1.33 s, and the next tenth.
inline constexpr double testbed_sweep = 1.4;
// The paper's manager: T_C and T_W as printed, T_D a tenth of what an SDR link carries in a sweep, marking rates 0 and
// 128, T_I as told.
[[nodiscard]] manager::Settings testbed_settings(std::uint32_t intervals);

// A time of the paper's in ours, and back.
[[nodiscard]] Time scaled_down(double seconds);
[[nodiscard]] double paper_seconds(Time time);

// Mean payload rate of a flow between two samples, in Gbit/s.
[[nodiscard]] double rate(const sim::Recording& recording, std::size_t flow, std::size_t from, std::size_t to);
// The sample at or after the time; the last one when there is none.
[[nodiscard]] std::size_t sample_at(const sim::Recording& recording, Time time);

// What both experiments leave open or say twice.
[[nodiscard]] std::vector<std::string> testbed_remarks();

}  // namespace loom::reproduce
