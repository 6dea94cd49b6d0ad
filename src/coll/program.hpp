// A plan as the engine wants it: the same operations in the same graph, with world ranks, packed for one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/coll/plan.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {

// What becomes of steps that are no messages.
enum class LocalSteps : std::uint8_t {
    at_once,  // over when they begin
    charged,  // by Transport::work(): each has a message, and what waits for nothing begins as `sim` begins it
};

// 56 bytes. One for each operation of the schedule, under the same number.
struct ProgramStep {
    traffic::OpKind kind;
    Buffer from_buffer;
    Buffer to_buffer;
    std::uint32_t peer;  // of the world
    std::uint32_t tag;   // 24 bits
    std::uint32_t message;
    std::uint64_t bytes;
    std::uint64_t from, to;
    std::uint32_t first_successor;
    std::uint32_t successors;
};

struct Program {
    std::vector<ProgramStep> steps;
    std::vector<std::uint32_t> successors;
    std::vector<std::uint32_t> waits;  // by step: how many others it waits for
    std::vector<std::uint32_t> ready;  // steps that wait for none, in the order in which they begin
    std::uint32_t messages = 0;
    std::uint64_t scratch = 0;  // bytes
    std::uint64_t moved = 0;    // bytes that this rank sends, copies and reduces
    bool reduces = false;
    // What it touches of the program's input and output: from the first byte to behind the last.
    struct Reach {
        std::uint64_t first = ~std::uint64_t{0}, end = 0;
        [[nodiscard]] std::uint64_t bytes() const { return end > first ? end - first : 0; }
    };
    Reach input, output;
    bool multicast = false;    // Plan::multicast
    bool past_caches = false;  // Message::past_caches

    [[nodiscard]] std::size_t bytes() const;
};

// Throws UsageError for a plan the engine cannot run: edges on the start of an operation, receives from anyone, tags
// beyond 24 bits.
[[nodiscard]] Program compile(const Plan& plan, std::span<const Rank> members, LocalSteps local = LocalSteps::at_once);

}  // namespace loom::coll
