#include "loom/report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"

namespace {

using namespace loom;
using namespace loom::report;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

fabric::Fabric small_tree() {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    tree.title = "small tree";
    tree.assign_lids();
    return tree;
}

routing::Tables tables_by(const char* engine, const routing::SwitchGraph& graph) {
    return routing::find_engine(engine).route(graph, {}).tables;
}

const Verdict& verdict_on(const Findings& findings, const std::string& question) {
    for (const Verdict& verdict : findings.verdicts)
        if (verdict.question == question) return verdict;
    throw std::runtime_error("no verdict on " + question);
}

TEST(Findings, CountWhatIsThere) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const Findings findings = find(graph, &tables);

    EXPECT_EQ(findings.hosts, 16u);
    EXPECT_EQ(findings.switches, 8u);
    EXPECT_EQ(findings.cables, 32u);
    EXPECT_EQ(findings.ranks, 16u);
    ASSERT_EQ(findings.level_lines.size(), 2u);
    EXPECT_EQ(findings.level_lines[0].name, "leaves");
    EXPECT_EQ(findings.level_lines[0].hosts, 16u);
    EXPECT_EQ(findings.level_lines[0].up, 16u);
    EXPECT_EQ(findings.level_lines[1].down, 16u);
    EXPECT_THAT(findings.deviations, IsEmpty());
    EXPECT_TRUE(findings.valid);
    EXPECT_FALSE(findings.routed_here);
    EXPECT_EQ(findings.shift.per_stage.size(), 15u);
    EXPECT_EQ(findings.shift.flows, 15u * 16u);
}

TEST(Findings, PutThePeakOnThePortItLeavesFrom) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const Findings findings = find(graph, &tables);

    ASSERT_FALSE(findings.hottest.empty());
    double highest = 0;
    for (const double load : findings.load) highest = std::max(highest, load);
    EXPECT_EQ(highest, findings.shift.worst);
    EXPECT_EQ(findings.hottest.front().peak, findings.shift.worst);
}

TEST(Findings, TellTheTwoDirectionsOfACableApart) {
    fabric::Fabric fabric;
    const NodeId left = fabric.add_node(fabric::NodeKind::switch_, 8, "left");
    const NodeId right = fabric.add_node(fabric::NodeKind::switch_, 8, "right");
    for (const PortNum port : {PortNum{7}, PortNum{8}}) fabric.connect(left, port, right, port);
    for (std::uint8_t i = 1; i <= 4; ++i)
        fabric.connect(fabric.add_node(fabric::NodeKind::host, 1, "h" + std::to_string(i)), PortNum{1},
                       i <= 2 ? left : right, PortNum{i});
    fabric.assign_lids();
    const routing::SwitchGraph graph(fabric);
    routing::Tables tables = tables_by("minhop", graph);
    for (const routing::Destination& d : graph.host_destinations())  // to the right by port 7, to the left by 8
        tables.set(1 - d.sw, d.lid, graph.node(d.sw) == right ? 7 : 8);

    const Findings findings = find(graph, &tables);

    EXPECT_EQ(findings.load[fabric.port_index(left, PortNum{7}).value], 2);
    EXPECT_EQ(findings.load[fabric.port_index(right, PortNum{7}).value], 0);
    EXPECT_EQ(findings.load[fabric.port_index(right, PortNum{8}).value], 2);
    EXPECT_EQ(findings.load[fabric.port_index(left, PortNum{8}).value], 0);
}

TEST(Findings, SeeCablesInsideALevelOnceAndRouteAroundTheTree) {
    fabric::Pgft parameters = fabric::kary_tree(4, 2);
    parameters.radix = 9;
    fabric::Fabric tree = fabric::pgft(parameters);
    const auto leaves = fabric::find_levels(tree).leaf_order;
    tree.connect(leaves[0], PortNum{9}, leaves[1], PortNum{9});
    tree.assign_lids();

    const Findings findings = find(routing::SwitchGraph(tree), nullptr);

    EXPECT_EQ(findings.level_lines[0].inside, 1u);
    EXPECT_EQ(findings.level_lines[1].inside, 0u);
    EXPECT_EQ(findings.engine, "sssp");
    EXPECT_TRUE(findings.routed_here);
}

