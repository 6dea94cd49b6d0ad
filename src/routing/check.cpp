#include "loom/routing/check.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "routing/check_parts.hpp"
#include "routing/dependencies.hpp"
#include "routing/hops.hpp"

namespace loom::routing {
namespace {

constexpr std::size_t most_examples = 16;
constexpr unsigned most_lanes = 16;
// LIDs read together from all rows: one cache line of each.
constexpr std::size_t block_size = 64;

struct Target {
    Lid lid;
    std::uint32_t destination;
};

// What never changes while the routes are walked.
struct Ground {
    const SwitchGraph& graph;
    const Tables& tables;
    HopMatrix shortest;
    std::vector<std::uint32_t> hosts;  // by switch
    std::vector<Target> targets;       // by LID
    unsigned lanes;
};

// What one thread found; sums and unions, so that the order of merging does not matter.
struct Findings {
    explicit Findings(const Ground& ground) : load(ground.graph.channel_count(), 0) {
        for (unsigned lane = 0; lane < ground.lanes; ++lane) {
            host_waits.emplace_back(ground.graph);
            switch_waits.emplace_back(ground.graph);
        }
    }

    std::uint64_t routes = 0;
    std::array<std::uint64_t, fault_kinds> faults{};
    std::vector<BadRoute> examples;
    std::vector<std::uint64_t> hops;
    std::vector<std::uint64_t> excess;
    std::vector<std::uint64_t> load;
    std::vector<Dependencies> host_waits, switch_waits;  // by lane

    void merge(const Findings& other) {
        const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
            if (to.size() < from.size()) to.resize(from.size(), 0);
            for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
        };
        routes += other.routes;
        for (std::size_t i = 0; i < fault_kinds; ++i) faults[i] += other.faults[i];
        add(hops, other.hops);
        add(excess, other.excess);
        add(load, other.load);
        for (std::size_t lane = 0; lane < host_waits.size(); ++lane) {
            host_waits[lane].merge(other.host_waits[lane]);
            switch_waits[lane].merge(other.switch_waits[lane]);
        }
        examples.insert(examples.end(), other.examples.begin(), other.examples.end());
        trim();
    }

    void trim() {
        std::sort(examples.begin(), examples.end(), [](const BadRoute& a, const BadRoute& b) {
            return std::pair(a.lid, a.from) < std::pair(b.lid, b.from);
        });
        if (examples.size() > most_examples) examples.resize(most_examples);
    }
};

class Walker {
public:
    Walker(const Ground& ground, Findings& findings)
        : ground_(ground),
          graph_(ground.graph),
          out_(findings),
          switches_(graph_.switch_count()),
          columns_(block_size * switches_),
          hops_(switches_),
          waiting_(switches_),
          routes_(switches_) {
        order_.reserve(switches_);
    }

    void block(std::span<const Target> targets) {
        for (SwitchIndex s = 0; s < switches_; ++s) {
            const auto row = ground_.tables.row(s);
            for (std::size_t k = 0; k < targets.size(); ++k)
                columns_[k * switches_ + s] = targets[k].lid.value < row.size() ? row[targets[k].lid.value] : no_route;
        }
        for (std::size_t k = 0; k < targets.size(); ++k) {
            port_ = columns_.data() + k * switches_;
            lid_ = targets[k].lid;
            destination_ = graph_.destinations()[targets[k].destination];
            walk_all();
            if (ground_.lanes == 1)
                collect<1>();
            else
                collect<most_lanes>();
        }
    }

private:
    // Marks in hops_ beyond any real distance.
    static constexpr std::uint16_t unknown = 0xffff, on_path = 0xfffe, lost = 0xfffd;

    // Finds the hops from every switch; order_ gets those that arrive, each after the switch it sends to.
    void walk_all() {
        std::fill(hops_.begin(), hops_.end(), unknown);
        order_.clear();
        if (port_[destination_.sw] == destination_.port) {
            hops_[destination_.sw] = 0;
            order_.push_back(destination_.sw);
        }
        bool complete = true;
        for (SwitchIndex s = 0; s < switches_; ++s)
            if (hops_[s] == unknown) complete = walk(s) && complete;
        const auto shortest = ground_.shortest.row(destination_.sw);
        if (complete) {
            out_.routes += switches_;
            return;
        }
        for (SwitchIndex s = 0; s < switches_; ++s) {
            if (shortest[s] == no_path) continue;
            ++out_.routes;
            if (hops_[s] == lost) blame(s);
        }
    }

