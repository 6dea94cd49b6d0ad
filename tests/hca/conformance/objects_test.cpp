// Objects: who holds whom, what queries answer, what the device does not have.
#include <sys/mman.h>

#include <cstring>
#include <set>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class Objects : public Bed {};

TEST_F(Objects, AProtectionDomainOutlivesWhatStandsOnIt) {
    const auto busy = [](ibv_pd* domain) { return ibv_dealloc_pd(domain) == EBUSY; };
    Pd own(ibv_alloc_pd(context.get()));
    {
        const Buffer memory = buffer(16, 0, every_access, own.get());
        EXPECT_TRUE(busy(own.get())) << "memory";
    }
    {
        NodeOptions options;
        options.pd = own.get();
        const Node qp = node(options);
        EXPECT_TRUE(busy(own.get())) << "a queue pair";
    }
    {
        ibv_srq_init_attr attributes{};
        attributes.attr = {4, 1, 0};
        const Srq srq(ibv_create_srq(own.get(), &attributes));
        EXPECT_TRUE(busy(own.get())) << "a shared receive queue";
    }
    {
        ibv_ah_attr attributes = path();
        const Ah ah(ibv_create_ah(own.get(), &attributes));
        EXPECT_TRUE(busy(own.get())) << "an address handle";
    }

    EXPECT_EQ(ibv_dealloc_pd(own.release()), 0);
}

TEST_F(Objects, ACompletionQueueOutlivesItsQueuePairs) {
    Node a = node();

    EXPECT_EQ(ibv_destroy_cq(a.send_cq.get()), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(a.recv_cq.get()), EBUSY);
    a.qp.reset();
    EXPECT_EQ(ibv_destroy_cq(a.send_cq.release()), 0);
    EXPECT_EQ(ibv_destroy_cq(a.recv_cq.release()), 0);
}

TEST_F(Objects, AChannelOutlivesItsCompletionQueues) {
    Channel channel(ibv_create_comp_channel(context.get()));
    Cq cq(ibv_create_cq(context.get(), 4, nullptr, channel.get(), 0));

    EXPECT_EQ(ibv_destroy_comp_channel(channel.get()), EBUSY);
    cq.reset();
    EXPECT_EQ(ibv_destroy_comp_channel(channel.release()), 0);
}

TEST_F(Objects, AQueuePairInAMulticastGroupIsHeldByIt) {
    NodeOptions options;
    options.type = IBV_QPT_UD;
    Node a = node(options);
    ready(a);
    ibv_gid group{};
    group.raw[0] = 0xff;
    group.raw[1] = 0x12;
    ASSERT_EQ(ibv_attach_mcast(a.qp.get(), &group, 0xc001), 0);

    EXPECT_EQ(ibv_destroy_qp(a.qp.get()), EBUSY);
    ASSERT_EQ(ibv_detach_mcast(a.qp.get(), &group, 0xc001), 0);
    EXPECT_EQ(ibv_destroy_qp(a.qp.release()), 0);
}

TEST_F(Objects, QueuePairNumbersDifferAndFitTheirField) {
    std::vector<Node> nodes;
    std::set<std::uint32_t> numbers;
    for (int i = 0; i < 100; ++i) {
        nodes.push_back(node());
        numbers.insert(nodes.back().qp->qp_num);
    }

    EXPECT_EQ(numbers.size(), 100u);
    EXPECT_GT(*numbers.begin(), 1u) << "0 and 1 belong to management";
    EXPECT_LT(*numbers.rbegin(), 0xffffffu) << "the last means multicast";
}

TEST_F(Objects, AQueuePairGetsAtLeastWhatItAskedForAndNoMoreThanTheDeviceHas) {
    const Node a = node();

    EXPECT_GE(a.cap.max_send_wr, 16u);
    EXPECT_GE(a.cap.max_recv_wr, 16u);
    EXPECT_GE(a.cap.max_send_sge, 4u);
    EXPECT_GE(a.cap.max_inline_data, 64u);
    NodeOptions options;
    for (auto* excess : {&options.send_wr, &options.recv_wr, &options.sge}) {
        const std::uint32_t kept = *excess;
        *excess = static_cast<std::uint32_t>(excess == &options.sge ? device.max_sge : device.max_qp_wr) + 1;
        EXPECT_THROW((void)node(options), std::runtime_error);
        *excess = kept;
    }
}

