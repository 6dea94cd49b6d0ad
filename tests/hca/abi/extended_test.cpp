// The extended interfaces: queue pairs with ibv_wr_*, completion queues with start, next and end.
#include <arpa/inet.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "hca/abi/device_test.hpp"
#include "support/process.hpp"

namespace {

using loom::test::OpenDevice;

constexpr std::uint64_t all_operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                         IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                         IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
constexpr std::uint64_t wanted_fields = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

// One queue pair that is connected to itself, and memory.
class Extended : public OpenDevice {
protected:
    void SetUp() override {
        OpenDevice::SetUp();
        pd = ibv_alloc_pd(context);
        std::iota(memory.begin(), memory.end(), std::uint8_t{0});
        mr = ibv_reg_mr(
            pd, memory.data(), memory.size(),
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
        ibv_cq_init_attr_ex cq_attr{};
        cq_attr.cqe = 64;
        cq_attr.wc_flags = wanted_fields;
        cq = ibv_create_cq_ex(context, &cq_attr);
        ASSERT_NE(cq, nullptr);
        abi = ibv_create_qp_ex(context, &(qp_attr = attributes(IBV_QPT_RC, all_operations)));
        ASSERT_NE(abi, nullptr);
        qp = ibv_qp_to_qp_ex(abi);
        ASSERT_NE(qp, nullptr);
        connect();
    }
    void TearDown() override {
        if (abi != nullptr) ibv_destroy_qp(abi);
        if (cq != nullptr) ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
        if (mr != nullptr) ibv_dereg_mr(mr);
        if (pd != nullptr) ibv_dealloc_pd(pd);
        OpenDevice::TearDown();
    }

    ibv_qp_init_attr_ex attributes(ibv_qp_type type, std::uint64_t operations) const {
        ibv_qp_init_attr_ex attr{};
        attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);
        attr.cap = {8, 8, 2, 2, 64};
        attr.qp_type = type;
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.pd = pd;
        attr.send_ops_flags = operations;
        return attr;
    }

