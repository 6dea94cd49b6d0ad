// Outputs of infiniband-diags in the layouts of its version 44, with values of our own.
#include "loom/manager/diags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::manager {
namespace {

using testing::HasSubstr;

constexpr const char* extended_two =
    "# Port extended counters: Lid 3 port 20 (CapMask: 0x1300 CapMask2: 0x0000000)\n"
    "PortSelect:......................20\n"
    "CounterSelect:...................0x0000\n"
    "PortXmitData:....................15624\n"
    "PortRcvData:.....................15696\n"
    "PortXmitPkts:....................217\n"
    "PortRcvPkts:.....................218\n"
    "# Port extended counters: Lid 3 port 23 (CapMask: 0x5F01 CapMask2: 0x0000002)\n"
    "PortSelect:......................23\n"
    "CounterSelect:...................0x0000\n"
    "PortXmitData:....................18446744073709551615\n"
    "PortRcvData:.....................7\n"
    "PortXmitPkts:....................8\n"
    "PortRcvPkts:.....................9\n"
    "PortUnicastXmitPkts:.............8\n"
    "CounterSelect2:..................0x00000000\n"
    "PortXmitWait:....................98765432100\n"
    "QP1Dropped:......................0\n";

constexpr const char* basic =
    "# Port counters: Lid 3 port 23 (CapMask: 0x1300)\n"
    "PortSelect:......................23\n"
    "CounterSelect:...................0x0000\n"
    "PortXmitData:....................1080\n"
    "PortXmitWait:....................4294967295\n";

constexpr const char* congested =
    "# PortXmitConCtrl counters: Lid 3 port 23\n"
    "PortSelect:......................23\n"
    "CounterSelect:...................0x0000\n"
    "PortXmitTimeCong:................8200000\n";

constexpr const char* port_setting =
    "# SwitchPortCongestionSetting: Lid 3\n"
    "Valid:...........................1\n"
    "Control_Type:....................0\n"
    "Threshold:.......................0x0f\n"
    "Packet_Size:.....................8\n"
    "Cong_Parm_Marking_Rate:..........128\n";

constexpr const char* switch_setting =
    "# SwitchCongestionSetting: Lid 3\n"
    "Control_Map:.....................0x0000001f\n"
    "Victim_Mask:.....................0000000000000000000000000000000000000000000000000000000000000000\n"
    "Credit_Mask:.....................0000000000000000000000000000000000000000000000000000000000000000\n"
    "Threshold:.......................0x0a\n"
    "Packet_Size:.....................4\n"
    "CS_Threshold:....................0x00\n"
    "CS_ReturnDelay:..................0x0000\n"
    "Marking_Rate:....................64\n";

constexpr const char* node_info =
    "# Node info: Lid 3\n"
    "BaseVers:........................1\n"
    "NodeType:........................Switch\n"
    "SystemGuid:......................0x0002c903004a5b60\n"
    "Guid:............................0x0002c903004a5b61\n"
    "PortGuid:........................0x0002c903004a5b61\n";

const std::vector<PortNum> both{PortNum{20}, PortNum{23}};
const std::vector<PortNum> one{PortNum{23}};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

// The message of the ParseError that `read` throws.
template <class Read>
std::string refusal(Read&& read) {
    try {
        (void)read();
    } catch (const ParseError& error) {
        return error.what();
    }
    return "taken";
}

TEST(Diags, ExtendedCountersOfSeveralPorts) {
    const auto readings = parse_extended(extended_two, "perfquery", Lid{3}, both);

    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[0].xmit_data, 15624u);
    EXPECT_EQ(readings[0].rcv_pkts, 218u);
    EXPECT_EQ(readings[0].xmit_wait, std::nullopt);
    EXPECT_EQ(readings[1].xmit_data, UINT64_MAX);
    EXPECT_EQ(readings[1].xmit_wait, 98765432100u);
}

TEST(Diags, WaitingAndCongestedTime) {
    EXPECT_EQ(parse_waits(basic, "perfquery", Lid{3}, one), std::vector<std::uint64_t>{4294967295u});
    EXPECT_EQ(parse_congested_time(congested, "perfquery", Lid{3}, PortNum{23}), 8'200'000u);
}

TEST(Diags, Settings) {
    const CongestionSetting port = parse_port_setting(port_setting, "ibccquery", Lid{3});
    const CongestionSetting all = parse_switch_setting(switch_setting, "ibccquery", Lid{3});

    EXPECT_EQ(port, (CongestionSetting{true, false, 15, 8, 128}));
    EXPECT_EQ(all, (CongestionSetting{true, false, 10, 4, 64}));
}

