// Plans kept by a communicator: each with its program and the executions that are free to be started.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coll/engine.hpp"
#include "coll/program.hpp"
#include "coll/touched.hpp"
#include "loom/coll/communicator.hpp"

namespace loom::coll {

// What calls must have in common to share a plan: all of Call and of the choice, the blocks copied.
struct Shape {
    Shape() = default;
    Shape(const Call& call, const Choice* choice);
    [[nodiscard]] bool is(const Call& call, const Choice* choice) const;
    [[nodiscard]] static std::uint64_t hash(const Call& call, const Choice* choice);

    Call call;  // its spans point into `words`
    std::string algorithm;
    Tuning tuning;
    std::vector<std::uint64_t> words;
};

// Owns plan, program and executions.
struct Prepared {
    Prepared(Communicator::State& owner, std::shared_ptr<const Plan> written);
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;

    // From the pool, or a new one.
    [[nodiscard]] Execution* take(Engine& engine);
    void put_back(Execution* execution);
    [[nodiscard]] bool has_member(Rank in_world) const;
    [[nodiscard]] std::optional<Rank> lost_member(const transport::Transport& transport) const;  // any that is gone
    [[nodiscard]] std::size_t bytes() const;

    Communicator::State& communicator;
    // In virtual time those of calls are forgotten once the program is made: a plan has four bytes for every rank of
    // the group, and thousands of ranks are worlds of one process.
    std::shared_ptr<const Plan> plan;
    Program program;
    Touched touched;          // nothing, of a plan that somebody else wrote
    bool is_message = false;  // of Communicator::State::messages
    std::uint32_t taken = 0;  // executions that somebody holds
    std::uint64_t last_use = 0;
    Shape shape;

private:
    Execution* idle_ = nullptr;
    std::vector<std::unique_ptr<Execution>> all_;  // as many as ever were in flight at once
};

// Owns what was prepared. Bounded by number and by memory; what is in use stays. A hit costs some 10 ns.
class PlanCache {
public:
    // Null when there is none.
    [[nodiscard]] Prepared* find(const Call& call, const Choice* choice);
    [[nodiscard]] Prepared* find(const std::shared_ptr<const Plan>& plan);
    Prepared& insert(const Call& call, const Choice* choice, std::unique_ptr<Prepared> prepared);
    Prepared& insert(std::unique_ptr<Prepared> prepared);  // of a plan that somebody else wrote
    [[nodiscard]] std::size_t size() const { return all_.size(); }

    static constexpr std::size_t most = 512;
    static constexpr std::size_t most_bytes = std::size_t{64} << 20;

private:
    Prepared& keep(std::uint64_t key, std::unique_ptr<Prepared> prepared);
    void make_room();

    std::array<Prepared*, 64> recent_{};  // by the low bits of the key
    std::unordered_multimap<std::uint64_t, std::unique_ptr<Prepared>> all_;
    std::uint64_t clock_ = 0;
};

}  // namespace loom::coll