TEST(Findings, RouteFirstWhenThereAreNoTables) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);

    const Findings findings = find(graph, nullptr);

    EXPECT_TRUE(findings.routed_here);
    EXPECT_EQ(findings.engine, "ftree");
    EXPECT_TRUE(findings.valid);
    EXPECT_EQ(findings.shift.worst, 1u);
}

TEST(Findings, SayWhatIsWrongWithBrokenTables) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    routing::Tables tables = tables_by("minhop", graph);
    const routing::Destination& victim = graph.host_destinations().front();
    for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s) tables.set(s, victim.lid, routing::no_route);

    const Findings findings = find(graph, &tables);

    EXPECT_FALSE(findings.valid);
    EXPECT_EQ(verdict_on(findings, "Reachable").kind, Verdict::Kind::bad);
    EXPECT_EQ(verdict_on(findings, "Loop-free").kind, Verdict::Kind::good);
    EXPECT_EQ(findings.shift.unrouted, 15u);
}

TEST(Findings, CallARouteToTheWrongPortLost) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    routing::Tables tables = tables_by("minhop", graph);
    const auto hosts = graph.host_destinations();
    tables.set(hosts[0].sw, hosts[0].lid, hosts[1].port);

    const Findings findings = find(graph, &tables);

    EXPECT_FALSE(findings.valid);
    EXPECT_EQ(verdict_on(findings, "Reachable").kind, Verdict::Kind::bad);
    EXPECT_THAT(verdict_on(findings, "Reachable").answer, HasSubstr("8 of "));  // from every switch
}

TEST(Findings, SayHowManyRoutesTakeADetour) {
    const fabric::Fabric ring = [] {
        fabric::Fabric made = fabric::torus({.dimensions = {5}});
        made.assign_lids();
        return made;
    }();
    const routing::SwitchGraph graph(ring);
    routing::Tables tables = tables_by("minhop", graph);

    EXPECT_EQ(verdict_on(find(graph, &tables), "Short").kind, Verdict::Kind::good);
    EXPECT_THAT(verdict_on(find(graph, &tables), "Short").answer, HasSubstr("the longest crosses 2 cables"));

    const routing::Destination target = graph.host_destinations()[0];
    routing::SwitchIndex before = target.sw, at = graph.next(graph.channel(target.sw, 2));
    for (int step = 0; step < 2; ++step) {  // from there and from the next switch the long way round
        unsigned port = 1;
        while (graph.next(graph.channel(at, port)) == routing::none || graph.next(graph.channel(at, port)) == before)
            ++port;
        tables.set(at, target.lid, static_cast<std::uint8_t>(port));
        before = std::exchange(at, graph.next(graph.channel(at, port)));
    }
    const Verdict round = verdict_on(find(graph, &tables), "Short");

    EXPECT_EQ(round.kind, Verdict::Kind::note);
    EXPECT_THAT(round.answer, HasSubstr("2 of 20 pairs of hosts take a detour, of 3 hops at most"));
}

TEST(Findings, NameTheMostUnevenCables) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 3));
    tree.assign_lids();
    const routing::SwitchGraph graph(tree);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        routing::RouteOptions options;
        options.seed = seed;
        const routing::Tables tables = routing::find_engine("random").route(graph, options).tables;
        const auto balance = routing::check(graph, tables).balance;
        const auto worst = std::max_element(balance.begin(), balance.end(), [](const auto& a, const auto& b) {
            return static_cast<double>(a.most) / a.mean < static_cast<double>(b.most) / b.mean;
        });

        const Verdict verdict = verdict_on(find(graph, &tables, {.bisection_samples = 2}), "Balanced");

        EXPECT_THAT(verdict.answer,
                    HasSubstr(std::string(worst->direction == routing::Direction::up ? "up from" : "down to") +
                              " level " + std::to_string(worst->level) + ": " + std::to_string(worst->least) + " to " +
                              std::to_string(worst->most) + " routes"))
            << seed;
    }
}

