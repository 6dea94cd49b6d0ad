// Fat-tree routing: shifts meet no contention on whole trees, and little on damaged ones.
#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/base/parallel.hpp"
#include "loom/base/table.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "routing/detours.hpp"
#include "routing/ftree_row.hpp"

namespace loom::routing {
namespace {

void refuse_what_is_no_tree(const SwitchGraph& graph, const fabric::Levels& levels) {
    std::size_t cables = 0;
    for (const SwitchIndex other : graph.next_by_channel()) cables += other != none;
    cables /= 2;
    if (graph.switch_count() <= 2 || 4 * levels.inside_links <= cables) return;
    SwitchIndex first = 0;
    const auto level = [&](SwitchIndex of) { return levels.level[graph.node(of).value]; };
    for (SwitchIndex s = graph.switch_count(); s-- > 0;)
        for (ChannelIndex c = graph.base()[s]; c < graph.base()[s + 1]; ++c)
            if (graph.next(c) != none && graph.next(c) != s && level(graph.next(c)) == level(s)) first = s;
    throw ShapeError("not a fat tree: " + std::to_string(levels.inside_links) + " of " + std::to_string(cables) +
                     " cables between switches join two of one level; the first is at " +
                     describe(graph.fabric(), graph.node(first)));
}

void explain(const fabric::Levels& levels, const Tree& tree, const Targets& targets, const Trunks& trunks,
             std::size_t turned, std::vector<std::string>& remarks) {
    remarks = levels.remarks;
    if (!tree.asymmetry().empty() && std::find(remarks.begin(), remarks.end(), tree.asymmetry()) == remarks.end())
        remarks.push_back("not a symmetric fat tree, routed as the one it nearly is: " + tree.asymmetry());
    if (trunks.displaced() != 0)
        remarks.push_back(counted(trunks.displaced(), "host", "hosts") +
                          " could not have the way down that the whole tree would give");
    const SwitchGraph& graph = tree.graph();
    std::vector<std::size_t> channels(tree.top(), 0);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        if (tree.level(s) < tree.top()) channels[tree.level(s)] += tree.slot_count(s);
    for (unsigned level = 0; level < tree.top(); ++level) {
        const std::size_t fair = channels[level] == 0 ? 0 : (targets.hosts() + channels[level] - 1) / channels[level];
        if (trunks.worst_share()[level] > fair)
            remarks.push_back("the busiest channel down to level " + std::to_string(level) + " leads to " +
                              counted(trunks.worst_share()[level], "LID", "LIDs") + ", a whole tree's would to " +
                              std::to_string(fair));
    }
    if (turned != 0)
        remarks.push_back(counted(turned, "table entry goes", "table entries go") +
                          " down and up again, for end ports that no other way joins");
}

// Some hosts are joined by no way up and down the levels, and the ways that join them would deadlock.
Routing route_around(const SwitchGraph& graph, const RouteOptions& options, std::size_t turned) {
    Routing result = route_updn(graph, options);
    result.remarks.insert(
        result.remarks.begin(),
        "no fat tree: for " + counted(turned, "pair of a switch and an end port", "pairs of a switch and an end port") +
            " no way goes up and then down its levels, and ways that turn up again would deadlock; routed up/down "
            "around one root instead, which costs balance");
    return result;
}

enum class Needs : std::uint8_t { any_tree, complete_tree };

Routing route_tree(const SwitchGraph& graph, const RouteOptions& options, std::string_view engine, Needs needs) {
    const fabric::Levels levels = find_levels(graph.fabric(), options.roots);
    if (needs == Needs::any_tree) refuse_what_is_no_tree(graph, levels);
    const Tree tree(graph, levels);
    if (needs == Needs::complete_tree && !tree.asymmetry().empty())
        throw ShapeError(std::string(engine) + " needs a complete fat tree: " + tree.asymmetry());
    const Reach above(tree, Reach::Direction::up), below(tree, Reach::Direction::down);
    const bool complete = tree.complete() && every_root_covers_every_leaf(tree, below);
    if (needs == Needs::complete_tree && !complete)
        throw ShapeError(std::string(engine) + " needs a complete fat tree: not every leaf is below every root");
    const Targets targets(tree, levels, options);
    const Trunks trunks(tree, targets);

    TreeHops hops;
    if (!complete) {
        hops.assign(graph.switch_count(), std::vector<std::uint8_t>(graph.switch_count()));
        parallel_for(graph.switch_count(), options.threads, 32, [&](std::size_t begin, std::size_t end) {
            for (std::size_t s = begin; s < end; ++s) up_down_hops(tree, above, static_cast<SwitchIndex>(s), hops[s]);
        });
    }
    Routing result;
    result.tables = Tables(graph.switch_count(), graph.top_lid());
    result.tables.engine = engine;
    std::vector<FtreeRow::Filled> filled(graph.switch_count());
    parallel_for(graph.switch_count(), options.threads, 64, [&](std::size_t begin, std::size_t end) {
        FtreeRow filler(tree, targets, trunks, above, below, hops);
        for (std::size_t i = begin; i < end; ++i) {
            const auto s = static_cast<SwitchIndex>(i);
            filled[s] = filler.fill(s, result.tables.row(s));
        }
    });
    const std::size_t turned = fill_detours(tree, targets, above, filled, result.tables);
    if (turned != 0 && !check(graph, result.tables, {.threads = options.threads}).ok()) {
        if (needs == Needs::any_tree) return route_around(graph, options, turned);
        throw Error(std::string(engine) + " cannot join the end ports above the leaves without a deadlock; ftree can");
    }
    explain(levels, tree, targets, trunks, turned, result.remarks);
    return result;
}

}  // namespace

Routing route_ftree(const SwitchGraph& graph, const RouteOptions& options) {
    return route_tree(graph, options, "ftree", Needs::any_tree);
}

Routing route_dmodk(const SwitchGraph& graph, const RouteOptions& options) {
    return route_tree(graph, options, "dmodk", Needs::complete_tree);
}

}  // namespace loom::routing
