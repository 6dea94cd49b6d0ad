// What holds for all formats: names, recognition by content, limits of time and memory.
#include <unistd.h>

#include <filesystem>

#include "fabric/random_fabric.hpp"
#include "loom/base/file.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

TEST(Formats, EachHasAName) {
    EXPECT_EQ(formats().size(), 8u);
    for (const FormatInfo& info : formats()) {
        EXPECT_EQ(format_from_name(info.name), info.format);
        EXPECT_EQ(name(info.format), info.name);
        EXPECT_FALSE(info.summary.empty());
    }
    EXPECT_EQ(format_from_name("subnet-lst"), Format::subnet_lst);
    EXPECT_EQ(format_from_name("cuneiform"), std::nullopt);
}

TEST(Formats, AreGuessedFromFileNames) {
    EXPECT_EQ(format_from_path("dir.net/a.json"), Format::json);
    EXPECT_EQ(format_from_path("a.ibnetdiscover"), Format::ibnetdiscover);
    EXPECT_EQ(format_from_path("a.net"), Format::ibsim);
    EXPECT_EQ(format_from_path("opensm-subnet.lst"), Format::subnet_lst);
    EXPECT_EQ(format_from_path("ibdiagnet2.db_csv"), Format::db_csv);
    EXPECT_EQ(format_from_path("topology.conf"), Format::slurm);
    EXPECT_EQ(format_from_path("a.gv"), Format::dot);
    EXPECT_EQ(format_from_path("a.topo"), Format::topo);
    EXPECT_EQ(format_from_path("README"), std::nullopt);
}

TEST(Formats, AreRecognisedByContent) {
    Fabric fabric;
    const NodeId a = fabric.add_node(NodeKind::switch_, 8, "a"), h = fabric.add_node(NodeKind::host, 1, "h");
    fabric.connect(a, PortNum{1}, h, PortNum{1});
    for (const FormatInfo& info : formats())
        EXPECT_EQ(format_from_content(written(fabric, info.format)), info.format) << info.name;
    EXPECT_EQ(format_from_content(written(fabric, Format::ibnetdiscover, {Discovery::ports})), Format::ibnetdiscover);
    EXPECT_EQ(format_from_content("dear reader\n"), std::nullopt);
    EXPECT_EQ(format_from_content(""), std::nullopt);
}

TEST(Formats, TextOfNoKnownKindIsRefused) {
    EXPECT_THROW((void)parse_fabric("dear reader\n", "letter"), ParseError);
    EXPECT_THROW((void)read_fabric("no/such/file"), IoError);
}

TEST(Formats, FilesAreReadByTheirContent) {
    const auto path = std::filesystem::temp_directory_path() / ("loom_formats_test_" + std::to_string(::getpid()));
    const Fabric fabric = random_fabric(7);
    write_file(path, written(fabric, Format::json));

    const Reading reading = read_fabric(path);
    std::filesystem::remove(path);

    expect_equal(fabric, reading.fabric);
}

TEST(Formats, EmptyFabricsAreWrittenInEveryFormat) {
    for (const FormatInfo& info : formats()) EXPECT_NO_THROW((void)written(Fabric{}, info.format)) << info.name;
}

// Two levels, every port in use.
Fabric tree(unsigned leaves) {
    Fabric fabric;
    std::vector<NodeId> spines;
    for (unsigned s = 0; s < 32; ++s)
        spines.push_back(
            fabric.add_node(NodeKind::switch_, static_cast<std::uint8_t>(leaves), "spine" + std::to_string(s)));
    for (unsigned l = 0; l < leaves; ++l) {
        const NodeId leaf = fabric.add_node(NodeKind::switch_, 64, "leaf" + std::to_string(l));
        for (unsigned p = 0; p < 32; ++p) {
            const NodeId host =
                fabric.add_node(NodeKind::host, 1, "a-host-with-a-long-name-" + std::to_string(l * 32 + p) + " mlx5_0");
            fabric.connect(leaf, PortNum{static_cast<std::uint8_t>(p + 1)}, host, PortNum{1});
            fabric.connect(leaf, PortNum{static_cast<std::uint8_t>(p + 33)}, spines[p],
                           PortNum{static_cast<std::uint8_t>(l + 1)});
        }
    }
    fabric.assign_lids();
    return fabric;
}

TEST(Formats, AFabricStaysBelow200BytesAPort) {
    const Fabric fabric = tree(200);
    const Reading reading = round_trip(fabric, Format::ibnetdiscover);

    std::size_t ports = 0;  // on faceplates: port 0 of a switch is none
    for (const Node& node : fabric.nodes()) ports += node.ports;
    EXPECT_LT(fabric.memory_bytes(), 200 * ports);
    EXPECT_LT(reading.fabric.memory_bytes(), 200 * ports);
    EXPECT_GT(fabric.memory_bytes(), fabric.port_count() * sizeof(Port));
}

TEST(Formats, ALargeTreeSurvivesEveryFormat) {
    const Fabric fabric = tree(100);
    for (const FormatInfo& info : formats()) {
        const Reading reading = round_trip(fabric, info.format);

        EXPECT_EQ(reading.fabric.node_count(), fabric.node_count()) << info.name;
        EXPECT_EQ(reading.fabric.link_count(), fabric.link_count()) << info.name;
    }
}

// Cuts and flips in valid files: whatever comes, it is a Reading or a ParseError.
TEST(Formats, DamagedFilesAreReadOrRefused) {
    std::size_t refused = 0, accepted = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        for (const FormatInfo& info : formats()) {
            Random random(seed);
            const Fabric fabric = random_fabric(seed);
            std::string text = written(fabric, info.format, {static_cast<Discovery>(seed % 4)});
            for (std::uint64_t flips = 0; flips <= seed % 3 && !text.empty(); ++flips) {
                const auto at = random.below(static_cast<std::uint32_t>(text.size()));
                if (random.below(3) == 0)
                    text.erase(at, random.below(20));
                else
                    text[at] = static_cast<char>(random.below(256));
            }
            try {
                const Reading reading = parse_fabric(text, "damaged", info.format);
                accepted += 1;
                EXPECT_EQ(reading.format, info.format);
            } catch (const ParseError& error) {
                refused += 1;
                EXPECT_EQ(error.file(), "damaged");
            }
        }
    EXPECT_GT(refused, 30u);
    EXPECT_GT(accepted, 30u);
}

}  // namespace
}  // namespace loom::fabric