// Twelve hosts with one cable for each four: stages 1, 2, 3, 4, 4, 4, 4, 4, 3, 2, 1.
fabric::Fabric thin_tree() {
    fabric::Fabric tree = fabric::pgft({.children = {4, 3}, .parents = {1, 1}});
    tree.assign_lids();
    return tree;
}

TEST(Findings, CountEveryNthStage) {
    const fabric::Fabric tree = thin_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const Findings second = find(graph, &tables, {.most_pairs = 66});
    const Findings third = find(graph, &tables, {.most_pairs = 44});

    EXPECT_EQ(second.stage_step, 2u);
    EXPECT_THAT(second.shift.per_stage, testing::ElementsAre(1, 3, 4, 4, 3, 1));
    EXPECT_EQ(third.stage_step, 3u);
    EXPECT_THAT(third.shift.per_stage, testing::ElementsAre(1, 4, 4, 2));
}

TEST(Findings, CountStagesAtIntervalsWhenThereAreTooMany) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const Findings findings = find(graph, &tables, {.most_pairs = 100});

    EXPECT_EQ(findings.stage_step, 3u);
    EXPECT_EQ(findings.shift.per_stage.size(), 5u);
}

TEST(Findings, NeedASwitch) {
    fabric::Fabric fabric;
    fabric.add_node(fabric::NodeKind::host, 1, "alone");
    const routing::SwitchGraph graph(fabric);

    EXPECT_THROW((void)find(graph, nullptr), Error);
}

TEST(Page, IsOneFileThatFetchesNothing) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tree, find(graph, &tables), {.version = "1.2.3"});

    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    EXPECT_TRUE(page.ends_with("</html>\n"));
    for (const char* fetch : {"http", "src=", "href=", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(fetch)));
    for (const char* heading : {"Picture", "Levels", "Checks", "Contention", "Effective bisection bandwidth"})
        EXPECT_THAT(page, HasSubstr(std::string("<h2>") + heading + "</h2>"));
    EXPECT_THAT(page, HasSubstr("Loomband 1.2.3"));
}

TEST(Page, NamesTheDistanceOfTheWorstStage) {
    const fabric::Fabric tree = thin_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    EXPECT_THAT(html_page(tree, find(graph, &tables)), HasSubstr("In the worst, distance 4, 4 flows share one"));
    EXPECT_THAT(html_page(tree, find(graph, &tables, {.most_pairs = 66})),
                HasSubstr("In the worst, distance 5, 4 flows share one"));
}

TEST(Page, DrawsEveryPatternOfTheBisection) {
    const fabric::Fabric tree = thin_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tree, find(graph, &tables, {.bisection_samples = 500}));

    const std::regex bar("<title>[0-9]+ %: ([0-9]+)</title>");
    int patterns = 0, bars = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), bar), end; at != end; ++at, ++bars)
        patterns += std::stoi((*at)[1]);
    EXPECT_EQ(patterns, 500);
    EXPECT_GT(bars, 1);
}

TEST(Page, EscapesEveryName) {
    fabric::Fabric tree = small_tree();
    tree.title = "<script>title()</script>";
    for (std::uint32_t i = 0; i < tree.node_count(); ++i) tree.node(NodeId{i}).name = "<script>n()</script>\"'&";
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tree, find(graph, &tables));

    EXPECT_THAT(page, Not(HasSubstr("<script>title")));
    EXPECT_THAT(page, Not(HasSubstr("<script>n")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;title()&lt;/script&gt;"));
}

TEST(Page, SaysWhenItRoutedItself) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);

    const std::string page = html_page(tree, find(graph, nullptr));

    EXPECT_THAT(page, HasSubstr("No tables were given"));
    EXPECT_THAT(page, HasSubstr("no link is ever shared"));
}

