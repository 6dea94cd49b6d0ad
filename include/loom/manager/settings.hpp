// What the congestion manager is told: thresholds, how to read the paper, and which policy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loom/base/time.hpp"
#include "loom/manager/policy.hpp"

namespace loom::manager {

// The algorithm as printed (Mizero 2016, Algorithms 1 to 3) cannot work in three places. Each can be had as it
// stands in the paper, to see it fail.
enum class Reading : std::uint8_t { corrected, literal };
struct Readings {
    Reading victim = Reading::corrected;   // a victim faces any port of the congested switch; literally the congested
                                           // port itself, into which nothing that left it can have come back
    Reading count = Reading::corrected;    // a port is passed over in the sweep that lowered it; literally whenever
                                           // its count is 1, which it then stays for ever
    Reading restore = Reading::corrected;  // restoring clears victims and count, at or beyond T_I; literally nothing
                                           // is cleared, at exactly T_I, and known victims never start a second cycle

    friend bool operator==(const Readings&, const Readings&) = default;
};
[[nodiscard]] constexpr Readings as_printed() {
    return {Reading::literal, Reading::literal, Reading::literal};
}

// Thresholds are for one `sweep`. Where more or less time lies between two reads of a port, what it counted is
// scaled to that. Defaults are the paper's where it prints them; sweep, data and count are ours (it gives 12 and
// 6 seconds for the count, and its thresholds imply a sweep of at least 1.33 s).
struct Settings {
    Time sweep = milliseconds(1500);       // tau
    std::uint64_t congestion = 8'000'000;  // T_C: ticks in the congested state
    std::uint64_t wait = 27'400'000;       // T_W: ticks without credits
    std::uint64_t data = 30'000'000;       // T_D: a port that sends more words less than this has no victim flow
    std::uint32_t intervals = 8;           // T_I: sweeps, the lowering one counted, that a port stays low
    std::uint16_t low = 0;                 // marking rates: packets unmarked between two marked ones
    std::optional<std::uint16_t> normal;   // to restore, the key `default`; nothing: what was found on the port
    Readings readings;

    Policy policy = default_policy;
    Time calm_sweep = milliseconds(6000);  // two-step: while nothing is congested
    std::uint32_t survey = 8;              // history: every so many sweeps all ports are read; the first two always
    std::uint32_t memory = 32;             // history: sweeps after which a port that was congested is forgotten
    Time tick = nanoseconds(22);           // proportional: of the wait counter; the paper's testbed has 22 ns
    double gain = 0.25;                    // proportional: share of packets for the share of time waited, each sweep
    std::uint32_t longest_backoff = 32;    // backoff: sweeps

    std::uint64_t sweeps = 0;  // then stop; 0: when the clock says so
};

// The defaults with the paper's policy, and its default marking rate.
[[nodiscard]] inline Settings paper_settings() {
    Settings settings;
    settings.policy = {};
    settings.normal = 128;
    return settings;
}

// Throws UsageError that names the setting and says what it may be.
void check(const Settings& settings);

// A threshold on a counter of ticks that no port can exceed.
struct OutOfReach {
    std::uint64_t threshold = 0;
    std::uint64_t ticks = 0;     // that a sweep has
    std::uint64_t as_usual = 0;  // as much of this sweep as the default is of the default sweep
};
// For `congestion` or `wait`: nothing where a sweep has more ticks of `tick` than the threshold.
[[nodiscard]] std::optional<OutOfReach> out_of_reach(const Settings& settings, std::uint64_t Settings::*threshold,
                                                     Time tick);

// Settings as text, for scenario files and the command line: one key for each member above.
struct SettingInfo {
    std::string_view key;      // "sweep"
    std::string_view value;    // what kind of value: "TIME"
    std::string_view summary;  // one line
};
[[nodiscard]] std::span<const SettingInfo> setting_keys();
// Throws UsageError "KEY: expected ..., got ..." for a key that is none and a value that does not suit.
void set(Settings& settings, std::string_view key, std::string_view value);
// As set() takes it.
[[nodiscard]] std::string get(const Settings& settings, std::string_view key);

}  // namespace loom::manager
