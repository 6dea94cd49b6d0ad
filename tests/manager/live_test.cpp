// A subnet played by small scripts that stand in for the diagnostic tools: each answers from a file named after its
// words, and notes that it was called. The recordings follow the layouts of infiniband-diags 44.
#include "loom/manager/live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "loom/base/file.hpp"
#include "support/living.hpp"
#include "support/process.hpp"

namespace loom::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Live : public testing::Test {
protected:
    void SetUp() override {
        // A tool without a recording fails as the real one does.
        const std::string warn = "echo 'ibwarn: [42] mad_rpc: _do_madrpc failed; dport (Lid 2)' >&2; ";
        tool("perfquery", warn + "echo \"perfquery: iberror: failed: cannot query $*\"; exit 255");
        tool("ibccquery", "echo \"ibccquery: iberror: failed: operation $1: query failed\"; exit 255");
        tool("smpquery", "echo 'smpquery: iberror: failed: node info query failed'; exit 255");
        tool("ibccconfig", "echo 'ibccconfig: iberror: failed: config failed'; exit 255");
        old_path_ = std::getenv("PATH");
        setenv("PATH", (folder_.path().string() + ":" + old_path_).c_str(), 1);
        testbed_.fabric.assign_lids();
        s2_ = std::to_string(testbed_.fabric.port(testbed_.s2, PortNum{0}).lid.value);
        record("smpquery nodeinfo " + s2_, "# Node info: Lid " + s2_ + "\nGuid:.....................0x" +
                                               fabric::to_string(testbed_.fabric.node(testbed_.s2).guid).substr(2) +
                                               "\n");
        options_.remark = [this](const std::string& text) { remarks_.push_back(text); };
        options_.command = [this](const std::string& text) { commands_.push_back(text); };
        options_.jobs = 2;
    }
    void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }

    void tool(const std::string& name, const std::string& otherwise) {
        const std::string base = folder_.path().string();
        write_file(folder_.file(name), "#!/bin/sh\necho \"" + name + " $*\" >>'" + base + "/calls'\nfile='" + base +
                                           "'/\"" + name +
                                           " $*\"\nif [ -f \"$file.script\" ]; then . \"$file.script\"; exit; fi\n" +
                                           "if [ -f \"$file\" ]; then cat \"$file\"; exit; fi\n" + otherwise + "\n");
        std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
    }
    void record(const std::string& command, const std::string& output) { write_file(folder_.file(command), output); }
    void script(const std::string& command, const std::string& text) {
        write_file(folder_.file(command + ".script"), text);
    }
    [[nodiscard]] std::vector<std::string> calls() const {
        std::vector<std::string> result;
        const std::string text = test::slurp(folder_.path() / "calls");
        Lines lines(text);
        for (std::string_view line; lines.next(line);) result.emplace_back(line);
        return result;
    }

    [[nodiscard]] std::string extended(unsigned port, std::uint64_t data, const std::string& wait = {}) const {
        const std::string number = std::to_string(port);
        return "# Port extended counters: Lid " + s2_ + " port " + number + " (CapMask: 0x1300 CapMask2: 0x0000000)\n" +
               "PortSelect:......................" + number + "\nCounterSelect:...................0x0000\n" +
               "PortXmitData:...................." + std::to_string(data) + "\nPortRcvData:.....................2\n" +
               "PortXmitPkts:....................3\nPortRcvPkts:.....................4\n" +
               (wait.empty() ? "" : "PortXmitWait:...................." + wait + "\n");
    }
    [[nodiscard]] std::string basic(unsigned port, std::uint64_t wait) const {
        const std::string number = std::to_string(port);
        return "# Port counters: Lid " + s2_ + " port " + number + " (CapMask: 0x1300)\nPortSelect:....." + number +
               "\nPortXmitWait:...................." + std::to_string(wait) + "\n";
    }
    [[nodiscard]] std::string congested(unsigned port, std::uint64_t time) const {
        const std::string number = std::to_string(port);
        return "# PortXmitConCtrl counters: Lid " + s2_ + " port " + number + "\nPortSelect:......................" +
               number + "\nCounterSelect:...................0x0000\nPortXmitTimeCong:................" +
               std::to_string(time) + "\n";
    }
    [[nodiscard]] std::string port_setting(int valid, int type, int threshold, int size, int rate) const {
        return "# SwitchPortCongestionSetting: Lid " + s2_ + "\nValid:..........................." +
               std::to_string(valid) + "\nControl_Type:...................." + std::to_string(type) +
               "\nThreshold:......................." + std::to_string(threshold) +
               "\nPacket_Size:....................." + std::to_string(size) + "\nCong_Parm_Marking_Rate:.........." +
               std::to_string(rate) + "\n";
    }
    [[nodiscard]] std::string switch_setting(int threshold, int size, int rate) const {
        return "# SwitchCongestionSetting: Lid " + s2_ + "\nThreshold:......................." +
               std::to_string(threshold) + "\nPacket_Size:....................." + std::to_string(size) +
               "\nMarking_Rate:...................." + std::to_string(rate) + "\n";
    }
    [[nodiscard]] std::vector<PortIndex> ports(std::initializer_list<std::uint8_t> numbers) const {
        std::vector<PortIndex> result;
        for (const std::uint8_t number : numbers)
            result.push_back(testbed_.fabric.port_index(testbed_.s2, PortNum{number}));
        return result;
    }
    template <class Work>
    static std::string failure(Work&& work) {
        try {
            (void)work();
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    }

    test::TemporaryFolder folder_;
    test::Testbed testbed_;
    std::string old_path_;
    std::string s2_;  // its LID
    LiveOptions options_;
    std::vector<std::string> remarks_, commands_;
    const std::string port_query_ = "ibccquery SwitchPortCongestionSetting ";
};