TEST_F(Objects, AQueuePairAnswersWithWhatItWasGiven) {
    Node a = node();
    Node b = node();
    Tuning tuning;
    tuning.timeout = 11;
    tuning.retry = 5;
    tuning.rnr_retry = 6;
    tuning.rnr_timer = 9;
    tuning.reads = 3;
    tuning.reads_served = 2;
    tuning.mtu = IBV_MTU_512;
    connect(a, b, tuning);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};

    ASSERT_EQ(ibv_query_qp(a.qp.get(), &attr, 0xfffff, &init), 0);

    EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attr.cur_qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_512);
    EXPECT_EQ(attr.dest_qp_num, b.qp->qp_num);
    EXPECT_EQ(attr.sq_psn, a.psn);
    EXPECT_EQ(attr.rq_psn, b.psn);
    EXPECT_EQ(attr.timeout, 11);
    EXPECT_EQ(attr.retry_cnt, 5);
    EXPECT_EQ(attr.rnr_retry, 6);
    EXPECT_EQ(attr.min_rnr_timer, 9);
    EXPECT_EQ(attr.max_rd_atomic, 3);
    EXPECT_EQ(attr.max_dest_rd_atomic, 2);
    EXPECT_EQ(attr.port_num, port_number);
    EXPECT_EQ(attr.qp_access_flags, tuning.access);
    EXPECT_EQ(attr.ah_attr.dlid, port.lid);
    EXPECT_EQ(attr.cap.max_send_wr, a.cap.max_send_wr);
    EXPECT_EQ(init.qp_type, IBV_QPT_RC);
    EXPECT_EQ(init.send_cq, a.send_cq.get());
    EXPECT_EQ(init.recv_cq, a.recv_cq.get());
}

TEST_F(Objects, TheDeviceAnswersWithSensibleLimits) {
    EXPECT_GE(device.phys_port_cnt, 1);
    EXPECT_GE(device.max_qp, 64);
    EXPECT_GE(device.max_qp_wr, 1024);
    EXPECT_GE(device.max_sge, 4);
    EXPECT_GE(device.max_cqe, 1024);
    EXPECT_GE(device.max_mr, 64);
    EXPECT_GE(device.max_mr_size, std::uint64_t{1} << 31);
    EXPECT_GE(device.max_qp_rd_atom, 1);
    EXPECT_NE(device.node_guid, 0u);
    EXPECT_EQ(device.max_mw, 0) << "memory windows are not emulated";
    ibv_device_attr_ex more{};
    ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &more), 0);
    EXPECT_EQ(more.orig_attr.max_qp, device.max_qp);
    EXPECT_EQ(more.odp_caps.general_caps, 0u) << "paging on demand is not emulated";
}

TEST_F(Objects, ThePortIsActiveAndHasItsTables) {
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
    EXPECT_GE(port.active_mtu, IBV_MTU_256);
    EXPECT_LE(port.active_mtu, port.max_mtu);
    EXPECT_GE(port.gid_tbl_len, 1);
    EXPECT_GE(port.pkey_tbl_len, 1);
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(context.get(), port_number, 0, &gid), 0);
    EXPECT_NE(gid.global.interface_id, 0u);
    EXPECT_NE(ibv_query_gid(context.get(), port_number, port.gid_tbl_len, &gid), 0);
    __be16 pkey = 0;
    ASSERT_EQ(ibv_query_pkey(context.get(), port_number, 0, &pkey), 0);
    EXPECT_EQ(be16toh(pkey), 0xffff) << "the default partition, full member";
    EXPECT_NE(ibv_query_pkey(context.get(), port_number, port.pkey_tbl_len, &pkey), 0);
    ibv_port_attr other{};
    EXPECT_NE(ibv_query_port(context.get(), 2, &other), 0);
    EXPECT_NE(ibv_query_port(context.get(), 0, &other), 0);
}

TEST_F(Objects, ADeviceMayBeOpenedSeveralTimes) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_NE(list, nullptr);
    ASSERT_GE(count, 1);
    EXPECT_EQ(list[count], nullptr);

    const Context second(ibv_open_device(list[0]));

    ASSERT_NE(second, nullptr);
    EXPECT_STREQ(ibv_get_device_name(second->device), ibv_get_device_name(list[0]));
    EXPECT_EQ(ibv_get_device_guid(list[0]), device.node_guid);
    ibv_free_device_list(list);
    const Pd domain(ibv_alloc_pd(second.get()));
    EXPECT_NE(domain, nullptr);
}

