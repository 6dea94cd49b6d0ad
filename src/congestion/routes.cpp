#include "loom/congestion/routes.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <unordered_map>

#include "congestion/paths.hpp"
#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"

namespace loom::congestion {

using fabric::Port;
using routing::ChannelIndex;
using routing::none;
using routing::SwitchGraph;
using routing::SwitchIndex;
using routing::Tables;

namespace {

void check_tables(const SwitchGraph& graph, const Tables& tables) {
    if (tables.switch_count() != graph.switch_count())
        throw Error(fmt::format("the tables are for {} switches, the fabric has {}", tables.switch_count(),
                                graph.switch_count()));
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const auto row = tables.row(s);
        const unsigned ports = graph.port_count(s);
        unsigned worst = 0;
        for (const std::uint8_t port : row) worst = std::max(worst, port == routing::no_route ? 0u : unsigned{port});
        if (worst > ports)
            throw Error(fmt::format("the tables send packets out of port {} of {}, which has {} ports", worst,
                                    describe(graph.fabric(), graph.node(s)), ports));
    }
}

void place_ranks(Routes::Data& data, const fabric::Placement& placement, const RouteChoice& choice) {
    const fabric::Fabric& fabric = data.graph->fabric();
    std::unordered_map<PortIndex, std::uint32_t> known;  // host port -> first rank there
    std::unordered_map<SwitchIndex, std::uint32_t> rows;
    data.places.resize(placement.ranks());
    for (std::uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        const PortIndex index = placement.hosts[rank];
        if (index == no_port) continue;
        const auto [before, fresh] = known.emplace(index, rank);
        if (!fresh) {
            data.places[rank] = data.places[before->second];
            continue;
        }
        const Port& port = fabric.port(index);
        const auto name = [&] { return describe(fabric, port.node, port.number); };
        const SwitchIndex leaf = port.connected() ? data.graph->index(fabric.port(port.peer).node) : none;
        if (leaf == none) throw Error(fmt::format("{} is not connected to a switch", name()));
        if (port.lid == no_lid) throw Error(fmt::format("{} has no LID", name()));

        RankPlace& place = data.places[rank];
        place.host = static_cast<std::uint32_t>(data.hosts.size());
        data.hosts.push_back(index);
        data.goals.push_back(data.graph->channel(leaf, fabric.port(port.peer).number.value));
        const auto [row, first] = rows.emplace(leaf, static_cast<std::uint32_t>(data.leaves.size()));
        if (first) data.leaves.push_back(leaf);
        place.leaf = row->second;
        place.column = static_cast<std::uint32_t>(data.lids.size());
        const unsigned lids = 1u << port.lmc;
        const bool spread = choice.lids == LidUse::spread;
        place.mask = spread ? lids - 1 : 0;
        for (unsigned k = 0; k <= place.mask; ++k) {
            data.lids.push_back(static_cast<std::uint16_t>(port.lid.value + (spread ? k : choice.offset % lids)));
            data.column_host.push_back(place.host);
        }
    }
}

std::vector<Walker::Item> row_items(const Routes::Data& data, std::size_t row) {
    std::vector<Walker::Item> items(data.columns());
    for (std::size_t c = 0; c < items.size(); ++c)
        items[c] = {data.leaves[row], data.lids[c], data.goals[data.column_host[c]]};
    return items;
}

// Fills `paths`, rows by leaf; returns the longest path found. Paths beyond data.stride are cut: the
// caller then tries again.
template <class Width>
std::size_t fill(const Routes::Data& data, std::vector<Width>& paths, unsigned threads) {
    const std::size_t columns = data.columns();
    std::atomic<std::size_t> longest{0};
    parallel_for(data.leaves.size(), threads, 8, [&](std::size_t begin, std::size_t end) {
        Walker walker(*data.graph, *data.tables);
        for (std::size_t row = begin; row < end; ++row) {
            walker.walk(row_items(data, row));
            std::size_t seen = longest.load();
            while (seen < walker.longest() && !longest.compare_exchange_weak(seen, walker.longest())) {
            }
            Width* out = paths.data() + row * columns * data.stride;
            for (std::size_t c = 0; c < columns; ++c, out += data.stride) {
                const std::size_t length = std::min(walker.length(c), data.stride);
                for (std::size_t hop = 0; hop < length; ++hop) out[hop] = static_cast<Width>(walker.counter(c, hop));
                std::fill(out + length, out + data.stride, Width{padding});
            }
        }
    });
    return longest;
}

template <class Width>
void keep_paths(Routes::Data& data, std::vector<Width>& paths, const RouteChoice& choice) {
    const std::size_t cells = data.leaves.size() * data.columns();
    if (cells == 0) return;
    // In a tree the first leaf's longest path is everybody's; elsewhere a second attempt finds out.
    Walker walker(*data.graph, *data.tables);
    walker.walk(row_items(data, 0));
    for (std::size_t length = std::max<std::size_t>(walker.longest(), 1);;) {
        length += length % 2;
        if (cells * length * sizeof(Width) > choice.memory) break;
        data.stride = length;
        paths.resize(cells * length);
        length = fill(data, paths, choice.threads);
        if (length <= data.stride) return;
    }
    std::vector<Width>().swap(paths);
    data.stride = 0;
}

}  // namespace

