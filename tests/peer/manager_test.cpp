// The manager on a subnet that ibsim plays, through the real diagnostic tools. ibsim counts data and waiting, has no
// congestion counters, shows congestion settings (all zero) and refuses to change them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "loom/base/file.hpp"
#include "loom/fabric/io.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/manager/live.hpp"
#include "peer/harness/opensm.hpp"
#include "support/living.hpp"

namespace loom::peer {
namespace {

using manager::Decision;
using manager::What;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string net_of(const fabric::Fabric& fabric) {
    std::ostringstream out;
    write_fabric(fabric, out, fabric::Format::ibsim);
    return out.str();
}

class ManagedSubnet : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(subnet_.opensm({.engine = "minhop"}).came_up);
        const Outcome discovered = subnet_.tool({"ibnetdiscover"});
        ASSERT_TRUE(discovered.ok());
        write_file(subnet_.folder() / "fabric.out", discovered.output);
        fabric_ = fabric::parse_fabric(discovered.output, "ibnetdiscover").fabric;
        // The tools that the manager starts find the simulator as ibsim-run would have them.
        const Outcome shown = subnet_.tool({"sh", "-c", "printf '%s %s' \"$LD_PRELOAD\" \"$IBSIM_SOCKNAME\""});
        const auto blank = shown.output.find(' ');
        ASSERT_NE(blank, std::string::npos) << shown.output;
        setenv("LD_PRELOAD", shown.output.substr(0, blank).c_str(), 1);
        setenv("IBSIM_SOCKNAME", shown.output.substr(blank + 1).c_str(), 1);
        options_.remark = [this](const std::string& text) { remarks_.push_back(text); };
        options_.command = [this](const std::string& line) { commands_.push_back(line); };
    }
    void TearDown() override {
        unsetenv("LD_PRELOAD");
        unsetenv("IBSIM_SOCKNAME");
    }

    [[nodiscard]] PortIndex port(const char* name, std::uint8_t number) const {
        for (const NodeId node : fabric_.nodes_of(fabric::NodeKind::switch_))
            if (fabric_.node(node).name == name) return fabric_.port_index(node, PortNum{number});
        throw Error(std::string("no switch ") + name);
    }
    [[nodiscard]] std::string lid_of(PortIndex index) const {
        return std::to_string(fabric_.port(fabric_.port(index).node, PortNum{0}).lid.value);
    }

    test::Testbed testbed_;
    Subnet subnet_{net_of(testbed_.fabric), Console::open};
    fabric::Fabric fabric_;  // as discovered, with the LIDs that OpenSM gave
    manager::LiveOptions options_;
    std::vector<std::string> remarks_, commands_;
};

// Turns waiting up between sweeps, as a slow host at port 23 of S2 would.
class Turning : public fabric::Clock {
public:
    explicit Turning(Subnet& subnet) : subnet_(subnet) {}
    Time now() override { return now_; }
    bool sleep_until(Time time) override {
        now_ = time;
        ++steps_;
        const std::string ticks = std::to_string(5000 * steps_);
        subnet_.console("PerformanceSet \"S2\"[23] PortCounters.PortXmitWait=" + ticks);
        if (steps_ >= 2) subnet_.console("PerformanceSet \"S1\"[15] PortCounters.PortXmitWait=" + ticks);
        return true;
    }

private:
    Subnet& subnet_;
    Time now_;
    int steps_ = 0;
};

