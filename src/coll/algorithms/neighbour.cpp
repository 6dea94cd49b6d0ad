// Neighbour collectives: blocks to those that a topology names.
#include <fmt/format.h>

#include "coll/algorithms/families.hpp"
#include "coll/algorithms/neighbours.hpp"
#include "loom/base/error.hpp"

namespace loom::coll {

bool has_neighbours(const Group& group, const Call&) {
    return group.neighbours.size() == group.size;
}

std::uint32_t occurrence(std::span<const Rank> list, std::size_t i) {
    std::uint32_t before = 0;
    for (std::size_t k = 0; k < i; ++k)
        if (list[k] == list[i]) ++before;
    return before;
}

std::uint32_t destination_of(const Group& group, Rank rank, std::uint32_t source) {
    if (group.grid != nullptr) return source ^ 1;
    const std::span<const Rank> sources = group.neighbours[rank.value].sources;
    const auto& list = group.neighbours[sources[source].value].destinations;
    std::uint32_t open = occurrence(sources, source);
    for (std::uint32_t i = 0; i < list.size(); ++i)
        if (list[i] == rank && open-- == 0) return i;
    throw UsageError(
        fmt::format("rank {} is a source of rank {}, but not the other way round", sources[source].value, rank.value));
}

namespace {

// The tag of a message between neighbours tells those between the same two ranks from each other: by order, on a grid
// by the direction in which it goes.
void linear(const Group& group, const Call& call, const Tuning&, Writer& writer) {
    const Neighbours& mine = group.neighbours[group.me.value];
    const auto degree_in = static_cast<std::uint32_t>(mine.sources.size());
    const auto degree_out = static_cast<std::uint32_t>(mine.destinations.size());
    const bool one = call.what == Collective::neighbour_allgather || call.what == Collective::neighbour_allgatherv;
    const bool even = call.what == Collective::neighbour_allgather || call.what == Collective::neighbour_alltoall;
    const BlockPieces in = even ? BlockPieces::even(call.bytes, degree_in) : BlockPieces::given(call.received);
    BlockPieces out;
    if (!one) out = even ? BlockPieces::even(call.bytes, degree_out) : BlockPieces::given(call.sent);
    for (std::uint32_t i = 0; i < degree_in; ++i) {
        if (mine.sources[i] == no_rank || in[i].bytes == 0) continue;
        if (mine.sources[i] == group.me) {
            const std::uint32_t block = destination_of(group, group.me, i);
            writer.copy(input(one ? 0 : out[block].at), output(in[i].at), in[i].bytes);
            continue;
        }
        const std::uint32_t tag = group.grid != nullptr ? i ^ 1 : occurrence(mine.sources, i);
        writer.receive(mine.sources[i], output(in[i].at), in[i].bytes, {}, tag);
    }
    for (std::uint32_t i = 0; i < degree_out; ++i) {
        const Piece block = one ? Piece{0, even ? call.bytes : call.sent.bytes[0]} : out[i];
        if (mine.destinations[i] == no_rank || mine.destinations[i] == group.me || block.bytes == 0) continue;
        const std::uint32_t tag = group.grid != nullptr ? i : occurrence(mine.destinations, i);
        writer.send(mine.destinations[i], input(block.at), block.bytes, {}, tag);
    }
}

constexpr Algorithm linear_of(Collective what) {
    return {what,  "linear", "to each neighbour at once: 1 round of as many messages as neighbours, no copy",
            false, false,    has_neighbours,
            linear};
}
constexpr Algorithm by_distance(Collective what) {
    return {
        what,
        "distance",
        "blocks go by the digits of their distance, all of a digit as one message: log2(ranks) messages; many small "
        "blocks",
        false,
        false,
        has_neighbours,
        neighbours_by_distance};
}
constexpr Algorithm by_host(Collective what) {
    return {what,
            "hierarchical",
            "what goes from one host to another goes as one message between their first ranks",
            false,
            false,
            neighbours_on_hosts,
            neighbours_by_host};
}

constexpr Algorithm allgather_list[] = {linear_of(Collective::neighbour_allgather),
                                        by_distance(Collective::neighbour_allgather),
                                        by_host(Collective::neighbour_allgather)};
constexpr Algorithm alltoall_list[] = {linear_of(Collective::neighbour_alltoall),
                                       by_distance(Collective::neighbour_alltoall),
                                       by_host(Collective::neighbour_alltoall)};
constexpr Algorithm allgatherv_list[] = {linear_of(Collective::neighbour_allgatherv)};
constexpr Algorithm alltoallv_list[] = {linear_of(Collective::neighbour_alltoallv)};

}  // namespace

Family neighbour_allgathers() {
    return allgather_list;
}
Family neighbour_allgathervs() {
    return allgatherv_list;
}
Family neighbour_alltoalls() {
    return alltoall_list;
}
Family neighbour_alltoallvs() {
    return alltoallv_list;
}

}  // namespace loom::coll
