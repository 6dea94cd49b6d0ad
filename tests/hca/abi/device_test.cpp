#include "hca/abi/device_test.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using loom::test::OpenDevice;
using Device = OpenDevice;

// Before the first call, which reads it.
[[maybe_unused]] const int hcas_set = setenv("LOOM_VERBS_HCAS", "ib,roce:127.0.0.1", 1);

#ifndef LOOM_SANITIZED  // sanitizers end a program whose memory does
TEST_F(Device, SaysSoWhenThereIsNoMemory) {
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(context, &device), 0);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    std::ifstream usage("/proc/self/statm");
    rlim_t pages = 0;
    usage >> pages;
    const rlimit little{pages * 4096 + (rlim_t{32} << 20), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);

    ibv_cq* cq = ibv_create_cq(context, device.max_cqe, nullptr, nullptr, 0);
    const int error = errno;
    ibv_cq* small = ibv_create_cq(context, 16, nullptr, nullptr, 0);

    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_EQ(cq, nullptr);
    EXPECT_EQ(error, ENOMEM);
    ASSERT_NE(small, nullptr);
    EXPECT_EQ(ibv_destroy_cq(small), 0);
}
#endif

TEST_F(Device, HasANameAGuidAndAnIndex) {
    int count = 0;
    ibv_device** again = ibv_get_device_list(&count);

    EXPECT_EQ(count, 2);
    EXPECT_EQ(again[0], list[0]);
    EXPECT_EQ(again[2], nullptr);
    EXPECT_STREQ(ibv_get_device_name(list[0]), "loom0");
    EXPECT_EQ(ibv_get_device_index(list[0]), 0);
    EXPECT_NE(ibv_get_device_guid(list[0]), 0u);
    EXPECT_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
    ibv_free_device_list(again);
}

TEST_F(Device, TellsWhatItCan) {
    ibv_device_attr attr{};

    ASSERT_EQ(ibv_query_device(context, &attr), 0);

    EXPECT_EQ(attr.node_guid, ibv_get_device_guid(list[0]));
    EXPECT_EQ(attr.phys_port_cnt, 1);
    EXPECT_EQ(attr.atomic_cap, IBV_ATOMIC_HCA);
    EXPECT_GE(attr.max_qp_wr, 4096);
    EXPECT_EQ(attr.max_mw, 0);
    EXPECT_EQ(attr.device_cap_flags & (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC), 0u);
}

TEST_F(Device, FillsStructsOfEveryAge) {
    const verbs_context* verbs = verbs_get_ctx(context);
    ibv_device_attr_ex attr;
    std::memset(&attr, 0x55, sizeof attr);
    constexpr std::size_t old_size = offsetof(ibv_device_attr_ex, odp_caps);
    std::vector<char> newer(sizeof attr + 64, 0x55);

    EXPECT_EQ(verbs->query_device_ex(context, nullptr, &attr, 16), EINVAL);
    ASSERT_EQ(verbs->query_device_ex(context, nullptr, &attr, old_size), 0);
    ASSERT_EQ(
        verbs->query_device_ex(context, nullptr, reinterpret_cast<ibv_device_attr_ex*>(newer.data()), newer.size()), 0);

    EXPECT_EQ(attr.orig_attr.phys_port_cnt, 1);
    EXPECT_EQ(attr.completion_timestamp_mask, 0x5555555555555555u);
    EXPECT_THAT(std::vector<char>(newer.end() - 64, newer.end()), testing::Each(0));
}

TEST_F(Device, HasOnePort) {
    ibv_port_attr attr{};

    ASSERT_EQ(ibv_query_port(context, 1, &attr), 0);

    EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(attr.lid, 1);
    EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
    EXPECT_EQ(attr.active_mtu, IBV_MTU_4096);
    EXPECT_EQ(attr.pkey_tbl_len, 1);
    EXPECT_GE(attr.gid_tbl_len, 1);
    EXPECT_EQ(ibv_query_port(context, 0, &attr), EINVAL);
    EXPECT_EQ(ibv_query_port(context, 2, &attr), EINVAL);
}

#undef ibv_query_port
TEST_F(Device, OldProgramsGetAPortWithoutTheLastFields) {
    ibv_port_attr attr;
    std::memset(&attr, 0x55, sizeof attr);

    ASSERT_EQ(ibv_query_port(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(&attr)), 0);

    EXPECT_EQ(attr.lid, 1);
    EXPECT_EQ(attr.port_cap_flags2, 0x5555);
}

