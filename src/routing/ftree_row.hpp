// One switch's forwarding table: the second half of fat-tree routing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "loom/routing/tables.hpp"
#include "routing/reach.hpp"
#include "routing/trunks.hpp"

namespace loom::routing {

// Fewest up-then-down hops, by [target switch][from switch]; empty when the tree is complete and every root
// is above every leaf: then every trunk is on a shortest way.
using TreeHops = std::vector<std::vector<std::uint8_t>>;

// Fills rows, one at a time; make one for each thread. A row depends on nothing but the trunks, so that
// rows can be filled in any order. Its rule for a target: on the trunk, follow it down; above the
// target, go down; else climb towards the lowest trunk switch that is above (Zahavi 2009, Algorithm 3
// turned around: each switch looks up instead of being called from above), over the cable in the trunk's
// slot where there is a choice, else over the least used; where the trunk is out of reach or a detour,
// climb by the least used of the shortest ways.
class FtreeRow {
public:
    FtreeRow(const Tree& tree, const Targets& targets, const Trunks& trunks, const Reach& above, const Reach& below,
             const TreeHops& hops);

    // Returns whether every target has a route now; leaves no_route where no way goes up first and down after.
    enum class Filled : std::uint8_t { all, all_but_switches, all_but_end_ports };
    Filled fill(SwitchIndex s, std::span<std::uint8_t> row);

private:
    enum class Way : std::uint8_t { no, up, down, self };
    struct Entry {
        Way way = Way::no;
        std::uint8_t hops = 0;
        std::uint8_t port = 0;  // 0: several, see set
        std::uint32_t set = 0;
    };

    // The row of a switch that climbs to every leaf, by slot alone: what all complete rows of a level with
    // the same up ports have in common. In a complete tree a trunk's slot leads to the trunk from wherever it
    // can be met, so that the rule above comes down to the closed form "d mod k".
    struct Common {
        std::vector<std::uint8_t> port_in_slot;
        std::vector<std::uint8_t> row;
    };

    void fill_complete(SwitchIndex s, std::span<std::uint8_t> row);
    [[nodiscard]] const Common& common(SwitchIndex s, std::size_t width);
    void build(SwitchIndex s);
    void forget(SwitchIndex s);
    void meet(SwitchIndex x, std::uint32_t hops, Way way, std::uint32_t set);
    [[nodiscard]] std::uint32_t join(std::uint32_t a, std::uint32_t b);
    void fill_block(SwitchIndex s, std::uint32_t block, std::span<std::uint8_t> row);
    void climb(SwitchIndex s, std::uint32_t begin, std::uint32_t end, std::span<std::uint8_t> row);
    void miss(std::uint32_t target);
    [[nodiscard]] std::uint8_t climb_aside(SwitchIndex s, std::uint32_t target);
    [[nodiscard]] std::uint8_t choose_up(SwitchIndex s, std::span<const std::uint8_t> ports, std::uint32_t target);
    [[nodiscard]] std::uint8_t choose_down(SwitchIndex s, const Entry& entry, std::uint32_t target) const;
    [[nodiscard]] std::uint8_t least_used(std::span<const std::uint8_t> ports, std::uint32_t start) const;

    const Tree& tree_;
    const Targets& targets_;
    const Trunks& trunks_;
    const Reach& above_;
    const Reach& below_;
    const TreeHops& hops_;
    std::vector<Entry> entries_;                   // by switch; one more for "trunk has ended"
    std::vector<std::vector<std::uint8_t>> sets_;  // of ports
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> joined_;
    std::array<std::uint32_t, 256> use_{};  // targets sent up each port so far
    std::vector<std::uint8_t> aside_;
    std::vector<std::vector<std::uint32_t>> blocks_of_;  // by switch
    std::vector<std::uint32_t> high_blocks_;             // of switches above the leaves
    std::vector<Common> common_;                         // by level
    Filled filled_ = Filled::all;
};

}  // namespace loom::routing
