// Bad table files, each by name: where it is wrong and what was expected.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {
namespace {

using testing::HasSubstr;

struct Bad {
    const char* name;
    const char* text;
    const char* message;
};

class BadTable : public testing::TestWithParam<Bad> {};

TEST_P(BadTable, SaysWhereAndWhatWasExpected) {
    try {
        (void)parse_tables(GetParam().text, "bad");
        FAIL() << "no error";
    } catch (const ParseError& error) {
        EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    }
}

#define LFT "Unicast lids [0-9] of switch Lid 1 guid 0x1 ('a'):\n"
#define FDB "dump_ucast_routes: Switch 0x1\n"
#define JSON "{\"loom\": \"tables\", \"version\": 1,\n"
constexpr Bad bad_tables[] = {
    {"Empty", "", "bad: this is in no known form; expected forwarding tables: OpenSM's LFT dump"},
    {"Nothing", "hello\n", "bad: this is in no known form; expected forwarding tables"},
    {"AFabric", "Switch 8 \"S\"\n", "bad: this is a fabric (ibsim); expected forwarding tables"},
    {"AHostOrder", "0x0001\ta\n", "bad: this is a host order; expected forwarding tables"},
    {"LftHeaderWithoutRange", "Unicast lids of switch Lid 1 guid 0x1 ('a'):\n", "bad:1: expected \"Unicast lids [0-9]"},
    {"LftHeaderWithoutSwitch", "Unicast lids [0-9]\n", "bad:1: expected \"Unicast lids [0-9]"},
    {"LftHeaderWithoutGuidAndLid", "Unicast lids [0-9] of switch DR path 0,1 (a):\n",
     "bad:1: expected \"Unicast lids [0-9]"},
    {"LftHeaderGuidNotHex", "Unicast lids [0-9] of switch Lid 1 guid zzz (a):\n",
     "bad:1: expected \"Unicast lids [0-9]"},
    {"LftHeaderGuidTooLong", "Unicast lids [0-9] of switch guid 0x11112222333344445 (a):\n",
     "bad:1: expected \"Unicast"},
    {"LftHeaderGuidZero", "Unicast lids [0-9] of switch guid 0x0 (a):\n", "bad:1: expected \"Unicast"},
    {"LftHeaderLidTooLarge", "Unicast lids [0-9] of switch Lid 70000 guid 0x1 (a):\n", "bad:1: expected \"Unicast"},
    {"LftLidNotHex", LFT "0xzz 1\n", "bad:2: expected \"0xLID PORT\" with a hexadecimal LID, found \"0xzz 1\""},
    {"LftLidAlone", LFT "0x1\n", "bad:2: expected \"0xLID PORT\""},
    {"LftLidBeyondUnicast", LFT "0xc000 1\n", "bad:2: LID 0xc000 is no unicast LID; expected 0x0 to 0xbfff"},
    {"LftPortNotDecimal", LFT "0x1 x\n", "bad:2: expected \"0xLID PORT\" with a decimal port"},
    {"LftPortHex", LFT "0x1 0x2\n", "bad:2: expected \"0xLID PORT\" with a decimal port"},
    {"LftPortTooLarge", LFT "0x1 256\n", "bad:2: port 256 is no switch port"},
    {"LftPortHuge", LFT "0x1 99999999999999999999999\n", "bad:2: expected \"0xLID PORT\" with a decimal port"},
    {"LftTwoPortsForALid", LFT "0x1 1\n0x1 2\n", "bad:3: LID 0x0001 leaves by port 2 here but by port 1 before"},
    {"LftSwitchTwice", LFT LFT, "bad:2: switch 0x0000000000000001 was given before, at line 1"},
    {"LftSwitchTwiceByLid", "Unicast lids [0-9] of switch Lid 1:\nUnicast lids [0-9] of switch Lid 1:\n",
     "bad:2: switch with LID 1 was given before, at line 1"},
    {"LftStrayLine", LFT "x0001 001\n",
     "bad:2: expected \"0xLID PORT\", \"Unicast lids ...\" or \"N lids dumped\", found \"x0001 001\""},
    {"LftMulticast", "Multicast mlids [0xc000-0xc3ff] of switch Lid 1 guid 0x1 (a):\n",
     "bad:1: a multicast table; expected unicast"},
    {"FdbHeaderWithoutGuid", "dump_ucast_routes: Switch\ndump_ucast_routes: Switch x\n",
     "bad:2: expected \"dump_ucast_routes: Switch 0x"},
    {"FdbHeaderGuidZero", "dump_ucast_routes: Switch 0x0\n", "bad:1: expected \"dump_ucast_routes: Switch 0x"},
    {"FdbEntryBeforeSwitch", "0x0001 : 001\n" FDB, "bad:1: an entry before any switch"},
    {"FdbEntryWithoutColon", FDB "0x0001 001\n", "bad:2: expected \"0xLID : PORT : HOPS : OPTIMAL\""},
    {"FdbPortNotDecimal", FDB "0x0001 : x\n", "bad:2: expected \"0xLID : PORT"},
    {"FdbStrayLine", FDB "what\n", "bad:2: expected \"0xLID : PORT"},
    {"FdbLidBeyondUnicast", FDB "0xFFFF : 001\n", "bad:2: LID 0xffff is no unicast LID"},
    {"FdbPrivateTableUnnumbered", FDB "PLFT_NUM: x\n", "bad:2: expected \"PLFT_NUM: NUMBER\""},
    {"JsonCutOff", JSON "\"switches\": [", "bad:2: not JSON: syntax error"},
    {"JsonAfterwards", JSON "\"switches\": []}\n}", "bad:3: not JSON: syntax error"},
    {"JsonNoVersion", "{\"loom\": \"tables\", \"switches\": []}",
     "bad:1: expected \"loom\": \"tables\" and \"version\": 1"},
    {"JsonNewVersion", "{\"loom\": \"tables\",\n\"version\": 2\n}", "bad:2: version 2 of the table form; expected 1"},
    {"JsonNoSwitches", JSON "\"engine\": \"x\"}", "bad:2: expected \"switches\": [...]"},
    {"JsonSwitchesNoArray", JSON "\"switches\": 5}", "bad:2: \"switches\": expected an array, found a number"},
    {"JsonSwitchesTwice", JSON "\"switches\": [],\n\"switches\": []}", "bad:3: \"switches\" a second time"},
    {"JsonSwitchNoObject", JSON "\"switches\": [1]}", "bad:2: expected a switch as an object, found a number"},
    {"JsonNoGuid", JSON "\"switches\": [{}]}", "bad:2: a switch without \"guid\""},
    {"JsonGuidNumber", JSON "\"switches\": [{\"guid\": 1}]}", "bad:2: \"guid\": expected a string, found a number"},
    {"JsonGuidBad", JSON "\"switches\": [{\"guid\": \"1\"}]}", "bad:2: expected a GUID like"},
    {"JsonLidTooLarge", JSON "\"switches\": [{\"guid\": \"0x1\", \"lid\": 49152}]}", "bad:2: LID 49152 of a switch"},
    {"JsonLidNegative", JSON "\"switches\": [{\"guid\": \"0x1\", \"lid\": -1}]}",
     "bad:2: \"lid\": expected a number, found a negative"},
    {"JsonPortsNoBase64", JSON "\"switches\": [{\"guid\": \"0x1\",\n\"ports\": \"!\"}]}",
     "bad:3: \"ports\": expected base64, found \"!\""},
    {"JsonPortsStrayBits", JSON "\"switches\": [{\"guid\": \"0x1\",\n\"ports\": \"AB==\"}]}",
     "bad:3: \"ports\": expected base64"},
    {"JsonLanesTooFew", JSON "\"switches\": [{\"guid\": \"0x1\", \"ports\": \"AAAA\", \"lanes\": \"AA==\"}]}",
     "bad:2: 1 lanes for 3 ports"},
    {"JsonLaneTooHigh", JSON "\"switches\": [{\"guid\": \"0x1\", \"ports\": \"AA==\", \"lanes\": \"Dw==\"}]}",
     "bad:2: virtual lane 15"},
    {"JsonSwitchTwice", JSON "\"switches\": [{\"guid\": \"0x1\"},\n{\"guid\": \"0x1\"}]}",
     "bad:3: switch 0x0000000000000001 was given before, at line 2"},
    {"JsonDestinationShort", JSON "\"destinations\": [[1, 1]]}",
     "bad:2: expected a destination as [LID, COUNT, \"0xGUID\"]"},
    {"JsonDestinationOrder", JSON "\"destinations\": [[\"0x1\"]]}",
     "bad:2: expected destinations as [LID, COUNT, \"0xGUID\"], found a string"},
    {"JsonDestinationCount", JSON "\"destinations\": [[49151, 2, \"0x1\"]]}", "bad:2: destination [49151, 2, ...]"},
    {"JsonDestinationWraps", JSON "\"destinations\": [[1, 18446744073709551615, \"0x1\"]]}",
     "bad:2: destination [1, 18446744073709551615, ...]"},
    {"JsonEngineNull", JSON "\"engine\": null}", "bad:2: \"engine\": expected a string, found null"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadTable, testing::ValuesIn(bad_tables),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(BadTables, JsonRowBeyondUnicastIsAnError) {
    const std::string row((49152u / 3 + 1) * 4, 'A');

    EXPECT_THROW((void)parse_tables(JSON "\"switches\": [{\"guid\": \"0x1\", \"ports\": \"" + row + "\"}]}", "t"),
                 ParseError);
}

TEST(BadTables, AShortTextCannotAskForGigabytes) {
    std::string text;
    for (int i = 1; i < 8000; ++i) text += fmt::format("dump_ucast_routes: Switch {:#x}\n0xBFFF : 1\n", i);

    EXPECT_THROW((void)parse_tables(text, "t"), ParseError);
}

}  // namespace
}  // namespace loom::routing
