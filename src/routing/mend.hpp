// Mending the routes to one LID at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/ascent.hpp"
#include "routing/hops.hpp"

namespace loom::routing {

// What the two ways of mending share. Each has mend(destination, ports): `ports[s]` is the entry of switch s for a LID
// of `destination`, no_route where there is none; it comes back mended, and as no_route where no cable leads to it.
class Mender {
public:
    // `used` counts entries by channel; the choice among equals goes by it.
    Mender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used);

protected:
    // Where an entry leads: another switch, or none for all that is no way on (nothing, an open port, a host).
    [[nodiscard]] SwitchIndex follow(SwitchIndex s, std::uint8_t port) const {
        return port == 0 || port > graph_.port_count(s) ? none : graph_.next(graph_.channel(s, port));
    }

    const SwitchGraph& graph_;
    const std::vector<std::uint32_t>& used_;
    Adjacency adjacency_;
    Pieces pieces_;
};

// Broken routes join the nearest ones that work, by as few changed entries as a search by (changes, hops) finds.
class ShortestMender : private Mender {
public:
    ShortestMender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used);
    void mend(const Destination& destination, std::span<std::uint8_t> ports);

private:
    void find_working(const Destination& destination, std::span<const std::uint8_t> ports);
    void restore(const Destination& destination, std::span<const std::uint8_t> old,
                 std::span<std::uint8_t> ports) const;

    std::vector<std::uint16_t> hops_;  // of routes that work
    std::vector<SwitchIndex> broken_, path_;
    std::vector<std::uint8_t> old_;
};

// Every route of a host goes up first, then down. An entry stays when that allows it.
class UpDownMender : private Mender {
public:
    UpDownMender(const SwitchGraph& graph, const std::vector<std::uint32_t>& used, const Ascent& ascent);
    void mend(const Destination& destination, std::span<std::uint8_t> ports);

    // Whether the hosts' packets never turn up again after they went down, as far as they get.
    [[nodiscard]] bool agrees(const Destination& destination, std::span<const std::uint8_t> ports);

private:
    enum class Came : std::uint8_t { never, from_below, from_above };
    enum class Way : std::uint8_t { unknown, down, up, astray };
    enum class Prefer : std::uint8_t { old_entries, ways_down };

    // False when a switch with hosts was left without an up/down route.
    bool find_ways(const Destination& destination, std::span<std::uint8_t> ports, Prefer prefer);
    // The best neighbour above or below that has a way on; false when there is none.
    bool choose(SwitchIndex s, std::uint8_t& port, bool above);
    void join_astray(std::span<std::uint8_t> ports);

    const Ascent& ascent_;
    std::vector<std::uint8_t> bears_;
    std::vector<Way> way_;
    std::vector<Came> came_;
    std::vector<std::uint32_t> hops_;
    std::vector<SwitchIndex> left_;
    std::vector<std::uint8_t> old_;
};

}  // namespace loom::routing