    bool walk(SwitchIndex s) {
        path_.clear();
        const auto next = graph_.next_by_channel();
        while (s != none && hops_[s] == unknown) {
            hops_[s] = on_path;
            path_.push_back(s);
            const unsigned port = port_[s];
            s = port == 0 || port == no_route || port > graph_.port_count(s) ? none : next[graph_.base()[s] + port];
        }
        const bool arrives = s != none && hops_[s] < lost;
        std::uint16_t hops = arrives ? hops_[s] : lost;
        for (std::size_t i = path_.size(); i-- > 0;) {
            if (arrives) {
                ++hops;
                order_.push_back(path_[i]);
            }
            hops_[path_[i]] = hops;
        }
        return arrives;
    }

    // Walks a lost route again to say where and why.
    void blame(SwitchIndex from) {
        BadRoute bad{from, lid_, Fault::loop, from, no_route};
        std::vector<bool> seen(switches_, false);
        for (SwitchIndex s = from;;) {
            const unsigned port = port_[s];
            bad.at = s;
            bad.port = static_cast<std::uint8_t>(port);
            if (seen[s]) break;
            seen[s] = true;
            if (port == no_route) {
                bad.fault = Fault::no_entry;
                break;
            }
            const SwitchIndex next =
                port == 0 || port > graph_.port_count(s) ? none : graph_.next(graph_.channel(s, port));
            if (next == none) {
                bad.fault = Fault::dead_end;
                break;
            }
            s = next;
        }
        ++out_.faults[static_cast<std::size_t>(bad.fault)];
        out_.examples.push_back(bad);
        if (out_.examples.size() > 4 * most_examples) out_.trim();
    }

    // From the far ends inwards: who waits for whom, how many host routes cross each channel, how long they are.
    template <unsigned lanes>
    void collect() {
        if (order_.empty()) return;
        const bool to_host = destination_.port != 0;
        auto& waits = to_host ? out_.host_waits : out_.switch_waits;
        const auto next = graph_.next_by_channel();
        const auto base = graph_.base();
        const auto shortest = ground_.shortest.row(destination_.sw);
        for (const SwitchIndex s : order_) {
            routes_[s] = ground_.hosts[s];
            waiting_[s] = ground_.hosts[s] == 0 ? 0u : lanes == 1 ? 1u : 1u << ground_.tables.lane(s, lid_);
        }
        for (std::size_t i = order_.size(); i-- > 1;) {
            const SwitchIndex s = order_[i];
            if (waiting_[s] == 0) continue;
            const ChannelIndex channel = base[s] + port_[s];
            const SwitchIndex to = next[channel];
            waiting_[to] |= waiting_[s];
            if (to != destination_.sw) {
                if constexpr (lanes == 1) {
                    waits[0].add(channel, port_[to]);
                } else {
                    for (unsigned left = waiting_[s]; left != 0; left &= left - 1)
                        waits[static_cast<std::size_t>(std::countr_zero(left))].add(channel, port_[to]);
                }
            }
            if (!to_host) continue;
            out_.load[channel] += routes_[s];
            routes_[to] += routes_[s];
            count(hops_[s], hops_[s] - shortest[s], ground_.hosts[s]);
        }
        // Neighbours on the destination's own switch; a host does not send to itself through the fabric.
        if (to_host && ground_.hosts[destination_.sw] > 1) count(0, 0, ground_.hosts[destination_.sw] - 1);
    }

    void count(std::size_t hops, std::size_t excess, std::uint64_t pairs) {
        if (pairs == 0) return;
        if (hops >= out_.hops.size()) out_.hops.resize(hops + 1, 0);
        if (excess >= out_.excess.size()) out_.excess.resize(excess + 1, 0);
        out_.hops[hops] += pairs;
        out_.excess[excess] += pairs;
    }

