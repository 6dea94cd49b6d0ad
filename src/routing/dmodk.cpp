// D-mod-K: the closed form of fat-tree routing (Zahavi 2010), for parallel-ports generalised fat trees.
#include <algorithm>
#include <array>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/routing/engine.hpp"
#include "routing/detours.hpp"
#include "routing/ftree_row.hpp"

namespace loom::routing {
namespace {

// Host number d climbs from a switch of level l over slot d / (product of the parents that switches of lower levels
// have) mod (slots of level l), whoever sends; what is no host on a leaf is routed as ftree does. Going down there is
// one child; parallel cables are told apart by the slot that the child's level has for d. Needs a tree with every slot
// filled: then any climb ends at a switch above d.
class ClosedForm {
public:
    ClosedForm(const Tree& tree, const Targets& targets, const Reach& below)
        : tree_(tree), targets_(targets), below_(below), slot_(tree.top() + 1) {
        if (!tree.asymmetry().empty()) throw Error("dmodk needs a complete fat tree: " + tree.asymmetry());
        std::vector<unsigned> slots(tree.top() + 1, 0), parents(tree.top() + 1, 1);
        for (SwitchIndex s = 0; s < tree.graph().switch_count(); ++s) {
            slots[tree.level(s)] = std::max(slots[tree.level(s)], tree.slot_count(s));
            parents[tree.level(s)] = std::max(parents[tree.level(s)], tree.parent_count(s));
            if (tree.up(s).size() != slots[tree.level(s)] || !has_every_slot(s))
                fail(s, "does not lead to the same switches as the others of its level");
        }
        std::uint64_t divisor = 1;
        for (unsigned level = 0; level <= tree.top(); ++level) {
            slot_[level].reserve(targets.all().size());
            for (const Target& target : targets.all())
                slot_[level].push_back(
                    static_cast<std::uint8_t>(slots[level] == 0 ? 0 : target.index / divisor % slots[level]));
            if (divisor <= 0xffffffffu) divisor *= parents[level];
        }
    }

    // `child_of` is working space.
    void fill(SwitchIndex s, std::span<std::uint8_t> row, std::vector<SwitchIndex>& child_of) const {
        child_of.assign(tree_.graph().switch_count(), none);
        for (const Cable& cable : tree_.down(s)) {
            if (cable.number != 0) continue;
            claim(s, child_of, cable.other, cable.other);
            for (const Reached& x : below_.of(cable.other)) claim(s, child_of, x.sw, cable.other);
        }
        std::array<std::uint8_t, 256> up_port{};
        for (std::size_t i = 0; i < tree_.up(s).size(); ++i) up_port[i] = tree_.up(s)[i].port;
        const std::uint8_t* const slot = slot_[tree_.level(s)].data();
        const auto targets = targets_.all();
        const auto blocks = targets_.blocks();
        for (std::size_t b = 0; blocks[b] < targets_.ranked(); ++b) {
            const SwitchIndex home = targets[blocks[b]].sw;
            if (home == s) {
                for (std::uint32_t i = blocks[b]; i < blocks[b + 1]; ++i) row[targets[i].lid.value] = targets[i].port;
            } else if (child_of[home] != none) {
                descend(s, child_of[home], blocks[b], blocks[b + 1], row);
            } else if (!tree_.up(s).empty()) {
                for (std::uint32_t i = blocks[b]; i < blocks[b + 1]; ++i) row[targets[i].lid.value] = up_port[slot[i]];
            }
        }
    }

private:
    [[nodiscard]] bool has_every_slot(SwitchIndex s) const {
        for (unsigned slot = 0; slot < tree_.slot_count(s); ++slot)
            if (tree_.cable_in_slot(s, slot) != slot) return false;
        return true;
    }
    [[noreturn]] void fail(SwitchIndex s, const std::string& what) const {
        throw Error("dmodk needs a complete fat tree: switch " +
                    describe(tree_.graph().fabric(), tree_.graph().node(s)) + ' ' + what);
    }
    void claim(SwitchIndex s, std::vector<SwitchIndex>& child_of, SwitchIndex x, SwitchIndex child) const {
        if (child_of[x] != none && child_of[x] != child)
            fail(s, "has two ways down to " + describe(tree_.graph().fabric(), tree_.graph().node(x)));
        child_of[x] = child;
    }
    // Parallel cables are told apart by the child's up slot for the target: both directions use one cable.
    void descend(SwitchIndex s, SwitchIndex child, std::uint32_t begin, std::uint32_t end,
                 std::span<std::uint8_t> row) const {
        std::array<std::uint8_t, 256> port_by_number{};
        unsigned parallel = 0;
        for (const Cable& cable : tree_.down(s))
            if (cable.other == child) {
                port_by_number[cable.number] = cable.port;
                ++parallel;
            }
        const std::uint8_t* const slot = slot_[tree_.level(child)].data();
        for (std::uint32_t i = begin; i < end; ++i)
            row[targets_.all()[i].lid.value] = port_by_number[parallel == 1 ? 0 : tree_.up(child)[slot[i]].number];
    }

    const Tree& tree_;
    const Targets& targets_;
    const Reach& below_;
    std::vector<std::vector<std::uint8_t>> slot_;  // by level and target
};

}  // namespace

Routing route_dmodk(const SwitchGraph& graph, const RouteOptions& options) {
    const fabric::Levels levels = find_levels(graph.fabric(), options.roots);
    const Tree tree(graph, levels);
    const Targets targets(tree, levels, options);
    const Trunks trunks(tree, targets);
    const Reach above(tree, Reach::Direction::up), below(tree, Reach::Direction::down);
    const ClosedForm form(tree, targets, below);
    if (!every_root_covers_every_leaf(tree, below))
        throw Error("dmodk needs a complete fat tree: not every root is above every leaf");

    Routing result;
    result.tables = Tables(graph.switch_count(), graph.top_lid());
    result.tables.engine = "dmodk";
    const HopMatrix no_hops;
    parallel_for(graph.switch_count(), options.threads, 32, [&](std::size_t begin, std::size_t end) {
        std::vector<SwitchIndex> child_of;
        FtreeRow others(tree, targets, trunks, above, below, no_hops);
        for (std::size_t i = begin; i < end; ++i) {
            const auto s = static_cast<SwitchIndex>(i);
            form.fill(s, result.tables.row(s), child_of);
            others.fill(s, result.tables.row(s), targets.ranked());
        }
    });
    fill_detours(tree, targets, result.tables);
    result.remarks = levels.remarks;
    return result;
}

}  // namespace loom::routing