TEST_F(ManagedSubnet, CountersAreWhatTheToolsSay) {
    manager::LiveFabric live(fabric_, options_);
    const std::vector<PortIndex> ports{port("S2", 20), port("S2", 23)};
    std::vector<fabric::PortCounters> counters(2);
    subnet_.console("PerformanceSet \"S2\"[23] PortCounters.PortXmitWait=123456");
    subnet_.console("PerformanceSet \"S2\"[23] PortCountersExtended.PortXmitData=77000000000");

    live.read(ports, counters);

    EXPECT_EQ(counters[1].xmit_wait, 123'456u);
    EXPECT_GE(counters[1].xmit_data, 77'000'000'000u);  // and what the query itself added
    EXPECT_GT(counters[0].xmit_pkts, 0u);
    EXPECT_EQ(counters[0].xmit_wait, 0u);
    ASSERT_EQ(remarks_.size(), 1u);
    EXPECT_THAT(remarks_[0], HasSubstr("S2 answers no congestion counters"));
    EXPECT_THAT(remarks_[0], HasSubstr("cannot query PortXmitConCtrl"));
}

TEST_F(ManagedSubnet, ADryRunDecidesAndChangesNothing) {
    manager::LiveFabric live(fabric_, options_);
    Turning clock(subnet_);
    manager::Settings settings;
    settings.sweep = seconds(1);
    settings.wait = 1000;
    settings.intervals = 2;
    settings.sweeps = 4;
    settings.normal = 128;
    std::vector<Decision> decisions;

    (void)run_manager(fabric_, live, live, clock, settings,
                      [&](const Decision& decision) { decisions.push_back(decision); });

    std::vector<What> story;
    for (const Decision& decision : decisions) story.push_back(decision.what);
    EXPECT_THAT(story, ElementsAre(What::leave, What::lower, What::restore));
    EXPECT_EQ(decisions[1].port, port("S2", 23));
    EXPECT_EQ(decisions[1].victim, port("S1", 15));
    EXPECT_EQ(decisions[1].waited, 5000u);
    EXPECT_EQ(decisions[1].victim_waited, 10000u);
    // ibsim's rate is 0 already; the default is another.
    const std::string lid = lid_of(port("S2", 23));
    EXPECT_THAT(commands_, ElementsAre("ibccconfig SwitchPortCongestionSetting " + lid + " 23 1 0 0 0 128"));
    EXPECT_THAT(remarks_, testing::Contains(HasSubstr("S2 port 23 has congestion threshold 0")));
}

TEST_F(ManagedSubnet, WhatTheSubnetRefusesIsTold) {
    options_.apply = manager::Apply::apply;
    manager::LiveFabric live(fabric_, options_);

    const std::uint16_t found = live.marking_rate(port("S2", 23));
    std::string why;
    try {
        live.set_marking_rate(port("S2", 23), 128);
    } catch (const Error& error) {
        why = error.what();
    }

    EXPECT_EQ(found, 0);
    EXPECT_THAT(why, HasSubstr("switch port congestion setting config failed"));
}

TEST_F(ManagedSubnet, AFabricFileOfAnotherSubnetIsRefused) {
    const std::vector<NodeId> switches = fabric_.nodes_of(fabric::NodeKind::switch_);
    std::swap(fabric_.port(switches[0], PortNum{0}).lid, fabric_.port(switches[1], PortNum{0}).lid);
    manager::LiveFabric live(fabric_, options_);
    std::vector<fabric::PortCounters> counters(1);
    std::string why;

    try {
        live.read(std::vector{port("S2", 23)}, counters);
    } catch (const Error& error) {
        why = error.what();
    }

    EXPECT_THAT(why, HasSubstr("the fabric file is out of date"));
}

TEST_F(ManagedSubnet, TheCommandManagesWithAFileAndWithout) {
    TearDown();  // ibsim-run sets the stage for the command itself
    const std::string file = (subnet_.folder() / "fabric.out").string();

    const Outcome with = subnet_.tool({LOOM_PROGRAM, "manage", file, "--live", "--sweeps", "2", "--sweep", "10ms"});
    const Outcome without =
        subnet_.tool({LOOM_PROGRAM, "manage", "--live", "--sweeps", "2", "--sweep", "10ms", "--json"});

    EXPECT_EQ(with.status, 0) << with.errors;
    EXPECT_THAT(with.output, HasSubstr("Managing 2 switches, policy proportional; a dry run: nothing will be changed"));
    EXPECT_THAT(with.output, HasSubstr("2 sweeps: 16 ports read (0 missed)"));
    EXPECT_EQ(without.status, 0) << without.errors;
    EXPECT_THAT(without.output, HasSubstr("\"ports_read\": 16"));
    EXPECT_THAT(without.output, HasSubstr("\"decisions\": []"));
    EXPECT_THAT(without.output, HasSubstr("answers no congestion counters"));
}

}  // namespace
}  // namespace loom::peer
