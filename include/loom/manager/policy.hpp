// What the congestion manager does beyond the paper: policies, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace loom::manager {

// Four choices that do not depend on each other. All at their first value: the paper's manager.
enum class Sweeping : std::uint8_t {
    steady,    // one interval
    two_step,  // a longer one until a congestion event is detected, the shorter one while it lasts
};
enum class Attention : std::uint8_t {
    all,      // every connected switch port in every sweep
    history,  // ports that were congested lately and those that face their switches; all of them now and then
};
enum class Marking : std::uint8_t {
    two_values,    // low or default
    proportional,  // as much as it takes: the share of packets that are marked grows with the time that victims wait
};
enum class Patience : std::uint8_t {
    none,
    backoff,  // a port whose lowering found no victim flow is left alone for twice as many sweeps each time
};
struct Policy {
    Sweeping sweeping = Sweeping::steady;
    Attention attention = Attention::all;
    Marking marking = Marking::two_values;
    Patience patience = Patience::none;

    friend bool operator==(const Policy&, const Policy&) = default;
};
// Of the two that slow down victims and contributors least in `loom reproduce manager-policies` (1.34 and 1.36, the
// mean of three cases) the one that does not leave a port alone when a victim comes late.
inline constexpr Policy default_policy{.marking = Marking::proportional};
// "paper", or any of the other names joined by '+'.
[[nodiscard]] std::string to_string(const Policy& policy);
[[nodiscard]] std::optional<Policy> parse_policy(std::string_view text);

// The names, "paper" first: help, completion and both functions above know them from this table alone.
[[nodiscard]] std::span<const std::string_view> policy_names();

}  // namespace loom::manager
