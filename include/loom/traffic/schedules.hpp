// Schedules by name: what --schedule understands; and patterns made into schedules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loom/base/time.hpp"
#include "loom/traffic/pattern.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

struct ScheduleKind {
    std::string_view name;
    std::string_view argument;  // what may follow a colon; empty when nothing may
    std::string_view summary;   // one line for --help
};

// Every schedule there is, in the order in which help lists them.
[[nodiscard]] std::span<const ScheduleKind> schedule_kinds();
// The same as text, a line each, for --help.
[[nodiscard]] std::string schedule_help();

struct ScheduleOptions {
    std::uint64_t bytes = 8;  // of each message; the most of one where sizes are random
    Time work{};              // of a stencil's iteration and of a random graph's computations (the most)
    std::uint64_t seed = 1;
};

// No schedule holds more operations: 2^27 take 5 to 11 GiB while they are built, the most with the most edges.
inline constexpr std::size_t most_operations = std::size_t{1} << 27;

// Makes a schedule for ranks 0..ranks-1 from "NAME" or "NAME:ARGUMENT". Throws UsageError for an unknown name, a bad
// argument and more than most_operations. Linear in operations and edges.
[[nodiscard]] Schedule make_schedule(std::string_view spec, std::size_t ranks, const ScheduleOptions& options = {});

// When a rank takes part in a stage of a pattern.
enum class Parting : std::uint8_t {
    none,     // at once: all stages together
    own,      // after its own sends and receives of the last stage in which it took part
    barrier,  // after all ranks have ended the stage before, which a dissemination of 1-byte messages (tag 1) tells
              // them
};

// Every pair becomes a send and a receive of `bytes` with tag 0; a rank with more than 8 operations in a stage gets an
// empty computation that waits for them and for which the next stage waits. Throws UsageError beyond most_operations.
[[nodiscard]] Schedule from_pattern(const Pattern& pattern, std::uint64_t bytes, Parting parting);

}  // namespace loom::traffic