TEST_F(Device, ShowsItsGidsThreeWays) {
    ibv_gid gid{};
    ibv_gid_entry entry{}, table[4]{};

    ASSERT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
    ASSERT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
    ASSERT_EQ(ibv_query_gid_table(context, table, 4, 0), 1);

    EXPECT_EQ(std::memcmp(gid.raw, entry.gid.raw, 16), 0);
    EXPECT_EQ(std::memcmp(gid.raw, table[0].gid.raw, 16), 0);
    EXPECT_EQ(gid.raw[0], 0xfe);
    EXPECT_EQ(gid.global.interface_id, ibv_get_device_guid(list[0]));
    EXPECT_EQ(entry.port_num, 1u);
    EXPECT_EQ(entry.gid_type, unsigned{IBV_GID_TYPE_IB});
}

TEST_F(Device, RefusesGidsThatAreNotThere) {
    ibv_gid gid{};
    ibv_gid_entry entry{};

    errno = 0;
    EXPECT_EQ(ibv_query_gid(context, 1, 99, &gid), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_query_gid(context, 2, 0, &gid), -1);
    EXPECT_EQ(ibv_query_gid(context, 1, -1, &gid), -1);
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 99, &entry, 0), EINVAL);
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EOPNOTSUPP);
    EXPECT_EQ(ibv_query_gid_table(context, &entry, 0, 0), -EINVAL);
}

TEST_F(Device, HasTheDefaultPartition) {
    __be16 pkey = 0;

    EXPECT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
    EXPECT_EQ(pkey, htons(0xffff));
    EXPECT_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, htons(0xffff)), 0);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, htons(0x8001)), -1);
}

TEST_F(Device, OnEthernetHasAnAddressAndNoLid) {
    ibv_context* ethernet = ibv_open_device(list[1]);
    ASSERT_NE(ethernet, nullptr);
    ibv_port_attr port{};
    ibv_gid_entry entry{};

    EXPECT_EQ(verbs_get_ctx(ethernet)->query_port(ethernet, 1, &port, sizeof port), 0);
    EXPECT_EQ(ibv_query_gid_ex(ethernet, 1, 0, &entry, 0), 0);

    EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    EXPECT_EQ(port.lid, 0);
    EXPECT_EQ(port.flags, IBV_QPF_GRH_REQUIRED);
    EXPECT_EQ(port.port_cap_flags & IBV_PORT_IP_BASED_GIDS, unsigned{IBV_PORT_IP_BASED_GIDS});
    EXPECT_EQ(entry.gid_type, unsigned{IBV_GID_TYPE_ROCE_V2});
    EXPECT_THAT(std::vector(entry.gid.raw + 10, entry.gid.raw + 16), testing::ElementsAre(255, 255, 127, 0, 0, 1));
    EXPECT_NE(entry.ndev_ifindex, 0u);
    EXPECT_EQ(ibv_close_device(ethernet), 0);
}

TEST_F(Device, OnEthernetAddressesAreGlobal) {
    ibv_context* ethernet = ibv_open_device(list[1]);
    ibv_pd* pd = ibv_alloc_pd(ethernet);
    ibv_ah_attr attr{};
    attr.port_num = 1;
    attr.dlid = 1;
    // An IPv4 header in the last 20 bytes of the space before a datagram.
    std::uint8_t space[40]{};
    space[20] = 0x45;
    space[21] = 106;
    const std::uint8_t from[4] = {127, 0, 0, 7}, to[4] = {127, 0, 0, 1};
    std::memcpy(space + 32, from, 4);
    std::memcpy(space + 36, to, 4);
    ibv_wc wc{};
    wc.wc_flags = IBV_WC_GRH;
    ibv_ah_attr made{};

    errno = 0;
    EXPECT_EQ(ibv_create_ah(pd, &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_init_ah_from_wc(ethernet, 1, &wc, reinterpret_cast<ibv_grh*>(space), &made), 0);
    EXPECT_EQ(made.grh.dgid.raw[15], 7);
    EXPECT_EQ(made.grh.traffic_class, 106);
    ibv_ah* ah = ibv_create_ah_from_wc(pd, &wc, reinterpret_cast<ibv_grh*>(space), 1);
    EXPECT_NE(ah, nullptr);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(ethernet), 0);
}

