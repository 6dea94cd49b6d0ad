#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

TEST(Json, LosesNothing) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Fabric fabric = random_fabric(seed, {.names = Names::bytes});
        fabric.title = std::string("odd \0 \xff \"title\"\n", 16);
        fabric.port(PortIndex{static_cast<std::uint32_t>(seed % fabric.port_count())}).guid = Guid{seed};
        fabric.port(PortIndex{static_cast<std::uint32_t>(seed % fabric.port_count())}).rate = {Width::x2, Speed::xdr};
        fabric.node(NodeId{0}).chassis_slot = "\xc3\x28";

        const Reading reading = parse_fabric(written(fabric, Format::json), "test");

        expect_equal(fabric, reading.fabric);
        EXPECT_EQ(reading.format, Format::json);
        EXPECT_TRUE(reading.remarks.empty());
    }
}

TEST(Json, KeepsUtf8Readable) {
    Fabric fabric;
    fabric.add_node(NodeKind::host, 1, "n\xc3\xb6rd");

    const std::string text = written(fabric, Format::json);

    EXPECT_NE(text.find("n\xc3\xb6rd"), std::string::npos);
}

TEST(Json, TakesKeysInAnyOrder) {
    const auto reading = parse_fabric(R"({"links":[[0,1,1,1,"4xHDR"]],
        "nodes":[{"guid":"0x1","ports":1,"kind":"host"},{"kind":"host","ports":1,"guid":"0x9","name":"b"}],"loom":"fabric"})",
                                      "test");

    EXPECT_EQ(reading.fabric.link_count(), 1u);
    EXPECT_EQ(to_string(reading.fabric.port(NodeId{1}, PortNum{1}).rate), "4xHDR");
}

TEST(Json, EmptyFabric) {
    const Reading reading = round_trip(Fabric{}, Format::json);

    EXPECT_EQ(reading.fabric.node_count(), 0u);
}

const std::string two_hosts = R"({"loom":"fabric",
"nodes":[{"kind":"host","ports":1,"guid":"0x10"},
{"kind":"host","ports":1,"guid":"0x20"}],
)";

TEST(Json, RefusesWhatIsNoJson) {
    EXPECT_REFUSED("{\"loom\":\n\"fabric\",,}", Format::json, 2, "not JSON");
    EXPECT_REFUSED("{\"loom\":\"fabric\"", Format::json, 1, "not JSON");
    EXPECT_REFUSED("", Format::json, 1, "not JSON");
    EXPECT_REFUSED("[]", Format::json, 1, "expected an object");
    EXPECT_REFUSED("{}", Format::json, 0, "expected \"loom\":\"fabric\"");
}

TEST(Json, RefusesOtherVersions) {
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"version\":2}", Format::json, 2, "expected 1");
}

TEST(Json, RefusesWrongTypes) {
    EXPECT_REFUSED("{\"loom\":\n1}", Format::json, 2, "a number is not expected");
    EXPECT_REFUSED("{\"loom\":\n\"tables\"}", Format::json, 2, "expected \"loom\":\"fabric\"");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[[1]]}", Format::json, 2, "a list is not expected");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[null]}", Format::json, 2, "null");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"links\":[[1,2,3,4.5]]}", Format::json, 2, "whole number");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"links\":[[-1]]}", Format::json, 2, "not negative");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"links\":[{}]}", Format::json, 2, "an object is not expected");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"colour\":[]}", Format::json, 2, "colour");
}

TEST(Json, RefusesBadNodes) {
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"kind\":\"host\",\"ports\":1}]}", Format::json, 2,
                   "expected each node");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"kind\":\"cat\"}]}", Format::json, 2, "switch, host or router");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"ports\":255}]}", Format::json, 2, "at most 254");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"guid\":\"10\"}]}", Format::json, 2, "expected a GUID");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"kind\":\"host\",\"ports\":1,\"guid\":\"0x0\"}]}", Format::json,
                   2, "not zero");
    EXPECT_REFUSED("{\"loom\":\"fabric\",\n\"nodes\":[{\"name_hex\":\"4g\"}]}", Format::json, 2, "hexadecimal");
    EXPECT_REFUSED(
        "{\"loom\":\"fabric\",\n\"nodes\":[{\"kind\":\"host\",\"ports\":1,\"guid\":\"0x1\"},\n{\"kind\":\"host\","
        "\"ports\":1,\"guid\":\"0x1\"}]}",
        Format::json, 3, "two nodes have the GUID");
}

TEST(Json, RefusesBadLinks) {
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,2,1,\"4xQDR\"]]}", Format::json, 4, "no node 2");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,1,2,\"4xQDR\"]]}", Format::json, 4, "has no port 2");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,0,1,1,\"4xQDR\"]]}", Format::json, 4, "does not exist");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,0,1,\"4xQDR\"]]}", Format::json, 4, "cannot be connected to itself");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,1,1,\"4xQDR\"],\n[1,1,0,1,\"4xQDR\"]]}", Format::json, 5,
                   "already connected");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,1,1,\"fast\"]]}", Format::json, 4, "expected a rate");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,1,1,7]]}", Format::json, 4, "expected a rate");
    EXPECT_REFUSED(two_hosts + "\"links\":[[0,1,1]]}", Format::json, 4, "expected [node, port");
    EXPECT_REFUSED(two_hosts + "\"lids\":[[0,1,70000,0]]}", Format::json, 4, "LID of at most");
    EXPECT_REFUSED(two_hosts + "\"lids\":[[0,1,1,0,1,1,1,1,1]]}", Format::json, 4, "too long");
    EXPECT_REFUSED(two_hosts + "\"port_guids\":[[0,1,\"x\"]]}", Format::json, 4, "expected a GUID");
}

TEST(Json, SurvivesDeepNesting) {
    const std::string deep(200'000, '[');

    EXPECT_REFUSED("{\"loom\":" + deep, Format::json, 1, "a list is not expected");
}

TEST(Json, SaysWhenTheFileEndsEarly) {
    std::ostringstream text;
    Fabric fabric;
    fabric.connect(fabric.add_node(NodeKind::switch_, 4, "a"), PortNum{1}, fabric.add_node(NodeKind::switch_, 4, "b"),
                   PortNum{1});
    write_fabric(fabric, text, Format::json);
    const std::string whole = text.str();

    for (const std::size_t length : {whole.size() / 3, whole.size() / 2, whole.size() - 3}) try {
            (void)parse_fabric(whole.substr(0, length), "cut.json");
            ADD_FAILURE() << "read " << length << " of " << whole.size() << " bytes";
        } catch (const ParseError& error) {
            EXPECT_NE(std::string(error.what()).find("the file ends early"), std::string::npos) << error.what();
        }
}

}  // namespace
}  // namespace loom::fabric
