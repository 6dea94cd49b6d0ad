// loom twin run --explore: one program under many seeds.
#pragma once

#include <cstdint>

#include "cli/twin_job.hpp"
#include "loom/twin/processes.hpp"

namespace loom::cli {

// Returns the exit code: 1 when a seed failed.
int explore(TwinJob& job, const twin::Processes& processes, std::uint64_t seeds, const Common& common);

}  // namespace loom::cli