    const Ground& ground_;
    const SwitchGraph& graph_;
    Findings& out_;
    std::uint32_t switches_;
    std::vector<std::uint8_t> columns_;
    std::vector<std::uint16_t> hops_;
    std::vector<std::uint32_t> waiting_;
    std::vector<std::uint32_t> routes_;
    std::vector<SwitchIndex> order_;
    std::vector<SwitchIndex> path_;
    const std::uint8_t* port_ = nullptr;
    Lid lid_;
    Destination destination_;
};

Ground prepare(const SwitchGraph& graph, const Tables& tables, unsigned threads) {
    if (tables.switch_count() != graph.switch_count())
        throw Error("the tables are of " + std::to_string(tables.switch_count()) + " switches, the fabric has " +
                    std::to_string(graph.switch_count()));
    Ground ground{graph,
                  tables,
                  HopMatrix(graph, threads),
                  std::vector<std::uint32_t>(graph.switch_count(), 0),
                  {},
                  tables.lane_count()};
    if (ground.lanes > most_lanes)
        throw Error("the tables use virtual lane " + std::to_string(ground.lanes - 1) + ", expected at most 15");
    for (const Destination& d : graph.host_destinations()) ++ground.hosts[d.sw];
    for (std::uint32_t i = 0; i < graph.destinations().size(); ++i)
        for (unsigned k = 0; k < graph.destinations()[i].lid_count(); ++k)
            ground.targets.push_back({Lid{static_cast<std::uint16_t>(graph.destinations()[i].lid.value + k)}, i});
    std::sort(ground.targets.begin(), ground.targets.end(), [](const Target& a, const Target& b) {
        return std::pair(a.lid, a.destination) < std::pair(b.lid, b.destination);
    });
    return ground;
}

Findings walk_everything(const Ground& ground, const CheckOptions& options) {
    Findings all(ground);
    std::mutex mutex;
    std::size_t done = 0;
    const std::size_t blocks = (ground.targets.size() + block_size - 1) / block_size;
    const std::size_t pieces = std::min<std::size_t>(blocks, std::size_t{8} * thread_count(options.threads));
    const std::size_t piece = pieces == 0 ? 1 : (blocks + pieces - 1) / pieces;
    parallel_for(blocks, options.threads, piece, [&](std::size_t begin, std::size_t end) {
        Findings found(ground);
        Walker walker(ground, found);
        for (std::size_t b = begin; b < end; ++b) {
            const std::size_t first = b * block_size;
            walker.block(std::span(ground.targets).subspan(first, std::min(block_size, ground.targets.size() - first)));
            if (options.progress) {
                const std::lock_guard lock(mutex);
                options.progress(static_cast<double>(++done) / static_cast<double>(blocks));
            }
        }
        const std::lock_guard lock(mutex);
        all.merge(found);
    });
    return all;
}

}  // namespace

CheckReport check(const SwitchGraph& graph, const Tables& tables, const CheckOptions& options) {
    const Ground ground = prepare(graph, tables, options.threads);
    Findings found = walk_everything(ground, options);

    CheckReport report;
    report.switches = graph.switch_count();
    report.hosts = graph.host_destinations().size();
    report.lids = ground.targets.size();
    report.routes = found.routes;
    report.faults = found.faults;
    report.examples = std::move(found.examples);
    report.hops = std::move(found.hops);
    report.excess = std::move(found.excess);
    report.host_pairs = std::accumulate(report.hops.begin(), report.hops.end(), std::uint64_t{0});
    report.load = std::move(found.load);
    report.lanes = ground.lanes;
    for (unsigned lane = 0; lane < ground.lanes; ++lane) {
        if (auto cycle = found.host_waits[lane].find_cycle(graph); !cycle.empty()) {
            report.loops.push_back({lane, std::move(cycle)});
        } else if (report.management.channels.empty()) {
            found.switch_waits[lane].merge(found.host_waits[lane]);
            report.management = {lane, found.switch_waits[lane].find_cycle(graph)};
        }
    }
    judge_pieces(graph, report);
    measure_balance(graph, report);
    find_slow_links(graph.fabric(), report);
    return report;
}

}  // namespace loom::routing