    void connect() const {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        ASSERT_EQ(ibv_modify_qp(abi, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = abi->qp_num;
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = 1;
        attr.ah_attr.dlid = 1;
        attr.ah_attr.port_num = 1;
        ASSERT_EQ(ibv_modify_qp(abi, &attr,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                  0);
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 14;
        attr.retry_cnt = attr.rnr_retry = 7;
        attr.max_rd_atomic = 4;
        ASSERT_EQ(ibv_modify_qp(abi, &attr,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC),
                  0);
    }

    [[nodiscard]] std::uint64_t address(std::size_t offset) const {
        return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
    }

    void post_receive(std::uint64_t id, std::size_t offset, std::uint32_t length) const {
        ibv_sge sge{address(offset), length, mr->lkey};
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ASSERT_EQ(ibv_post_recv(abi, &wr, &bad), 0);
    }

    void begin(std::uint64_t id) const {
        ibv_wr_start(qp);
        qp->wr_id = id;
        qp->wr_flags = IBV_SEND_SIGNALED;
    }

    // Waits for the next completion; the caller ends the poll.
    void start() const {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        ibv_poll_cq_attr attr{};
        int error = ENOENT;
        while (error == ENOENT && std::chrono::steady_clock::now() < limit) error = ibv_start_poll(cq, &attr);
        ASSERT_EQ(error, 0);
    }

    // The next completion, with nothing behind it expected.
    void expect_completion(std::uint64_t id, ibv_wc_opcode opcode) const {
        start();
        EXPECT_EQ(cq->status, IBV_WC_SUCCESS) << ibv_wc_status_str(cq->status);
        EXPECT_EQ(cq->wr_id, id);
        EXPECT_EQ(ibv_wc_read_opcode(cq), opcode);
        EXPECT_EQ(ibv_wc_read_qp_num(cq), abi->qp_num);
        ibv_end_poll(cq);
    }

    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(4096);
    ibv_pd* pd = nullptr;
    ibv_mr* mr = nullptr;
    ibv_cq_ex* cq = nullptr;
    ibv_qp_init_attr_ex qp_attr{};
    ibv_qp* abi = nullptr;
    ibv_qp_ex* qp = nullptr;
};

TEST_F(Extended, WritesReadsAndAtomicsArriveInTheirBytes) {
    std::uint64_t counter = 40;
    std::memcpy(&memory[2048], &counter, 8);

    begin(1);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_sge(qp, mr->lkey, address(0), 200);
    qp->wr_id = 2;
    ibv_wr_rdma_read(qp, mr->rkey, address(1024));
    ibv_wr_set_sge(qp, mr->lkey, address(3072), 200);
    qp->wr_id = 3;
    ibv_wr_atomic_fetch_add(qp, mr->rkey, address(2048), 2);
    ibv_wr_set_sge(qp, mr->lkey, address(2056), 8);
    qp->wr_id = 4;
    ibv_wr_atomic_cmp_swp(qp, mr->rkey, address(2048), 42, 7);
    ibv_wr_set_sge(qp, mr->lkey, address(2064), 8);
    ASSERT_EQ(ibv_wr_complete(qp), 0);

    expect_completion(1, IBV_WC_RDMA_WRITE);
    expect_completion(2, IBV_WC_RDMA_READ);
    expect_completion(3, IBV_WC_FETCH_ADD);
    expect_completion(4, IBV_WC_COMP_SWAP);
    EXPECT_EQ(std::memcmp(&memory[0], &memory[1024], 200), 0);
    EXPECT_EQ(std::memcmp(&memory[0], &memory[3072], 200), 0);
    std::uint64_t results[3];
    std::memcpy(results, &memory[2048], sizeof results);
    EXPECT_THAT(results, testing::ElementsAre(7, 40, 42));
}

TEST_F(Extended, SendsCarryImmediateDataListsAndInlineBytes) {
    post_receive(11, 1024, 256);
    post_receive(12, 1536, 256);
    post_receive(13, 2048, 256);
    const ibv_sge pieces[2] = {{address(0), 10, mr->lkey}, {address(100), 20, mr->lkey}};
    std::uint8_t local[3] = {1, 2, 3};
    const ibv_data_buf buffers[2] = {{local, 3}, {local, 2}};

    begin(1);
    qp->wr_flags = 0;
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, 2, pieces);
    ibv_wr_send_imm(qp, htonl(0xabcd));
    ibv_wr_set_inline_data(qp, local, sizeof local);
    ibv_wr_rdma_write_imm(qp, mr->rkey, address(3072), htonl(0x1234));
    ibv_wr_set_inline_data_list(qp, 2, buffers);
    local[0] = 99;  // taken already
    ASSERT_EQ(ibv_wr_complete(qp), 0);

    start();
    EXPECT_EQ(cq->wr_id, 11u);
    EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(cq), 30u);
    ibv_end_poll(cq);
    start();
    EXPECT_EQ(cq->wr_id, 12u);
    EXPECT_EQ(ibv_wc_read_byte_len(cq), 3u);
    EXPECT_EQ(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ibv_wc_read_imm_data(cq), htonl(0xabcd));
    ibv_end_poll(cq);
    start();
    EXPECT_EQ(cq->wr_id, 13u);
    EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(ibv_wc_read_imm_data(cq), htonl(0x1234));
    ibv_end_poll(cq);
    EXPECT_EQ(std::memcmp(&memory[1034], &memory[100], 20), 0);
    EXPECT_THAT(std::vector(memory.begin() + 1536, memory.begin() + 1539), testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(std::vector(memory.begin() + 3072, memory.begin() + 3077), testing::ElementsAre(1, 2, 3, 1, 2));
}

TEST_F(Extended, WhatIsAbortedOrWrongIsNotPosted) {
    const std::vector<ibv_sge> too_many(3, {address(0), 1, mr->lkey});
    std::vector<std::uint8_t> too_long(65);

    begin(1);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_sge(qp, mr->lkey, address(0), 1);
    ibv_wr_abort(qp);
    begin(2);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_sge_list(qp, too_many.size(), too_many.data());
    EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
    begin(3);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_inline_data(qp, too_long.data(), too_long.size());
    EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
    begin(4);
    for (std::uint32_t i = 0; i <= qp_attr.cap.max_send_wr; ++i) {
        ibv_wr_rdma_write(qp, mr->rkey, address(1024));
        ibv_wr_set_sge(qp, mr->lkey, address(0), 1);
    }
    EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
    begin(5);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_sge(qp, mr->lkey, address(0), 1);
    EXPECT_EQ(ibv_wr_complete(qp), 0);

    expect_completion(5, IBV_WC_RDMA_WRITE);
    ibv_poll_cq_attr attr{};
    EXPECT_EQ(ibv_start_poll(cq, &attr), ENOENT);
}

TEST_F(Extended, OnlyWhatATransportCanDoMayBeAskedFor) {
    const auto error_of = [&](ibv_qp_type type, std::uint64_t operations) {
        ibv_qp_init_attr_ex attr = attributes(type, operations);
        ibv_qp* made = ibv_create_qp_ex(context, &attr);
        if (made == nullptr) return errno;
        const bool same = ibv_qp_to_qp_ex(made)->wr_rdma_write == nullptr;
        ibv_destroy_qp(made);
        return same ? 0 : -1;
    };

    EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM), 0);
    EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), EOPNOTSUPP);
    EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ), EOPNOTSUPP);
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_LOCAL_INV), EOPNOTSUPP);
    EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_SEND), 0);
}