TEST_F(Objects, MemoryIsGivenOtherRightsWithoutAnotherAddress) {
    Buffer memory = buffer(64, 1);
    Node a = node();
    Node b = node();
    connect(a, b);

    ASSERT_EQ(ibv_rereg_mr(memory.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
              0);

    const Buffer source = buffer(64, 2);
    ASSERT_EQ(Work(IBV_WR_RDMA_READ, 1, {source.piece(0, 8)}).to(memory).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 2, {source.piece(0, 8)}).to(memory).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Objects, MemoryIsMovedToAnotherPlace) {
    Buffer memory = buffer(64, 1);
    std::vector<std::uint8_t> elsewhere(128, 3);
    Node a = node();
    Node b = node();
    connect(a, b);

    ASSERT_EQ(
        ibv_rereg_mr(memory.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, elsewhere.data(), elsewhere.size(), 0),
        0);

    const Buffer source = buffer(64, 2);
    const auto there = reinterpret_cast<std::uint64_t>(elsewhere.data());
    EXPECT_EQ(memory.mr->addr, elsewhere.data());
    EXPECT_EQ(memory.mr->length, elsewhere.size());
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(there + 120, memory.mr->rkey).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(elsewhere[120], 2);
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 2, {source.piece(0, 8)}).to(memory.address(), memory.mr->rkey).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Objects, WhatIsNotEmulatedIsRefusedAsByAnAdapterWithoutIt) {
    const auto unsupported = [] { return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL; };
    std::vector<std::uint8_t> bytes(64);

    errno = 0;
    EXPECT_EQ(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1), nullptr);
    EXPECT_TRUE(unsupported()) << "memory windows: " << std::strerror(errno);
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(pd.get(), bytes.data(), bytes.size(), IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_TRUE(unsupported()) << "paging on demand: " << std::strerror(errno);
    errno = 0;
    ibv_xrcd_init_attr xrcd{};
    xrcd.fd = -1;
    xrcd.oflags = 0;
    xrcd.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    EXPECT_EQ(ibv_open_xrcd(context.get(), &xrcd), nullptr);
    EXPECT_TRUE(unsupported()) << "XRC: " << std::strerror(errno);
    errno = 0;
    ibv_alloc_dm_attr dm{};
    dm.length = 64;
    EXPECT_EQ(ibv_alloc_dm(context.get(), &dm), nullptr);
    EXPECT_TRUE(unsupported()) << "device memory: " << std::strerror(errno);
    errno = 0;
    ibv_td_init_attr td{};
    ibv_td* domain = ibv_alloc_td(context.get(), &td);
    EXPECT_TRUE(domain != nullptr || unsupported()) << "thread domains: " << std::strerror(errno);
    if (domain != nullptr) ibv_dealloc_td(domain);
}

TEST_F(Objects, QueuePairsOfOtherTypesAreRefused) {
    const Cq cq(ibv_create_cq(context.get(), 4, nullptr, nullptr, 0));
    for (const ibv_qp_type type : {IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_DRIVER}) {
        ibv_qp_init_attr attributes{};
        attributes.qp_type = type;
        attributes.send_cq = attributes.recv_cq = cq.get();
        attributes.cap = {1, 1, 1, 1, 0};

        errno = 0;
        EXPECT_EQ(ibv_create_qp(pd.get(), &attributes), nullptr) << type;
        EXPECT_TRUE(errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS) << type << ": " << std::strerror(errno);
    }
}

TEST_F(Objects, TheExtendedSendInterfaceCarriesEveryOperation) {
    ibv_qp_init_attr_ex wanted{};
    const Cq cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = cq.get();
    wanted.cap = {8, 8, 2, 2, 64};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = pd.get();
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                            IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    Node a;
    a.qp.reset(ibv_create_qp_ex(context.get(), &wanted));
    ASSERT_NE(a.qp, nullptr);
    Node b = node();
    connect(a, b);
    Buffer source = buffer(64, 5);
    const Buffer target = buffer(64);
    const std::uint64_t word = (target.address() + 7) / 8 * 8 + 32;
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp.get());
    ASSERT_NE(qp, nullptr);

    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    qp->wr_id = 1;
    ibv_wr_rdma_write(qp, target.mr->rkey, target.address());
    ibv_wr_set_sge(qp, source.mr->lkey, source.address(), 8);
    qp->wr_id = 2;
    ibv_wr_rdma_write(qp, target.mr->rkey, target.address(8));
    ibv_wr_set_inline_data(qp, source.bytes.data(), 4);
    qp->wr_id = 3;
    ibv_wr_atomic_fetch_add(qp, target.mr->rkey, word, 9);
    ibv_wr_set_sge(qp, source.mr->lkey, source.address(16), 8);
    ASSERT_EQ(ibv_wr_complete(qp), 0);

    for (std::uint64_t id = 1; id <= 3; ++id) {
        const ibv_wc wc = next(cq);
        EXPECT_EQ(wc.wr_id, id);
        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(target.bytes[7], 5);
    EXPECT_EQ(target.bytes[11], 5);
    EXPECT_EQ(target.bytes[12], 0);
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(word), 8);
    EXPECT_EQ(value, 9u);
    a.qp.reset();
}

TEST_F(Objects, AnAbandonedBatchOfTheExtendedInterfaceSendsNothing) {
    ibv_qp_init_attr_ex wanted{};
    const Cq cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = cq.get();
    wanted.cap = {8, 8, 2, 2, 64};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = pd.get();
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    Node a;
    a.qp.reset(ibv_create_qp_ex(context.get(), &wanted));
    Node b = node();
    connect(a, b);
    const Buffer source = buffer(64, 5);
    const Buffer target = buffer(64);
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp.get());

    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, target.mr->rkey, target.address());
    ibv_wr_set_sge(qp, source.mr->lkey, source.address(), 8);
    ibv_wr_abort(qp);
    ibv_wr_start(qp);
    qp->wr_id = 2;
    ibv_wr_rdma_write(qp, target.mr->rkey, target.address(32));
    ibv_wr_set_sge(qp, source.mr->lkey, source.address(), 8);
    ASSERT_EQ(ibv_wr_complete(qp), 0);

    EXPECT_EQ(next(cq).wr_id, 2u);
    EXPECT_EQ(target.bytes[0], 0);
    EXPECT_EQ(target.bytes[32], 5);
    a.qp.reset();
}

}  // namespace
}  // namespace loom::conformance
