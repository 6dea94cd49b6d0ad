#include "hca/device/sysfs.hpp"

#include <gtest/gtest.h>

namespace {

using namespace loom::hca;
using Kind = SysfsNode::Kind;

Config two_hcas() {
    return read_config([](loom::Setting setting) -> std::optional<std::string> {
        if (setting != loom::Setting::verbs_hcas) return std::nullopt;
        return "ib,roce:127.0.0.9";
    });
}

TEST(Sysfs, ShowsAnAdapterAsTheKernelWould) {
    const Config config = two_hcas();
    const auto text = [&](const std::string& name) {
        return sysfs_node(config, "/sys/class/infiniband/loom0/" + name).text;
    };

    EXPECT_EQ(text("node_type"), "1: CA\n");
    EXPECT_EQ(text("ports/1/state"), "4: ACTIVE\n");
    EXPECT_EQ(text("ports/1/lid"), "0x1\n");
    EXPECT_EQ(text("ports/1/link_layer"), "InfiniBand\n");
    EXPECT_EQ(text("ports/1/gid_attrs/types/0"), "IB/RoCE v1\n");
    EXPECT_EQ(text("ports/1/pkeys/0"), "0xffff\n");
    EXPECT_EQ(text("ports/1/gids/0").substr(0, 20), "fe80:0000:0000:0000:");
}

TEST(Sysfs, ShowsWhatIsOtherOnEthernet) {
    const Config config = two_hcas();
    const auto text = [&](const std::string& name) {
        return sysfs_node(config, "/sys/class/infiniband/loom1/" + name).text;
    };

    EXPECT_EQ(text("ports/1/lid"), "0x0\n");
    EXPECT_EQ(text("ports/1/link_layer"), "Ethernet\n");
    EXPECT_EQ(text("ports/1/gid_attrs/types/0"), "RoCE v2\n");
    EXPECT_EQ(text("ports/1/gid_attrs/ndevs/0"), "lo\n");
    EXPECT_EQ(text("ports/1/gids/0"), "0000:0000:0000:0000:0000:ffff:7f00:0009\n");
}

TEST(Sysfs, TellsFoldersFilesAndDevicesApart) {
    const Config config = two_hcas();

    EXPECT_EQ(sysfs_node(config, "/sys/class/infiniband/loom0").kind, Kind::folder);
    EXPECT_EQ(sysfs_node(config, "/sys/class/infiniband/loom0/").kind, Kind::folder);
    EXPECT_EQ(sysfs_node(config, "/sys/class/infiniband/loom0/ports/1").kind, Kind::folder);
    EXPECT_EQ(sysfs_node(config, "/sys/class/infiniband_verbs/uverbs1/ibdev").text, "loom1\n");
    EXPECT_EQ(sysfs_node(config, "/dev/infiniband/uverbs1").kind, Kind::device);
    EXPECT_EQ(sysfs_node(config, "/dev/infiniband/uverbs1").minor, 193u);
}

TEST(Sysfs, ShowsCounters) {
    const Config config = two_hcas();
    const auto text = [&](const std::string& name) {
        return sysfs_node(config, "/sys/class/infiniband/loom0/ports/1/" + name).text;
    };

    EXPECT_EQ(text("counters/port_xmit_data"), "0\n");
    EXPECT_EQ(text("counters/port_rcv_packets"), "0\n");
    EXPECT_EQ(text("hw_counters/retransmitted"), "0\n");
    EXPECT_EQ(text("hw_counters/nonesuch"), "");
    EXPECT_EQ(text("counters/retransmitted"), "");
}

TEST(Sysfs, LeavesEverythingElseToTheKernel) {
    const Config config = two_hcas();

    for (const char* path :
         {"/sys/class/infiniband", "/sys/class/infiniband/mlx5_0", "/sys/class/infiniband/loom2",
          "/sys/class/infiniband/loom", "/sys/class/infiniband/loom00", "/sys/class/infiniband/loom0x",
          "/sys/class/infiniband/loom0/ports/2", "/sys/class/infiniband/loom0/ports/1/gids/1",
          "/sys/class/infiniband_verbs/uverbs2", "/dev/infiniband/uverbs2", "/dev/infiniband/uverbs0/x",
          "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs99999999999", "/etc/passwd"})
        EXPECT_EQ(sysfs_node(config, path).kind, Kind::none) << path;
}

TEST(Sysfs, SeesByTheBeginningOfAPathThatItIsNone) {
    EXPECT_TRUE(may_be_sysfs("/sys/class/infiniband/loom0"));
    EXPECT_TRUE(may_be_sysfs("/dev/infiniband/uverbs0"));
    EXPECT_FALSE(may_be_sysfs("/sys/class/net"));
    EXPECT_FALSE(may_be_sysfs(""));
    EXPECT_FALSE(may_be_sysfs(nullptr));
}

}  // namespace
