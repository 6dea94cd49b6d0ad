// Collectives on ranks of this host: measured, and predicted with what was probed on them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "loom/coll/calibration.hpp"
#include "loom/coll/mpi_operations.hpp"
#include "loom/coll/uniform.hpp"

namespace loom::cli {

// MPI's names.
inline constexpr std::array collective_names = {
#define LOOM_NAME(OPERATION, NAME, WHAT) std::string_view(#OPERATION),
    LOOM_MPI_COLLECTIVES(LOOM_NAME)
#undef LOOM_NAME
};

// One operation of one size.
struct TimedCell {
    std::string operation;
    std::uint64_t bytes = 0;
    std::string algorithm = {};
    coll::Tuning tuning = {};
    Time measured = {}, low = {}, high = {};  // median and quartiles
    std::size_t rounds = 0;
    Time predicted = never;

    [[nodiscard]] double ratio() const { return predicted.seconds() / measured.seconds(); }
};

// All of a number of ranks.
struct TimedGroup {
    std::uint32_t ranks = 0, cores = 0;
    std::uint64_t limit = 0;  // bytes of the largest eager message
    std::string transport;
    std::vector<coll::Probed> probed;
    std::vector<TimedCell> cells;
    model::Charges charges = {};
};

struct TimingPlan {
    std::vector<std::string> operations;  // of collective_names
    std::vector<std::uint64_t> bytes;
    std::uint32_t probe_rounds = 60, rounds = 45;
    Time probe_most = milliseconds(30), most = milliseconds(40);
};

// Sums of doubles where the operation reduces.
[[nodiscard]] coll::UniformShape shape_of(const TimedCell& cell, std::uint32_t ranks);

// In a rank that `loom run` or another command started: probes and cells in turn. Rank 0's answer is JSON text.
[[nodiscard]] std::string time_collectives(const TimingPlan& plan);
// What is in it, and back.
[[nodiscard]] TimedGroup group_from(const nlohmann::ordered_json& said);
[[nodiscard]] nlohmann::ordered_json to_json(const TimedGroup& group);

// The charges, by what was probed, and every cell by them, with the algorithm that ran. `over`: a list over the
// charges.
void predict(TimedGroup& group, const std::string& over);

}  // namespace loom::cli