TEST_F(Live, ReadsAllPortsOfASwitchInOneProcessAndCongestionPortByPort) {
    record("perfquery -x -l " + s2_ + " 20,23", extended(20, 100, "5000000000") + extended(23, 200, "7"));
    record("perfquery --xmitcc " + s2_ + " 20", congested(20, 0));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(2);

    live.read(ports({20, 23}), counters);
    live.read(ports({20, 23}), counters);

    EXPECT_EQ(counters[0].xmit_data, 100u);
    EXPECT_EQ(counters[0].xmit_wait, 5'000'000'000u);
    EXPECT_EQ(counters[0].rcv_pkts, 4u);
    EXPECT_EQ(counters[1].xmit_wait, 7u);
    EXPECT_EQ(counters[1].xmit_cong_time, 900u);
    EXPECT_EQ(live.processes(), 7u);  // asked who it is once; then one and two, twice
    EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(Live, TheFirstReadingHasTheCongestionOfEveryPort) {
    record("perfquery -x -l " + s2_ + " 20,21,23", extended(20, 1, "1") + extended(21, 1, "1") + extended(23, 1, "1"));
    record("perfquery --xmitcc " + s2_ + " 20", congested(20, 700));
    record("perfquery --xmitcc " + s2_ + " 21", congested(21, 800));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(3);

    live.read(ports({20, 21, 23}), counters);

    EXPECT_EQ(counters[0].xmit_cong_time, 700u);
    EXPECT_EQ(counters[1].xmit_cong_time, 800u);
    EXPECT_EQ(counters[2].xmit_cong_time, 900u);
}

TEST_F(Live, FindsWaitingAmongTheBasicCountersOfOlderSwitches) {
    record("perfquery -x " + s2_ + " 23", extended(23, 200));
    record("perfquery " + s2_ + " 23", basic(23, 4321));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    live.read(ports({23}), counters);

    EXPECT_EQ(counters[0].xmit_wait, 4321u);
    EXPECT_EQ(counters[0].xmit_data, 200u);
}

TEST_F(Live, SaysOnceThatASwitchAnswersNoCongestionCounters) {
    record("perfquery -x -l " + s2_ + " 20,23", extended(20, 100, "1") + extended(23, 200, "2"));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(2);

    live.read(ports({20, 23}), counters);
    live.read(ports({20, 23}), counters);

    EXPECT_EQ(counters[1].xmit_wait, 2u);
    EXPECT_EQ(counters[1].xmit_cong_time, 0u);
    ASSERT_EQ(remarks_.size(), 1u);
    EXPECT_THAT(remarks_[0], HasSubstr("S2 answers no congestion counters"));
}

TEST_F(Live, ASwitchThatStopsToAnswerThemIsAnError) {
    record("perfquery -x " + s2_ + " 23", extended(23, 200, "2"));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);
    live.read(ports({23}), counters);
    std::filesystem::remove(folder_.file("perfquery --xmitcc " + s2_ + " 23"));

    const std::string why = failure([&] { live.read(ports({23}), counters); });

    EXPECT_EQ(why, "perfquery --xmitcc " + s2_ + " 23: cannot query --xmitcc " + s2_ + " 23");
}

TEST_F(Live, NamesTheCommandWhoseOutputIsOdd) {
    record("perfquery -x " + s2_ + " 23", "nothing of the kind\n");
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    EXPECT_THAT(failure([&] { live.read(ports({23}), counters); }),
                HasSubstr("perfquery -x " + s2_ + " 23:1: expected a line that begins with '#'"));
}

TEST_F(Live, RefusesAFabricFileThatIsNoLongerTrue) {
    record("smpquery nodeinfo " + s2_, "# Node info: Lid " + s2_ + "\nGuid:.....................0x0000000000abcdef\n");
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    EXPECT_THAT(failure([&] { live.read(ports({23}), counters); }), HasSubstr("the fabric file is out of date"));
    EXPECT_THAT(failure([&] { live.set_marking_rate(testbed_.root, 0); }), HasSubstr("out of date"));
}

TEST_F(Live, NeedsLids) {
    testbed_.fabric.clear_lids();
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    EXPECT_EQ(failure([&] { live.read(ports({23}), counters); }),
              "S2 has no LID in this fabric file; one from ibnetdiscover has them");
}

TEST_F(Live, TellsAFullCounterAndHowToResetIt) {
    record("perfquery -x " + s2_ + " 23", extended(23, 200));
    record("perfquery " + s2_ + " 23", basic(23, 4294967295u));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    live.read(ports({23}), counters);
    live.read(ports({23}), counters);

    EXPECT_THAT(remarks_, ElementsAre("PortXmitWait of S2 port 23 is full and counts no more until someone resets it: "
                                      "perfquery -R " +
                                      s2_ + " 23 0x10000"));
    EXPECT_THAT(commands_, IsEmpty());
}

TEST_F(Live, ResetsCountersBeyondHalfWhenToldTo) {
    record("perfquery -x " + s2_ + " 23", extended(23, 200));
    record("perfquery " + s2_ + " 23", basic(23, 2147483648u));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 4294967295u));
    record("perfquery -R " + s2_ + " 23 0x10000", "");
    record("perfquery -R --xmitcc " + s2_ + " 23", "");
    options_.reset_counters = true;
    options_.apply = Apply::apply;
    LiveFabric live(testbed_.fabric, options_);
    std::vector<fabric::PortCounters> counters(1);

    live.read(ports({23}), counters);

    EXPECT_THAT(commands_, ElementsAre("perfquery -R " + s2_ + " 23 0x10000", "perfquery -R --xmitcc " + s2_ + " 23"));
    EXPECT_THAT(calls(), testing::IsSupersetOf(commands_));
}

