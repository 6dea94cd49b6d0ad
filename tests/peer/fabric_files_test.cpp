// Fabric files between ibsim, OpenSM, the diagnostic tools and Loomband: what one writes the other reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "loom/base/file.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::peer {
namespace {

using fabric::Discovery;
using fabric::Fabric;
using fabric::Format;
using fabric::NodeKind;
using testing::IsEmpty;

// A tree with cables of many rates and one host that has two ports and a difficult name.
Fabric motley() {
    fabric::Pgft shape = fabric::kary_tree(3, 2);
    shape.hosts = 8;
    Fabric result = fabric::pgft(shape);
    using fabric::LinkRate, fabric::Speed, fabric::Width;
    const std::vector<LinkRate> rates{{Width::x4, Speed::qdr},  {Width::x1, Speed::sdr}, {Width::x4, Speed::ddr},
                                      {Width::x12, Speed::qdr}, {Width::x4, Speed::fdr}, {Width::x4, Speed::edr}};
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < result.port_count(); ++i)
        if (fabric::Port& port = result.port(PortIndex{i}); port.connected() && port.peer.value > i)
            port.rate = result.port(port.peer).rate = rates[next++ % rates.size()];
    const NodeId host = result.add_node(NodeKind::host, 2, "two [ports] 'and' = # @ a name");
    for (const NodeId leaf : result.nodes_of(NodeKind::switch_))
        for (const fabric::Port& port : result.ports(leaf))
            if (!port.connected() && !result.port(host, PortNum{2}).connected())
                result.connect(leaf, port.number, host, PortNum{2}, rates[0]);
    result.assign_lids();
    return result;
}

std::string text_of(const Fabric& fabric, Format format, Discovery discovery = Discovery::plain) {
    std::ostringstream out;
    write_fabric(fabric, out, format, {discovery});
    return out.str();
}

// Sorted, since each tool has its own order of nodes; without comment lines, which carry the date.
std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> result;
    Lines lines(text);
    for (std::string_view line; lines.next(line);)
        if (!line.empty() && line.front() != '#') result.emplace_back(line);
    std::sort(result.begin(), result.end());
    return result;
}

// The tool passes over ports of adapters without a cable; we list them, so that none is lost.
std::vector<std::string> without_open_adapter_ports(std::vector<std::string> lines) {
    std::erase_if(lines, [](const std::string& line) {
        return line.starts_with("CA ") && line.find(" - ") == std::string::npos;
    });
    return lines;
}

class FabricFiles : public testing::Test {
protected:
    Fabric model_ = motley();
    Subnet subnet_{text_of(model_, Format::ibsim)};
    OpensmRun run_ = subnet_.opensm({.engine = "minhop"});
};

TEST_F(FabricFiles, TheSimulatorTakesOursAndTheToolsPrintWhatWeWould) {
    ASSERT_TRUE(run_.came_up);
    const std::vector<std::pair<const char*, Discovery>> forms{
        {"-p", Discovery::ports}, {"-f", Discovery::full}, {"-g", Discovery::grouped}};
    const Outcome plain = subnet_.tool({"ibnetdiscover"});
    EXPECT_EQ(lines_of(plain.output), lines_of(text_of(model_, Format::ibnetdiscover)));
    for (const auto& [option, discovery] : forms) {
        const Outcome outcome = subnet_.tool({"ibnetdiscover", option});
        EXPECT_TRUE(outcome.ok()) << outcome.errors;
        EXPECT_EQ(lines_of(outcome.output),
                  without_open_adapter_ports(lines_of(text_of(model_, Format::ibnetdiscover, discovery))))
            << option;

        const fabric::Reading reading = fabric::parse_fabric(outcome.output, option);
        EXPECT_EQ(reading.format, Format::ibnetdiscover);
        EXPECT_EQ(reading.fabric.node_count(), model_.node_count());
        EXPECT_EQ(reading.fabric.link_count(), model_.link_count());
    }
}

TEST_F(FabricFiles, OpensmListsTheSubnetAsWeDo) {
    ASSERT_TRUE(run_.came_up);

    const fabric::Reading theirs = fabric::parse_fabric(run_.subnet, "opensm-subnet.lst");
    const fabric::Reading ours = fabric::parse_fabric(text_of(model_, Format::subnet_lst), "ours");

    EXPECT_EQ(theirs.format, Format::subnet_lst);
    EXPECT_THAT(theirs.remarks, IsEmpty());
    EXPECT_EQ(lines_of(text_of(theirs.fabric, Format::subnet_lst)), lines_of(text_of(ours.fabric, Format::subnet_lst)));
}

}  // namespace
}  // namespace loom::peer