TEST(Diags, TheGuidOfANode) {
    EXPECT_EQ(parse_node_guid(node_info, "smpquery", Lid{3}), Guid{0x0002c903004a5b61u});
}

TEST(Diags, ASwitchThatDoesNotCountWaitingIsNotTakenForOneThatNeverWaits) {
    const std::string text = replaced(basic, "0x1300", "0x0300");

    EXPECT_EQ(refusal([&] { return parse_waits(text, "perfquery 3 23", Lid{3}, one); }),
              "perfquery 3 23:1: this switch does not count PortXmitWait (its CapMask says so)");
}

TEST(Diags, SayWhatIsMissing) {
    const auto extended = [](const std::string& text, Lid lid = Lid{3}) {
        return refusal([&] { return parse_extended(text, "out", lid, both); });
    };

    EXPECT_EQ(extended(""), "out: expected 2 blocks '# Port extended counters', found 0");
    EXPECT_EQ(extended(basic), "out: expected 2 blocks '# Port extended counters', found 1");
    EXPECT_EQ(extended(extended_two, Lid{4}), "out:1: expected LID 4, found 3");
    EXPECT_EQ(extended(replaced(extended_two, "PortRcvData:.....................7\n", "")),
              "out:8: expected a field PortRcvData under '# Port extended counters'");
    EXPECT_EQ(extended(replaced(extended_two, "218", "many")),
              "out:7: expected a number up to 18446744073709551615 for PortRcvPkts, found \"many\"");
    EXPECT_EQ(extended(replaced(extended_two, "218", "")),
              "out:7: expected a number up to 18446744073709551615 for PortRcvPkts, found \"\"");
    EXPECT_EQ(extended(replaced(extended_two, "18446744073709551615", "18446744073709551616")),
              "out:11: expected a number up to 18446744073709551615 for PortXmitData, found \"18446744073709551616\"");
    EXPECT_EQ(extended(replaced(extended_two, "PortXmitPkts:....................217", "PortXmitData:....1")),
              "out:6: PortXmitData is there twice");
    EXPECT_EQ(extended(replaced(extended_two, "Lid 3 port 23", "Lid 3 port 22")), "out:8: expected port 23");
    EXPECT_EQ(extended(replaced(extended_two, "PortSelect:......................23", "PortSelect:...22")),
              "out:8: PortSelect is not the port that was asked for");
    EXPECT_THAT(extended("ibwarn: something\n"), HasSubstr("out:1: expected a line that begins with '#'"));
    EXPECT_THAT(extended("# Port extended counters: DR path 0,1\n"), HasSubstr("instead of the LID"));
    EXPECT_THAT(extended("# Port extended counters: Lid 70000 port 1\n"), HasSubstr("no unicast LID"));
    EXPECT_THAT(extended("# Port extended counters: Lid 3 port 300\n"), HasSubstr("no number up to 255"));
    EXPECT_THAT(extended("# Port extended counters: Lid 3 port 20 (CapMask: zero)\n"), HasSubstr("CapMask"));
    EXPECT_THAT(extended("# nothing\n"), HasSubstr("expected '# TITLE: Lid NUMBER"));
    EXPECT_EQ(extended(replaced(extended_two, "PortRcvData:.....................15696", "PortRcvData 15696")),
              "out:5: expected 'NAME:.....VALUE', found \"PortRcvData 15696\"");
}

TEST(Diags, RefuseValuesThatCannotBe) {
    const auto port = [](const char* what, const char* by) {
        return refusal([&] { return parse_port_setting(replaced(port_setting, what, by), "out", Lid{3}); });
    };

    EXPECT_THAT(port("0x0f", "0x1f"), HasSubstr("number up to 15 for Threshold"));
    EXPECT_THAT(port("128", "65536"), HasSubstr("number up to 65535 for Cong_Parm_Marking_Rate"));
    EXPECT_THAT(port("Valid:...........................1", "Valid:..2"), HasSubstr("number up to 1 for Valid"));
    EXPECT_THAT(refusal([] { return parse_port_setting(switch_setting, "out", Lid{3}); }),
                HasSubstr("expected '# SwitchPortCongestionSetting', found \"SwitchCongestionSetting\""));
    EXPECT_THAT(refusal([] { return parse_waits(replaced(basic, "4294967295", "4294967296"), "out", Lid{3}, one); }),
                HasSubstr("number up to 4294967295"));
    EXPECT_THAT(refusal([] { return parse_waits(replaced(basic, " (CapMask: 0x1300)", ""), "out", Lid{3}, one); }),
                HasSubstr("expected the CapMask"));
}

}  // namespace
}  // namespace loom::manager