#ifndef __SANITIZE_THREAD__  // which lets no child of a fork start threads
// Waits until all other threads of this process sleep: the address sanitizer's allocator has a lock that one of them
// may hold, and in the child of a fork for ever.
void await_sleepers() {
    const auto sleeps = [](const std::filesystem::directory_entry& task) {
        std::ifstream file(task.path() / "stat");
        std::string text;
        std::getline(file, text);
        const std::size_t name_end = text.rfind(')');
        return task.path().filename() == std::to_string(getpid()) || text.substr(name_end + 1, 2) == " S";
    };
    const std::filesystem::path tasks = "/proc/self/task";
    while (!std::all_of(std::filesystem::directory_iterator(tasks), {}, sleeps)) sched_yield();
}

TEST_F(Device, OfAParentGivesErrorsInTheChildWhichMayOpenAnew) {
    await_sleepers();
    const pid_t child = fork();
    if (child == 0) {
        ibv_device_attr attr{};
        bool right = ibv_alloc_pd(context) == nullptr && ibv_query_device(context, &attr) == 0;
        ibv_context* anew = ibv_open_device(list[0]);
        ibv_pd* pd = anew == nullptr ? nullptr : ibv_alloc_pd(anew);
        right = right && pd != nullptr && ibv_dealloc_pd(pd) == 0 && ibv_close_device(anew) == 0;
        _exit(right ? 0 : 1);
    }
    ASSERT_GT(child, 0);

    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ibv_pd* pd = ibv_alloc_pd(context);
    EXPECT_NE(pd, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}
#endif

TEST_F(Device, HasAClock) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | IBV_VALUES_MASK_RESERVED;

    EXPECT_EQ(ibv_query_rt_values_ex(context, &values), 0);

    EXPECT_EQ(values.comp_mask, unsigned{IBV_VALUES_MASK_RAW_CLOCK});
    EXPECT_GT(values.raw_clock.tv_sec, 0);
}

TEST_F(Device, AnswersLikeAnAdapterWithoutWhatIsNotEmulated) {
    ibv_pd* pd = ibv_alloc_pd(context);
    ASSERT_NE(pd, nullptr);
    const auto refused = [](const void* object) {
        const bool as_expected = object == nullptr && errno == EOPNOTSUPP;
        errno = 0;
        return as_expected;
    };
    ibv_td_init_attr thread{};
    ibv_parent_domain_init_attr parent{};
    ibv_alloc_dm_attr device_memory{};
    ibv_xrcd_init_attr xrc{};
    ibv_wq_init_attr work_queue{};
    ibv_counters_init_attr counters{};

    errno = 0;
    EXPECT_TRUE(refused(ibv_alloc_mw(pd, IBV_MW_TYPE_1)));
    EXPECT_TRUE(refused(ibv_alloc_td(context, &thread)));
    EXPECT_TRUE(refused(ibv_alloc_parent_domain(context, &parent)));
    EXPECT_TRUE(refused(ibv_alloc_dm(context, &device_memory)));
    EXPECT_TRUE(refused(ibv_open_xrcd(context, &xrc)));
    EXPECT_TRUE(refused(ibv_create_wq(context, &work_queue)));
    EXPECT_TRUE(refused(ibv_create_counters(context, &counters)));
    EXPECT_TRUE(refused(ibv_alloc_null_mr(pd)));
    EXPECT_TRUE(refused(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0)));
    EXPECT_TRUE(refused(ibv_import_pd(context, 1)));
    EXPECT_TRUE(refused(ibv_import_device(-1)));
    EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EOPNOTSUPP);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Device, NeedsNoPreparationForForks) {
    EXPECT_EQ(ibv_fork_init(), 0);
    EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

TEST_F(Device, RegistersOnlyWhatMayBeRegistered) {
    ibv_pd* pd = ibv_alloc_pd(context);
    std::vector<char> memory(8192);
    const auto error_of = [&](void* address, std::size_t length, unsigned access) {
        ibv_mr* mr = ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uintptr_t>(address), access);
        if (mr == nullptr) return errno;
        ibv_dereg_mr(mr);
        return 0;
    };

    EXPECT_EQ(error_of(memory.data(), 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), 0);
    EXPECT_EQ(error_of(memory.data(), 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING), 0);
    EXPECT_EQ(error_of(memory.data(), 8192, IBV_ACCESS_REMOTE_WRITE), EINVAL);
    EXPECT_EQ(error_of(memory.data(), 8192, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
    EXPECT_EQ(error_of(memory.data(), 8192, 1u << 15), EINVAL);
    EXPECT_EQ(error_of(memory.data(), 8192, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
    EXPECT_EQ(error_of(nullptr, 4096, 0), EFAULT);
    EXPECT_EQ(error_of(memory.data(), ~std::size_t{0}, 0), EINVAL);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

}  // namespace
