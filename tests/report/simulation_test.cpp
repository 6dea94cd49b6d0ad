#include "loom/report/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/fabric/generate.hpp"

namespace loom::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// One flow over a switch, by hand: what is told about it is all that matters here.
class SimulationSection : public testing::Test {
protected:
    SimulationSection() {
        setup_.title = "by <hand>";
        setup_.fabric = fabric::pgft({.children = {4}, .parents = {1}});
        setup_.flow_names = {"first"};
        setup_.level = sim::Level::flow;
    }

    static sim::Recording recording(std::uint64_t delivered) {
        sim::Recording r;
        r.level = sim::Level::flow;
        r.state = sim::State::finished;
        r.end = microseconds(1);
        r.rank_ends = {microseconds(1), microseconds(1)};
        r.flows = {{Rank{0}, Rank{1}, delivered, delivered, Time{}, microseconds(1)}};
        return r;
    }

    [[nodiscard]] PortIndex switch_port(std::uint8_t number) const {
        return setup_.fabric.port_index(setup_.fabric.nodes_of(fabric::NodeKind::switch_).front(), PortNum{number});
    }

    sim::Setup setup_;
};

TEST_F(SimulationSection, ShowsPortsThatSentOrWaited) {
    const sim::Recording r = recording(1000);
    const std::vector<sim::PortLoad> hottest{
        {switch_port(1), {}, 0.5, 0}, {switch_port(2), {}, 0, 0.25}, {switch_port(3), {}, 0.0001, 0.0001}};

    const Section section = simulation_section({setup_, r, hottest, {}});

    EXPECT_EQ(section.heading, "Simulation: by <hand>");
    EXPECT_THAT(section.html, HasSubstr("<td>L0-0 port 1</td>"));
    EXPECT_THAT(section.html, HasSubstr("<td>L0-0 port 2</td>"));
    EXPECT_THAT(section.html, HasSubstr("<td class=\"n\">25.0</td>"));
    EXPECT_THAT(section.html, Not(HasSubstr("port 3")));
    EXPECT_THAT(section.html, HasSubstr("<td>first</td><td class=\"n\">1000 B</td>"));
    EXPECT_THAT(section.html, HasSubstr("finished after 1 us"));
}

TEST_F(SimulationSection, ShowsTheSlowestOfManyFlows) {
    sim::Recording r = recording(1000);
    setup_.flow_names.clear();
    r.flows.clear();
    for (std::uint32_t i = 0; i < 150; ++i) {
        setup_.flow_names.push_back("flow " + std::to_string(i));
        r.flows.push_back({Rank{0}, Rank{1}, 1000 + i, 1000 + i, Time{}, microseconds(1)});
    }

    const std::string html = simulation_section({setup_, r, {}, {}}).html;

    EXPECT_THAT(html, HasSubstr("The slowest 100 of 150 flows"));
    EXPECT_THAT(html, HasSubstr("<td>flow 0</td>"));
    EXPECT_THAT(html, HasSubstr("<td>flow 99</td>"));
    EXPECT_THAT(html, Not(HasSubstr("<td>flow 100</td>")));
}

TEST_F(SimulationSection, ComparesEachFlowWithAndWithoutAManager) {
    const sim::Recording without = recording(1000), with = recording(1500);
    const manager::Settings settings;
    const manager::Work work;

    const Section section = management_section({setup_, without, {}, {}}, {with, {}, settings, work, {}});

    EXPECT_THAT(section.html, HasSubstr("<td>first</td><td class=\"n\">8.000</td><td class=\"n\">12.000</td>"
                                        "<td class=\"n\">+50</td>"));
    EXPECT_THAT(section.html, HasSubstr("Nothing was decided"));
}

}  // namespace
}  // namespace loom::report