TEST(Page, TakesFurtherSections) {
    const fabric::Fabric tree = small_tree();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tree, find(graph, &tables), {.sections = {{"More & more", "<p>text</p>"}}});

    EXPECT_THAT(page, HasSubstr("<h2>More &amp; more</h2>\n<p>text</p>"));
}

TEST(Page, SurvivesATinyFabric) {
    fabric::Fabric tiny;
    const NodeId middle = tiny.add_node(fabric::NodeKind::switch_, 2, "sw");
    const NodeId host = tiny.add_node(fabric::NodeKind::host, 1, "only");
    tiny.connect(middle, PortNum{1}, host, PortNum{1});
    tiny.assign_lids();
    const routing::SwitchGraph graph(tiny);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tiny, find(graph, &tables));

    EXPECT_THAT(page, HasSubstr("Fewer than two hosts"));
}

TEST(Findings, DoNotClaimFullSpeedWhereTheFileCannotTell) {
    fabric::Fabric tree = small_tree();
    fabric::Port& slow = tree.port(tree.nodes_of(fabric::NodeKind::switch_)[0], PortNum{5});
    slow.rate.width = tree.port(slow.peer).rate.width = fabric::Width::x1;
    fabric::Fabric known = small_tree();
    for (std::uint32_t i = 0; i < known.port_count(); ++i)
        known.port(PortIndex{i}).supported = known.port(PortIndex{i}).rate;

    const Findings blind = find(routing::SwitchGraph(tree), nullptr);
    const Findings sure = find(routing::SwitchGraph(known), nullptr);

    EXPECT_THAT(verdict_on(blind, "Full speed").answer, HasSubstr("Not known from this file"));
    EXPECT_THAT(verdict_on(blind, "Full speed").answer, HasSubstr("one is slower than most"));
    EXPECT_EQ(verdict_on(blind, "Full speed").kind, Verdict::Kind::note);
    EXPECT_THAT(blind.deviations, testing::Contains(HasSubstr("at 1xQDR where most run at 4xQDR")));
    EXPECT_EQ(verdict_on(sure, "Full speed").answer, "No cable runs below what both its ends support.");
}

TEST(Page, TellsOversubscriptionAndContentionByRate) {
    fabric::Fabric tree = fabric::pgft({.children = {4, 4}, .parents = {1, 2}});
    tree.assign_lids();
    for (const NodeId host : tree.nodes_of(fabric::NodeKind::host)) {
        fabric::Port& port = tree.port(host, PortNum{1});
        port.rate = tree.port(port.peer).rate = {fabric::Width::x4, fabric::Speed::ddr};
    }

    const Findings findings = find(routing::SwitchGraph(tree), nullptr);
    const std::string page = html_page(tree, findings);

    EXPECT_DOUBLE_EQ(findings.level_lines[0].oversubscription, 1);  // 2 by cables
    EXPECT_THAT(page, HasSubstr("oversubscription"));
    EXPECT_THAT(page, HasSubstr(">1:1</td>"));
    EXPECT_THAT(page, HasSubstr("With the rates of links and hosts taken into account"));
}

TEST(Page, NamesTheTablesFileAndFewSwitchesInFull) {
    fabric::Fabric tree = small_tree();
    for (const NodeId id : tree.nodes_of(fabric::NodeKind::switch_)) tree.node(id).name += " rack 12 unit";
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = tables_by("minhop", graph);

    const std::string page = html_page(tree, find(graph, &tables), {.tables = "tree<1>.lft"});

    EXPECT_THAT(page, HasSubstr("made by <code>minhop</code> and read from <code>tree&lt;1&gt;.lft</code>."));
    EXPECT_THAT(page, HasSubstr(">L0-0 rack 12 unit</text>"));
}

}  // namespace
