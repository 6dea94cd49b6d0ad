#include "coll/alike.hpp"

#include <algorithm>

namespace loom::coll {

namespace {

constexpr std::uint32_t unknown = 0xffffffffu;

std::vector<std::uint32_t> ranks_by_host(const Group& group) {
    if (group.hosts.empty()) return {group.size};
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t host : group.hosts) {
        if (host >= ranks.size()) ranks.resize(host + 1);
        ++ranks[host];
    }
    return ranks;
}

std::uint32_t share(std::uint32_t value, std::uint32_t of) {
    return (value + of - 1) / of;
}

}  // namespace

bool on_one_host(const Group& group) {
    return std::all_of(group.hosts.begin(), group.hosts.end(), [&](std::uint32_t h) { return h == group.hosts[0]; });
}

Extent extent_of(const Group& group) {
    const std::vector<std::uint32_t> ranks = ranks_by_host(group);
    return {static_cast<std::uint32_t>(ranks.size()), *std::max_element(ranks.begin(), ranks.end())};
}

Extent thinned(const Extent& extent, std::uint32_t radix) {
    if (extent.hosts > radix) return {std::max(share(extent.hosts, radix), 2u), extent.inside};
    return {extent.hosts, share(extent.inside, radix)};
}

Alike::Alike(const Group& group, const Call& call, const Extent& extent, std::uint64_t bytes) : group_(group) {
    call_ = call;
    call_.in_place = false;
    if (on_one_host(group)) call_.root = Rank{0};
    if (extent != extent_of(group)) thin(group, extent);
    const std::uint64_t element = std::max<std::uint32_t>(call.element, 1);
    call_.bytes = bytes / element * element;
    if (bytes > 0 && call_.bytes == 0) call_.bytes = element;
    make_blocks();
}

void Alike::thin(const Group& group, const Extent& extent) {
    const std::vector<std::uint32_t> ranks = ranks_by_host(group);
    const Extent all = extent_of(group);
    // Hosts that stay, with their new numbers; of each host's ranks every so many-th stays.
    std::vector<bool> stays(all.hosts);
    for (std::uint64_t i = 0; i < extent.hosts; ++i) stays[i * all.hosts / extent.hosts] = true;
    std::vector<std::uint32_t> number(all.hosts, unknown), seen(all.hosts);
    std::uint32_t hosts = 0;
    Rank root{0};
    for (std::uint32_t rank = 0; rank < group.size; ++rank) {
        if (rank == call_.root.value && !hosts_.empty()) root = Rank{static_cast<std::uint32_t>(hosts_.size() - 1)};
        const std::uint32_t host = group.hosts.empty() ? 0 : group.hosts[rank];
        const std::uint64_t kept = std::max<std::uint64_t>(std::uint64_t{ranks[host]} * extent.inside / all.inside, 1);
        const std::uint64_t before = seen[host]++;
        if (!stays[host]) continue;
        // Ranks i with a whole number between i * kept / ranks and (i + 1) * kept / ranks.
        if ((before * kept + ranks[host] - 1) / ranks[host] * ranks[host] >= (before + 1) * kept) continue;
        if (number[host] == unknown) number[host] = hosts++;
        if (rank == call_.root.value) root = Rank{static_cast<std::uint32_t>(hosts_.size())};
        hosts_.push_back(number[host]);
    }
    group_.size = static_cast<std::uint32_t>(hosts_.size());
    group_.hosts = hosts_;
    group_.me = Rank{0};
    call_.root = root;
}

void Alike::make_blocks() {
    const std::size_t most = most_blocks();
    if (most == 0) return;
    bytes_.assign(most, call_.bytes);
    at_.resize(most);
    for (std::size_t i = 0; i < most; ++i) at_[i] = i * call_.bytes;
    const auto blocks = [&](std::size_t count) {
        return Blocks{std::span(bytes_).first(count), std::span(at_).first(count)};
    };
    calls_.assign(group_.size, call_);
    for (std::uint32_t rank = 0; rank < group_.size; ++rank) {
        Call& call = calls_[rank];
        const bool root = rank == call.root.value;
        call.bytes = 0;
        switch (call.what) {
            case Collective::gatherv:
                call.sent = blocks(1);
                if (root) call.received = blocks(group_.size);
                break;
            case Collective::scatterv:
                if (root) call.sent = blocks(group_.size);
                call.received = blocks(1);
                break;
            case Collective::allgatherv:
                call.sent = blocks(1);
                call.received = blocks(group_.size);
                break;
            case Collective::neighbour_allgatherv:
                call.sent = blocks(1);
                call.received = blocks(group_.neighbours[rank].sources.size());
                break;
            case Collective::neighbour_alltoallv:
                call.sent = blocks(group_.neighbours[rank].destinations.size());
                call.received = blocks(group_.neighbours[rank].sources.size());
                break;
            default:
                call.sent = call.received = blocks(group_.size);
        }
    }
}

std::size_t Alike::most_blocks() const {
    switch (call_.what) {
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::allgatherv:
        case Collective::alltoallv:
        case Collective::reduce_scatter:
            return group_.size;
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv: {
            std::size_t most = 1;
            for (const Neighbours& each : group_.neighbours)
                most = std::max({most, each.sources.size(), each.destinations.size()});
            return most;
        }
        default:
            return 0;
    }
}

}  // namespace loom::coll