TEST_F(Extended, OrdinaryQueuePairsAreNot) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);
    attr.cap = {1, 1, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;

    ibv_qp* ordinary = ibv_create_qp(pd, &attr);

    ASSERT_NE(ordinary, nullptr);
    EXPECT_EQ(ibv_qp_to_qp_ex(ordinary), nullptr);
    EXPECT_EQ(ibv_destroy_qp(ordinary), 0);
}

TEST_F(Extended, FeaturesOfOtherAdaptersAreRefused) {
    ibv_qp_init_attr_ex tso = attributes(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
    tso.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    ibv_cq_init_attr_ex vlan{};
    vlan.cqe = 1;
    vlan.wc_flags = IBV_WC_EX_WITH_CVLAN;
    ibv_srq_init_attr_ex xrc{};
    xrc.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    xrc.srq_type = IBV_SRQT_XRC;
    xrc.pd = pd;

    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(context, &tso), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    errno = 0;
    EXPECT_EQ(ibv_create_cq_ex(context, &vlan), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    errno = 0;
    EXPECT_EQ(ibv_create_srq_ex(context, &xrc), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Extended, CompletionsCarryTheTime) {
    ibv_values_ex before{};
    before.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    ASSERT_EQ(ibv_query_rt_values_ex(context, &before), 0);
    const std::uint64_t earliest = static_cast<std::uint64_t>(before.raw_clock.tv_sec) * 1000000000u +
                                   static_cast<std::uint64_t>(before.raw_clock.tv_nsec);
    const auto wall = std::chrono::system_clock::now().time_since_epoch();

    begin(1);
    ibv_wr_rdma_write(qp, mr->rkey, address(1024));
    ibv_wr_set_sge(qp, mr->lkey, address(0), 1);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    start();

    EXPECT_GE(ibv_wc_read_completion_ts(cq), earliest);
    EXPECT_LT(ibv_wc_read_completion_ts(cq), earliest + 60'000'000'000u);
    EXPECT_GE(ibv_wc_read_completion_wallclock_ns(cq) + 1'000'000'000u,
              static_cast<std::uint64_t>(std::chrono::nanoseconds(wall).count()));
    ibv_end_poll(cq);
}

TEST_F(Extended, PollingGoesOnUntilNothingIsLeft) {
    begin(1);
    for (std::uint64_t id = 1; id <= 3; ++id) {
        qp->wr_id = id;
        ibv_wr_rdma_write(qp, mr->rkey, address(1024));
        ibv_wr_set_sge(qp, mr->lkey, address(0), 1);
    }
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    ibv_poll_cq_attr bad{};
    bad.comp_mask = 1;

    EXPECT_EQ(ibv_start_poll(cq, &bad), EINVAL);
    std::vector<std::uint64_t> ids;
    start();
    ids.push_back(cq->wr_id);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (ids.size() < 3 && std::chrono::steady_clock::now() < limit)
        if (ibv_next_poll(cq) == 0) ids.push_back(cq->wr_id);
    EXPECT_EQ(ibv_next_poll(cq), ENOENT);
    ibv_end_poll(cq);

    EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

TEST_F(Extended, SharedReceiveQueuesHaveNumbers) {
    ibv_srq_init_attr attr{};
    attr.attr = {16, 1, 0};
    ibv_srq* first = ibv_create_srq(pd, &attr);
    ibv_srq* second = ibv_create_srq(pd, &attr);
    std::uint32_t a = 0, b = 0;

    EXPECT_EQ(ibv_get_srq_num(first, &a), 0);
    EXPECT_EQ(ibv_get_srq_num(second, &b), 0);

    EXPECT_NE(a, b);
    EXPECT_EQ(ibv_destroy_srq(first), 0);
    EXPECT_EQ(ibv_destroy_srq(second), 0);
}

TEST_F(Extended, AnAddressIsMadeFromACompletion) {
    ibv_wc wc{};
    wc.slid = 7;
    wc.sl = 3;
    ibv_ah_attr attr{};
    ibv_grh grh{};
    grh.version_tclass_flow = htonl(6u << 28 | 5u << 20 | 9);
    ASSERT_EQ(ibv_query_gid(context, 1, 0, &grh.dgid), 0);
    grh.sgid.raw[15] = 4;

    EXPECT_EQ(ibv_init_ah_from_wc(context, 1, &wc, nullptr, &attr), 0);
    EXPECT_EQ(attr.dlid, 7);
    EXPECT_EQ(attr.sl, 3);
    EXPECT_EQ(attr.is_global, 0);
    wc.wc_flags = IBV_WC_GRH;
    EXPECT_EQ(ibv_init_ah_from_wc(context, 1, &wc, &grh, &attr), 0);
    EXPECT_EQ(attr.is_global, 1);
    EXPECT_EQ(attr.grh.dgid.raw[15], 4);
    EXPECT_EQ(attr.grh.flow_label, 9u);
    EXPECT_EQ(attr.grh.traffic_class, 5);
    grh.dgid.raw[15] ^= 1;  // not ours
    EXPECT_EQ(ibv_init_ah_from_wc(context, 1, &wc, &grh, &attr), -1);
}

TEST(Trace, ShowsWhatWasPostedAndWhatCameOfIt) {
    const loom::test::TemporaryFolder folder;

    const auto outcome =
        loom::test::shell("LOOM_VERBS_TRACE='" + folder.file("calls") +
                          "' '" LOOM_ABI_TESTS "' --gtest_filter=Extended.WritesReads*:Extended.WhatIsAborted*");

    const std::string calls = loom::test::slurp(folder.file("calls"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(calls, testing::ContainsRegex("ibv_create_qp\\(type=RC, .*\\) = qp 0x[0-9a-f]+\n"));
    EXPECT_THAT(calls, testing::ContainsRegex("ibv_modify_qp\\(qp=0x[0-9a-f]+, state=RTS, mask=0x[0-9a-f]+\\) = 0\n"));
    EXPECT_THAT(calls,
                testing::ContainsRegex("ibv_wr_complete\\(qp=0x[0-9a-f]+, RDMA_WRITE, wr_id=0x1, 200 bytes in 1, "
                                       "remote=0x[0-9a-f]+, rkey=0x[0-9a-f]+, signaled\\) = 0\n"));
    EXPECT_THAT(calls, testing::HasSubstr("= EINVAL\n"));
    EXPECT_THAT(calls, testing::ContainsRegex("wc wr_id=0x3 qp=0x[0-9a-f]+ FETCH_ADD, 8 bytes: success\n"));
}

}  // namespace
