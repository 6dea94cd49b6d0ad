#include "coll/call_class.hpp"

#include <bit>
#include <numeric>
#include <span>

namespace loom::coll {

namespace {

std::uint64_t mean_of(std::span<const std::uint64_t> blocks) {
    if (blocks.empty()) return 0;
    return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}) / blocks.size();
}

}  // namespace

std::uint64_t size_class(std::uint64_t bytes) {
    const auto width = static_cast<unsigned>(std::bit_width(bytes));
    return width <= 3 ? bytes : bytes >> (width - 3) << (width - 3);
}

std::uint64_t known_bytes(const Call& call) {
    switch (call.what) {
        case Collective::barrier:
            return 0;
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::alltoallv:
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv:
            return usual_block;
        case Collective::allgatherv:
        case Collective::reduce_scatter:
            return size_class(call.received.bytes.empty() ? call.bytes : mean_of(call.received.bytes));
        default:
            return size_class(call.bytes);
    }
}

std::uint64_t signature(const Group& group) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto mix = [&](std::uint64_t value) { hash = (std::rotl(hash, 5) ^ value) * 0x9e3779b97f4a7c15u; };
    mix(group.size);
    for (const std::uint32_t host : group.hosts) mix(host);
    for (const Neighbours& each : group.neighbours) {
        mix(each.sources.size());
        for (const Rank rank : each.sources) mix(rank.value);
        mix(each.destinations.size());
        for (const Rank rank : each.destinations) mix(rank.value);
    }
    if (group.grid)
        for (std::size_t i = 0; i < group.grid->dims.size(); ++i)
            mix(std::uint64_t{group.grid->dims[i]} << 1 | (group.grid->periodic[i] ? 1 : 0));
    return hash;
}

}  // namespace loom::coll
