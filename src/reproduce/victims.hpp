// Flows that meet at one port, flows that suffer from it and flows that have nothing to do with it: two cases, played
// with and without congestion management. For the tables of victim flows and of the manager's policies.
//
// All of it is in the small time of the testbed (testbed.hpp): volumes, starts, sweep and counter thresholds are scaled
// down by testbed_scale; times come out in the large.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "loom/reproduce/reproduction.hpp"

namespace loom::reproduce {

enum class Role : std::uint8_t { contributor, victim, bystander };
inline constexpr std::size_t role_count = 3;

struct Case {
    std::shared_ptr<const void> owner;  // of what the others point at
    const fabric::Fabric* fabric = nullptr;
    const traffic::Schedule* schedule = nullptr;
    sim::Network network;
    std::vector<std::optional<Role>> roles;  // by flow; nothing: it sends nothing
};

enum class Contributors : std::uint8_t { present, absent };

// A 12-ary 3-tree of 4xQDR links: 1,728 hosts, fat-tree routing. 24 hosts of the other pods, each on a leaf of its own,
// send to the first host from 2 s on. On each of these leaves another host has the same way up as the contributor, and
// shares no other link with anybody: a victim. 8 bystanders share no link at all. Throws Error when the routing leaves
// no such flows.
[[nodiscard]] Case incast(const Parts& parts, Contributors contributors);

// The two switches of Mizero et al. 2016, as in Experiment II.
[[nodiscard]] Case testbed(const Parts& parts, Contributors contributors);
// The same with a victim that begins 25 s after the contributors: a manager may have made up its mind by then.
[[nodiscard]] Case late_testbed(const Parts& parts, Contributors contributors);

struct Fared {
    double gigabits = 0;  // mean of the flows' rates; of contributors all their bytes over all their time
    double slowest = 0;   // Gbit/s
    double finish = 0;    // s: when the last one ended
};
struct Outcome {
    std::array<Fared, role_count> fared;
    double reads = 0;   // ports
    double writes = 0;  // marking rates

    [[nodiscard]] const Fared& of(Role role) const { return fared[static_cast<std::size_t>(role)]; }
};

// Without a marking rate there is no congestion control. Not-a-number all over when not everything was delivered.
[[nodiscard]] Outcome play(const Parts& parts, const Case& played, std::optional<std::uint16_t> marking_rate);

inline constexpr std::uint16_t default_marking_rate = 128;
// The same with a manager; the mean over four runs in which its first sweep comes a quarter of a sweep later each time:
// when sweeps fall is chance, and the flows are short. One run in quick scope.
[[nodiscard]] Outcome managed_mean(const Parts& parts, const Case& played, const manager::Settings& settings,
                                   const RunOptions& options);

// Thresholds of Experiment II with the sweep and T_D of our reproduction of it; T_I 8 sweeps.
[[nodiscard]] manager::Settings small_settings(const manager::Policy& policy);
// The same with sweeps so many times as long; T_I lasts as long as before.
[[nodiscard]] manager::Settings with_sweep(manager::Settings settings, double times);

}  // namespace loom::reproduce
