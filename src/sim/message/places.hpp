// The cores and adapters of all ranks: until when each is busy, and who waits for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/time.hpp"
#include "loom/traffic/schedule.hpp"
#include "sim/message/match_table.hpp"

namespace loom::sim {

// What an event waits for: a core alone, a core and an adapter to send, a core and an adapter to take a message in.
enum class Station : std::uint8_t { work, send, take };

// Every rank has one core and one adapter, as in nearly all schedules: all there is to know of a rank in one cache
// line.
class OnePlace {
public:
    static constexpr bool many = false;
    explicit OnePlace(const traffic::Schedule& schedule) : ranks_(schedule.ranks()) {}

    [[nodiscard]] Time& core(std::uint32_t rank, std::uint8_t) { return ranks_[rank].core; }
    [[nodiscard]] Time& out(std::uint32_t rank, std::uint8_t) { return ranks_[rank].out; }
    [[nodiscard]] Time& in(std::uint32_t rank, std::uint8_t) { return ranks_[rank].in; }
    [[nodiscard]] OpQueue& waiting(Station station, std::uint32_t rank, const traffic::Op&) {
        return ranks_[rank].waiting[static_cast<std::size_t>(station)];
    }
    [[nodiscard]] OpQueue& posted(std::uint32_t rank) { return ranks_[rank].posted; }
    [[nodiscard]] const OpQueue& posted(std::uint32_t rank) const { return ranks_[rank].posted; }
    [[nodiscard]] OpQueue& unexpected(std::uint32_t rank) { return ranks_[rank].unexpected; }
    [[nodiscard]] Time busy_until(std::uint32_t rank) const { return ranks_[rank].core; }
    void prefetch(std::uint32_t rank) const { __builtin_prefetch(&ranks_[rank], 1); }

private:
    struct alignas(64) RankState {
        Time core, out, in;
        OpQueue waiting[3];
        OpQueue posted, unexpected;
    };
    std::vector<RankState> ranks_;
};

// Any number of cores and adapters, as many on each rank as it uses.
class ManyPlaces {
public:
    static constexpr bool many = true;
    explicit ManyPlaces(const traffic::Schedule& schedule) : ranks_(schedule.ranks()) {
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
            for (const traffic::Op& op : schedule.ops(Rank{rank})) {
                ranks_[rank].extend(op);
                // A message occupies the receiver's core and adapter of the numbers that its send has.
                if (op.kind == traffic::OpKind::send) ranks_[op.peer.value].extend(op);
            }
        std::size_t times = 0, queues = 0;
        for (RankState& rank : ranks_) {
            rank.first_time = static_cast<std::uint32_t>(times);
            rank.first_queue = static_cast<std::uint32_t>(queues);
            times += rank.cores + 2 * rank.adapters;
            queues += rank.cores * (1 + 2 * rank.adapters);
            if (queues > std::numeric_limits<std::uint32_t>::max() / 4)
                throw Error("the schedule uses too many cores and adapters: numbers near 0 take less memory");
        }
        times_.resize(times);
        queues_.resize(queues);
    }

    [[nodiscard]] Time& core(std::uint32_t rank, std::uint8_t cpu) { return times_[ranks_[rank].first_time + cpu]; }
    [[nodiscard]] Time& out(std::uint32_t rank, std::uint8_t nic) {
        return times_[ranks_[rank].first_time + ranks_[rank].cores + nic];
    }
    [[nodiscard]] Time& in(std::uint32_t rank, std::uint8_t nic) {
        return times_[ranks_[rank].first_time + ranks_[rank].cores + ranks_[rank].adapters + nic];
    }
    [[nodiscard]] OpQueue& waiting(Station station, std::uint32_t rank, const traffic::Op& op) {
        const RankState& state = ranks_[rank];
        const std::size_t of_core = state.first_queue + op.cpu * (1 + 2 * state.adapters);
        if (station == Station::work) return queues_[of_core];
        return queues_[of_core + 1 + (station == Station::take ? state.adapters : 0) + op.nic];
    }
    [[nodiscard]] OpQueue& posted(std::uint32_t rank) { return ranks_[rank].posted; }
    [[nodiscard]] const OpQueue& posted(std::uint32_t rank) const { return ranks_[rank].posted; }
    [[nodiscard]] OpQueue& unexpected(std::uint32_t rank) { return ranks_[rank].unexpected; }
    [[nodiscard]] Time busy_until(std::uint32_t rank) const {
        Time end{};
        for (std::uint32_t core = 0; core < ranks_[rank].cores; ++core)
            end = std::max(end, times_[ranks_[rank].first_time + core]);
        return end;
    }
    void prefetch(std::uint32_t rank) const { __builtin_prefetch(&ranks_[rank], 1); }

private:
    struct RankState {
        std::uint32_t first_time = 0, first_queue = 0;
        std::uint32_t cores = 1, adapters = 1;
        OpQueue posted, unexpected;

        void extend(const traffic::Op& op) {
            cores = std::max(cores, op.cpu + 1u);
            adapters = std::max(adapters, op.nic + 1u);
        }
    };
    std::vector<RankState> ranks_;
    std::vector<Time> times_;
    std::vector<OpQueue> queues_;
};

}  // namespace loom::sim
