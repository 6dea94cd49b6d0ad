// What a communicator's handles share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coll/checking.hpp"
#include "coll/members.hpp"
#include "coll/messages.hpp"
#include "coll/prepared.hpp"
#include "coll/ranking.hpp"
#include "loom/coll/communicator.hpp"
#include "loom/coll/world.hpp"

namespace loom::coll {

// Transport tag: context (20 bits), sequence (20), tag of the operation (24).
inline constexpr std::uint64_t tags_of_operation = std::uint64_t{1} << 24;
inline constexpr std::uint32_t series_bits = 2;
inline constexpr std::uint32_t sequences = 1u << (19 - series_bits);  // of a series; half of all are persistent ones'
inline constexpr std::uint32_t first_persistent = 1u << 19;
inline constexpr std::uint32_t message_sequence = (1u << 20) - 1;  // no operation's: messages between two ranks
inline constexpr std::uint32_t persistent_sequences = message_sequence - first_persistent;
// By its tag. All starts of a persistent operation have the same one: a datagram that comes late must not be taken for
// one of the next start, so they go without.
[[nodiscard]] constexpr bool is_persistent(std::uint64_t tag) {
    return (tag >> 24 & first_persistent) != 0;
}

struct Communicator::State {
    State(World::State& owner, Members ranks, std::uint32_t number, std::vector<Neighbours> by_rank = {},
          std::optional<Grid> cartesian = {});
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Of a call that was checked.
    [[nodiscard]] Plan make_plan_of(const Call& call, const Choice* choice);
    // The plan for this call, written if need be. Throws UsageError.
    [[nodiscard]] Prepared& prepare(const Call& call, const Choice* choice);
    [[nodiscard]] Prepared& prepare(std::shared_ptr<const Plan> plan);
    // An execution with everything but its tag.
    [[nodiscard]] Execution& take(Prepared& prepared, Buffers buffers, const Reduction* reduction);
    void put_back(Execution& execution);
    // Starts an execution that has its tag; with LOOM_COLL_CHECK after the ranks have compared their calls.
    void start(Execution& execution);
    void start_checked(Execution& execution, const CallRecord& mine);
    // Throws RankLost when a member is gone.
    void refuse_after_loss(const Prepared& prepared) const;
    [[nodiscard]] std::uint64_t next_tag(Series series = Series::first) {
        const auto number = static_cast<std::uint32_t>(series);
        return tag_of(number * sequences + sequence[number]++ % sequences);
    }
    // Persistent operations may be started in different orders on different ranks: they have their tag from the
    // beginning, and their messages match in the order of their starts.
    [[nodiscard]] std::uint64_t next_persistent_tag() {
        return tag_of(first_persistent + persistent_sequence++ % persistent_sequences);
    }
    [[nodiscard]] std::uint64_t message_tag() const { return tag_of(message_sequence); }
    // Of the ranks given by everyone's `mine`, in the order of ranks.
    void exchange(std::span<const std::byte> mine, std::span<std::byte> all);
    // Agreed with all others: a context that none of us uses. It counts as used until the world gives it up.
    [[nodiscard]] std::uint32_t agree_on_context();

    World::State& world;
    Members members;
    std::uint32_t context;
    std::vector<std::uint32_t> own_hosts;  // where the group's are not the transport's
    std::vector<Neighbours> neighbours;
    std::optional<Grid> grid;
    Group group;
    std::uint64_t group_signature = 0;
    // Reductions are chosen, and their plans written, as if all ranks were on one host, by costs that are the same
    // everywhere: their bits then depend on the number of ranks and the data alone.
    struct Reproducible {
        std::vector<std::uint32_t> hosts;
        Group group;
        std::uint64_t group_signature = 0;
        model::Charges charges;
        Ranking ranking;
        PlanCache plans;
    };
    std::unique_ptr<Reproducible> reproducible;  // null: never asked for
    bool is_reproducible = false;
    void set_reproducible(bool on);
    std::uint32_t sequence[1u << series_bits] = {};  // by series
    std::uint32_t persistent_sequence = 0;
    std::uint32_t agreements = 0;  // begun, in all
    PlanCache plans;
    MessagePrograms messages;
    std::size_t taken = 0;      // executions that somebody holds
    bool unreferenced = false;  // no handle is left; it goes with the last execution

private:
    [[nodiscard]] std::uint64_t tag_of(std::uint32_t number) const {
        return std::uint64_t{context} << 44 | std::uint64_t{number} << 24;
    }
};

// Throws UsageError for what cannot be: root outside the group, blocks missing or too few, no neighbours.
void check_call(const Group& group, const Call& call);

}  // namespace loom::coll
