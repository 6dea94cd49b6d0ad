#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "routing/io/writer.hpp"

namespace loom::routing::io {
namespace {

constexpr std::uint8_t unknown = 0xff;     // not looked at yet
constexpr std::uint8_t nowhere = 0xfe;     // a loop, or a port that leads elsewhere
constexpr std::uint8_t on_the_way = 0xfd;  // of the walk that is under way
constexpr std::uint8_t most_hops = 0xfc;

// Hops as OpenSM counts them: 0 to the switch itself, 1 to its hosts and neighbours.
class Hops {
public:
    Hops(const Tables& tables, const SwitchGraph& graph)
        : tables_(&tables),
          graph_(&graph),
          width_(std::size_t{tables.top_lid().value} + 1),
          destination_(width_, nullptr),
          taken_(graph.switch_count() * width_, unknown) {
        for (const Destination& destination : graph.destinations())
            for (std::size_t lid = destination.lid.value; lid < destination.lid.value + destination.lid_count(); ++lid)
                if (lid < width_) destination_[lid] = &destination;
        std::vector<SwitchIndex> path;
        for (std::size_t lid = 1; lid < width_; ++lid)
            if (destination_[lid] != nullptr)
                for (SwitchIndex s = 0; s < graph.switch_count(); ++s) follow(s, lid, path);
        find_least();
    }

    // Along the tables; nowhere when they do not lead there, unknown when the fabric has no such LID.
    [[nodiscard]] std::uint8_t taken(SwitchIndex s, std::size_t lid) const { return taken_[s * width_ + lid]; }
    [[nodiscard]] unsigned least(SwitchIndex s, std::size_t lid) const {
        const Destination& to = *destination_[lid];
        return least_[std::size_t{s} * graph_->switch_count() + to.sw] + (to.port != 0 ? 1u : 0u);
    }
    // The lowest port on a shortest way.
    [[nodiscard]] unsigned best_port(SwitchIndex s, std::size_t lid) const {
        const Destination& to = *destination_[lid];
        if (s == to.sw) return to.port;
        for (unsigned port = 1; port <= graph_->port_count(s); ++port) {
            const SwitchIndex next = graph_->next(graph_->channel(s, port));
            if (next != none && least(next, lid) + 1 == least(s, lid)) return port;
        }
        return 0;
    }

private:
    // Walks until the hops are known, then counts back: each entry is settled once.
    void follow(SwitchIndex s, std::size_t lid, std::vector<SwitchIndex>& path) {
        const Destination& to = *destination_[lid];
        path.clear();
        unsigned hops = nowhere;
        for (;;) {
            std::uint8_t& here = taken_[s * width_ + lid];
            if (here != unknown) {
                hops = here == on_the_way ? nowhere : here;
                break;
            }
            const std::uint8_t port = tables_->row(s)[lid];
            if (s == to.sw && port == to.port) {
                hops = here = to.port != 0 ? 1 : 0;
                break;
            }
            here = on_the_way;
            path.push_back(s);
            if (port == 0 || port > graph_->port_count(s)) break;
            s = graph_->next(graph_->channel(s, port));
            if (s == none) break;
        }
        for (auto at = path.rbegin(); at != path.rend(); ++at) {
            hops = hops == nowhere ? hops : std::min<unsigned>(hops + 1, most_hops);
            taken_[*at * width_ + lid] = static_cast<std::uint8_t>(hops);
        }
    }

    // Breadth-first from every switch.
    void find_least() {
        const std::uint32_t count = graph_->switch_count();
        least_.assign(std::size_t{count} * count, unknown);
        std::vector<SwitchIndex> queue;
        for (SwitchIndex root = 0; root < count; ++root) {
            std::uint8_t* const from_root = &least_[std::size_t{root} * count];  // cables go both ways
            from_root[root] = 0;
            queue.assign(1, root);
            for (std::size_t head = 0; head < queue.size(); ++head) {
                const SwitchIndex s = queue[head];
                for (unsigned port = 1; port <= graph_->port_count(s); ++port) {
                    const SwitchIndex next = graph_->next(graph_->channel(s, port));
                    if (next == none || from_root[next] != unknown) continue;
                    from_root[next] = static_cast<std::uint8_t>(std::min<unsigned>(from_root[s] + 1u, most_hops));
                    queue.push_back(next);
                }
            }
        }
    }

    const Tables* tables_;
    const SwitchGraph* graph_;
    std::size_t width_;
    std::vector<const Destination*> destination_;
    std::vector<std::uint8_t> taken_;
    std::vector<std::uint8_t> least_;
};

// The line that nearly all are: "0x0001 : 003  : 02   : yes".
void put_optimal(Sink& sink, std::size_t lid, std::uint8_t port, unsigned hops) {
    constexpr std::string_view pattern = "0x0000 : 000  : 00   : yes\n";
    constexpr std::string_view digits = "0123456789ABCDEF";
    char* const to = sink.take(pattern.size());
    std::memcpy(to, pattern.data(), pattern.size());
    for (int i = 0; i < 4; ++i) to[2 + i] = digits[lid >> (12 - 4 * i) & 15];
    put_port(to + 9, port);
    to[16] = static_cast<char>('0' + hops / 10);
    to[17] = static_cast<char>('0' + hops % 10);
}

std::string unusual_line(const Hops& hops, SwitchIndex s, std::size_t lid, std::uint8_t port) {
    if (port == no_route) return fmt::format("0x{:04X} : UNREACHABLE\n", lid);
    if (hops.taken(s, lid) > most_hops) return fmt::format("0x{:04X} : {:03}  : HOPS UNKNOWN\n", lid, port);
    const unsigned least = hops.least(s, lid);
    if (hops.taken(s, lid) == least) return fmt::format("0x{:04X} : {:03}  : {:02}   : yes\n", lid, port, least);
    return fmt::format("0x{:04X} : {:03}  : {:02}   : No {} hop path possible via port {}!\n", lid, port,
                       hops.taken(s, lid), least, hops.best_port(s, lid));
}

}  // namespace

void write_fdbs(const Tables& tables, const SwitchGraph& graph, std::ostream& out) {
    const Hops hops(tables, graph);
    Sink sink(out);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        sink.add(fmt::format("dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal\n",
                             fabric::to_string(graph.fabric().node(graph.node(s)).guid)));
        const auto row = tables.row(s);
        for (std::size_t lid = 1; lid < row.size(); ++lid) {
            const std::uint8_t taken = hops.taken(s, lid);
            if (row[lid] != no_route && taken < 100 && taken == hops.least(s, lid))
                put_optimal(sink, lid, row[lid], taken);
            else
                sink.add(unusual_line(hops, s, lid, row[lid]));
        }
    }
    sink.flush();
}

}  // namespace loom::routing::io