Walker::Walker(const SwitchGraph& graph, const Tables& tables)
    : ports_(tables.switch_count() == 0 ? nullptr : tables.row(0).data()),
      width_(std::size_t{tables.top_lid().value} + 1),
      base_(graph.base()),
      next_(graph.next_by_channel()),
      limit_(graph.switch_count()) {}

void Walker::walk(std::span<const Item> items) {
    count_ = items.size();
    longest_ = 0;
    length_.resize(count_);
    at_.resize(count_);
    alive_.resize(count_);
    for (std::uint32_t i = 0; i < count_; ++i) {
        alive_[i] = i;
        at_[i] = items[i].from;
    }
    const auto lose = [&](std::uint32_t i) {
        if (hops_.size() < count_) hops_.resize(count_);
        hops_[i] = lost;
        length_[i] = 1;
        longest_ = std::max<std::size_t>(longest_, 1);
    };
    std::size_t alive = count_;
    for (std::size_t hop = 0; alive != 0; ++hop) {
        if (hop == limit_) {  // what still travels goes in circles
            for (std::size_t k = 0; k < alive; ++k) lose(alive_[k]);
            return;
        }
        if (hops_.size() < (hop + 1) * count_) hops_.resize((hop + 1) * count_);
        std::size_t still = 0;
        for (std::size_t k = 0; k < alive; ++k) {
            const std::uint32_t i = alive_[k];
            const Item& item = items[i];
            const SwitchIndex s = at_[i];
            const std::uint8_t port = item.lid < width_ ? ports_[s * width_ + item.lid] : routing::no_route;
            if (port == routing::no_route) {
                lose(i);
                continue;
            }
            const ChannelIndex channel = base_[s] + port;
            const SwitchIndex next = next_[channel];
            if (next != none) {
                hops_[hop * count_ + i] = first_link + channel;
                at_[i] = next;
                alive_[still++] = i;
            } else if (channel == item.goal) {
                length_[i] = static_cast<std::uint32_t>(hop);
                longest_ = std::max(longest_, hop);
            } else {
                lose(i);
            }
        }
        alive = still;
    }
}

Routes::Routes(const SwitchGraph& graph, const Tables& tables, const fabric::Placement& placement, RouteChoice choice)
    : data_(std::make_unique<Data>()) {
    check_tables(graph, tables);
    data_->graph = &graph;
    data_->tables = &tables;
    place_ranks(*data_, placement, choice);
    if (graph.channel_count() + std::size_t{first_link} <= 0x10000)
        keep_paths(*data_, data_->narrow, choice);
    else
        keep_paths(*data_, data_->wide, choice);
}

Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

const SwitchGraph& Routes::graph() const {
    return *data_->graph;
}

std::size_t Routes::ranks() const {
    return data_->places.size();
}

std::size_t Routes::link_count() const {
    return data_->counters() - first_link;
}

std::vector<Rank> Routes::live_ranks() const {
    std::vector<Rank> result;
    for (std::uint32_t r = 0; r < data_->places.size(); ++r)
        if (data_->places[r].host != none) result.emplace_back(r);
    return result;
}

bool Routes::kept() const {
    return data_->kept();
}

std::size_t Routes::bytes() const {
    return data_->narrow.size() * sizeof(std::uint16_t) + data_->wide.size() * sizeof(std::uint32_t);
}

Fate Routes::path(Rank from, Rank to, std::vector<LinkIndex>& out) const {
    out.clear();
    Fate fate = Fate::stays;
    Walker walker(*data_->graph, *data_->tables);
    const traffic::Pair pair{from, to};
    for_each_path(*data_, std::span(&pair, 1), walker,
                  [&](const RankPlace&, const RankPlace&, const auto* counters, std::size_t length) {
                      fate = Fate::arrives;
                      for (std::size_t hop = 0; hop < length && counters[hop] != padding; ++hop) {
                          if (counters[hop] == lost)
                              fate = Fate::lost;
                          else
                              out.push_back(counters[hop] - first_link);
                      }
                  });
    return fate;
}

bool Routes::between_switches(LinkIndex link) const {
    return link < data_->graph->channel_count() && data_->graph->next(link) != none;
}

namespace {

// The port that the link leaves from.
const Port& sender(const Routes::Data& data, LinkIndex link) {
    const SwitchGraph& graph = *data.graph;
    if (link >= graph.channel_count()) return graph.fabric().port(data.hosts[link - graph.channel_count()]);
    return graph.fabric().port(graph.node(graph.owner(link)), PortNum{static_cast<std::uint8_t>(graph.port(link))});
}

}  // namespace

std::string Routes::describe(LinkIndex link) const {
    const fabric::Fabric& fabric = data_->graph->fabric();
    const Port& from = sender(*data_, link);
    std::string text = fabric::describe(fabric, from.node, from.number);
    if (from.connected())
        text += " -> " + fabric::describe(fabric, fabric.port(from.peer).node, fabric.port(from.peer).number);
    return text;
}

std::uint32_t Routes::megabits(LinkIndex link) const {
    return sender(*data_, link).rate.megabits();
}

}  // namespace loom::congestion