TEST_F(Live, CountsOnOverItsOwnResetsAndShowsThoseOfOthers) {
    const std::string wait = "perfquery " + s2_ + " 23", reset = "perfquery -R " + s2_ + " 23 0x10000";
    record("perfquery -x " + s2_ + " 23", extended(23, 200));
    record("perfquery --xmitcc " + s2_ + " 23", congested(23, 900));
    record("a while after", basic(23, 50));
    script(reset, "cp '" + folder_.file("a while after") + "' '" + folder_.file(wait) + "'");
    options_.reset_counters = true;
    options_.apply = Apply::apply;
    LiveFabric live(testbed_.fabric, options_);
    const auto waited = [&](std::uint64_t shown) {
        record(wait, basic(23, shown));
        std::vector<fabric::PortCounters> counters(1);
        live.read(ports({23}), counters);
        return counters[0].xmit_wait;
    };

    EXPECT_EQ(waited(3'500'000'000u), 3'500'000'000u);  // and is reset
    EXPECT_EQ(waited(70), 3'500'000'070u);
    EXPECT_EQ(waited(3'000'000'000u), 6'500'000'000u);  // again
    EXPECT_EQ(waited(3'000'000'100u), 6'500'000'100u);  // which the switch did not do, so it is asked once more
    EXPECT_EQ(waited(8), 6'500'000'108u);
    EXPECT_EQ(waited(5), 5u);  // somebody else
    EXPECT_THAT(commands_, ElementsAre(reset, reset, reset));
}

TEST_F(Live, ADryRunShowsTheCommandAndRunsItNot) {
    record(port_query_ + s2_ + " 23", port_setting(1, 0, 15, 8, 128));
    LiveFabric live(testbed_.fabric, options_);

    const std::uint16_t before = live.marking_rate(testbed_.root);
    live.set_marking_rate(testbed_.root, 0);
    const std::uint16_t after = live.marking_rate(testbed_.root);

    EXPECT_EQ(before, 128);
    EXPECT_EQ(after, 0);
    EXPECT_THAT(commands_, ElementsAre("ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 1 0 15 8 0"));
    EXPECT_THAT(calls(), testing::Not(testing::Contains(HasSubstr("ibccconfig"))));
}

TEST_F(Live, APortWithoutASettingOfItsOwnHasItsSwitchs) {
    record(port_query_ + s2_ + " 23", port_setting(0, 0, 0, 0, 0));
    record("ibccquery SwitchCongestionSetting " + s2_, switch_setting(10, 4, 64));
    LiveFabric live(testbed_.fabric, options_);

    const std::uint16_t before = live.marking_rate(testbed_.root);
    live.set_marking_rate(testbed_.root, 0);
    live.set_marking_rate(testbed_.root, 64);

    EXPECT_EQ(before, 64);
    EXPECT_THAT(commands_, ElementsAre("ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 1 0 10 4 0",
                                       "ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 0 0 0 0 0"));
}

TEST_F(Live, AppliesAndReadsBack) {
    const std::string query = port_query_ + s2_ + " 23";
    const std::string change = "ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 1 0 15 8 0";
    record(query, port_setting(1, 0, 15, 8, 128));
    script(change, "cp '" + folder_.file("lowered") + "' '" + folder_.file(query) + "'");
    record("lowered", port_setting(1, 0, 15, 8, 0));
    options_.apply = Apply::apply;
    LiveFabric live(testbed_.fabric, options_);

    live.set_marking_rate(testbed_.root, 0);

    EXPECT_EQ(live.marking_rate(testbed_.root), 0);
    EXPECT_THAT(calls(), ElementsAre("smpquery nodeinfo " + s2_, query, change, query, query));
}

TEST_F(Live, NoticesASwitchThatAcceptsAndDoesNothing) {
    record(port_query_ + s2_ + " 23", port_setting(1, 0, 15, 8, 128));
    record("ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 1 0 15 8 0", "");
    options_.apply = Apply::apply;
    LiveFabric live(testbed_.fabric, options_);

    EXPECT_THAT(failure([&] { live.set_marking_rate(testbed_.root, 0); }),
                HasSubstr("accepted, but the port now has marking rate 128"));
}

TEST_F(Live, TellsWhyAChangeFailed) {
    record(port_query_ + s2_ + " 23", port_setting(1, 0, 15, 8, 128));
    options_.apply = Apply::apply;
    LiveFabric live(testbed_.fabric, options_);

    EXPECT_EQ(failure([&] { live.set_marking_rate(testbed_.root, 0); }),
              "ibccconfig SwitchPortCongestionSetting " + s2_ + " 23 1 0 15 8 0: config failed");
}

// ibccconfig reads block port / 32, changes entry port % 32, and writes block port / 48; ibccquery reads block port
// / 48. At port 32 the settings of one block would be written over another.
TEST_F(Live, DoesNotTouchPortsThatTheToolsWouldMixUp) {
    const PortIndex port = testbed_.fabric.port_index(testbed_.s2, PortNum{32});
    LiveFabric live(testbed_.fabric, options_);

    EXPECT_THAT(failure([&] { return live.marking_rate(port); }), HasSubstr("only be trusted with ports up to 31"));
    EXPECT_THAT(failure([&] { live.set_marking_rate(port, 0); }), HasSubstr("only be trusted with ports up to 31"));
    EXPECT_THAT(commands_, IsEmpty());
}

TEST_F(Live, TouchesTheLastPortThatTheToolsAgreeOn) {
    const PortIndex port = testbed_.fabric.port_index(testbed_.s2, PortNum{31});
    record(port_query_ + s2_ + " 31", port_setting(1, 0, 15, 8, 128));
    LiveFabric live(testbed_.fabric, options_);

    live.set_marking_rate(port, 0);

    EXPECT_THAT(commands_, ElementsAre("ibccconfig SwitchPortCongestionSetting " + s2_ + " 31 1 0 15 8 0"));
}

TEST_F(Live, RemarksOnAThresholdThatMarksNothingAndRefusesCreditStarvation) {
    record(port_query_ + s2_ + " 23", port_setting(1, 0, 0, 8, 128));
    record(port_query_ + s2_ + " 20", port_setting(1, 1, 15, 8, 128));
    LiveFabric live(testbed_.fabric, options_);

    EXPECT_EQ(live.marking_rate(testbed_.root), 128);
    EXPECT_THAT(failure([&] { return live.marking_rate(ports({20})[0]); }), HasSubstr("has no marking rate"));

    ASSERT_EQ(remarks_.size(), 1u);
    EXPECT_THAT(remarks_[0], HasSubstr("S2 port 23 has congestion threshold 0"));
}

TEST_F(Live, PassesTheAdapterAndTheKeyAndShowsNoKey) {
    options_.adapter = "mlx5_1";
    options_.adapter_port = 2;
    options_.cc_key = 77;
    record(
        "smpquery -C mlx5_1 -P 2 nodeinfo " + s2_,
        "# Node info: Lid " + s2_ + "\nGuid:......" + fabric::to_string(testbed_.fabric.node(testbed_.s2).guid) + "\n");
    record("ibccquery -C mlx5_1 -P 2 -c 77 SwitchPortCongestionSetting " + s2_ + " 23", port_setting(1, 0, 15, 8, 128));
    LiveFabric live(testbed_.fabric, options_);

    live.set_marking_rate(testbed_.root, 1);

    EXPECT_THAT(commands_,
                ElementsAre("ibccconfig -C mlx5_1 -P 2 -c KEY SwitchPortCongestionSetting " + s2_ + " 23 1 0 15 8 1"));
}

TEST_F(Live, DiscoveryHasALimitToo) {
    tool("ibnetdiscover", "exec sleep 1000");
    options_.limit = milliseconds(5);

    EXPECT_THAT(failure([&] { return discover(options_); }), HasSubstr("60 ms"));
}

TEST(TheWallClock, EndsTheProgramAtTheSecondSignalOfEitherKind) {
    const auto both = [](int first, int second) {
        const WallClock clock;
        std::raise(first);
        std::raise(second);
    };

    EXPECT_EXIT(both(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
    EXPECT_EXIT(both(SIGTERM, SIGINT), testing::KilledBySignal(SIGINT), "");
    EXPECT_EXIT(both(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(TheWallClock, SleepsUntilATimeAndNotBeyondARequestToStop) {
    WallClock clock;
    const Time soon = clock.now() + milliseconds(5);

    EXPECT_TRUE(clock.sleep_until(soon));
    EXPECT_GE(clock.now(), soon);
    EXPECT_TRUE(clock.sleep_until(Time{}));
    std::raise(SIGINT);
    EXPECT_FALSE(clock.sleep_until(clock.now() + seconds(1000)));
}

}  // namespace
}  // namespace loom::manager
