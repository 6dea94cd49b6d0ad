// The fat tree inside a fabric: who is above whom, and which cables correspond to each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/fabric/levels.hpp"
#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

// A cable as one of its two switches sees it.
struct Cable {
    SwitchIndex other;
    std::uint8_t port;        // on this side
    std::uint8_t other_port;  // on the far side
    std::uint8_t number;      // counts the parallel cables between the same two switches from 0
};

// What the tuples of a var-ary-n-tree (Zahavi 2009) stand for, found so that it also holds for trees with
// missing and surplus parts: switches of one level that lead to the same higher switches form a plane,
// and the up cables of a plane's switches are numbered alike ("slots"). A slot that most switches of the
// plane have is natural; a switch may lack it. Works on any levels; cost: a few passes over the cables.
class Tree {
public:
    Tree(const SwitchGraph& graph, const fabric::Levels& levels);

    [[nodiscard]] const SwitchGraph& graph() const { return *graph_; }
    [[nodiscard]] unsigned level(SwitchIndex s) const { return level_[s]; }
    [[nodiscard]] unsigned top() const { return top_; }
    [[nodiscard]] std::uint32_t plane(SwitchIndex s) const { return plane_[s]; }

    // Cables to higher and lower switches, in slot order and by (child, number). "Higher" is by level; in
    // one level the smaller index is higher, so that the relation has no cycle.
    [[nodiscard]] std::span<const Cable> up(SwitchIndex s) const { return cables(up_, up_first_, s); }
    [[nodiscard]] std::span<const Cable> down(SwitchIndex s) const { return cables(down_, down_first_, s); }
    // Every switch after all switches above it.
    [[nodiscard]] std::span<const SwitchIndex> top_down() const { return top_down_; }

    // Natural slots of the plane of s, and the position in up(s) of the cable in one of them; none where
    // s lacks it.
    [[nodiscard]] unsigned slot_count(SwitchIndex s) const { return slots_[plane_[s]]; }
    // Different parents among the natural slots.
    [[nodiscard]] unsigned parent_count(SwitchIndex s) const { return parents_[plane_[s]]; }
    [[nodiscard]] std::uint32_t cable_in_slot(SwitchIndex s, unsigned slot) const {
        return slot_cable_[slot_first_[s] + slot];
    }

    // Empty for a var-ary-n-tree. Otherwise one sentence that names the first switch whose port groups
    // differ from those of its level, and how.
    [[nodiscard]] const std::string& asymmetry() const { return asymmetry_; }
    // True when, besides, every natural slot is filled and no cable is outside one.
    [[nodiscard]] bool complete() const { return complete_; }

private:
    [[nodiscard]] std::span<const Cable> cables(const std::vector<Cable>& all, const std::vector<std::uint32_t>& first,
                                                SwitchIndex s) const {
        return std::span(all).subspan(first[s], first[s + 1] - first[s]);
    }
    void split_cables();
    void find_planes();
    void number_slots();
    void find_asymmetry(const fabric::Levels& levels);

    const SwitchGraph* graph_;
    std::vector<std::uint8_t> level_;
    unsigned top_ = 0;
    std::vector<SwitchIndex> top_down_;
    std::vector<Cable> up_, down_;
    std::vector<std::uint32_t> up_first_, down_first_;
    std::vector<std::uint32_t> plane_;
    std::vector<unsigned> slots_, parents_;  // by plane
    std::vector<std::uint32_t> slot_first_, slot_cable_;
    std::string asymmetry_;
    bool complete_ = true;
};

}  // namespace loom::routing
