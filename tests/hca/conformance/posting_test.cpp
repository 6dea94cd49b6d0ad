// Which work a queue takes, in which state, and how much of it.
#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class Posting : public Bed {};

TEST_F(Posting, OfReceivesIsRefusedInReset) {
    const Node fresh = node();
    const Buffer memory = buffer(16);

    EXPECT_EQ(post_receive(fresh, 1, {memory.all()}), EINVAL);
}

TEST_F(Posting, OfReceivesIsTakenFromInitOn) {
    Node a = node();
    const Buffer memory = buffer(16);

    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    EXPECT_EQ(post_receive(a, 1, {memory.all()}), 0);
    ASSERT_EQ(to_rtr(a, IBV_QPT_RC, path(), a.qp->qp_num, a.psn), 0);
    EXPECT_EQ(post_receive(a, 2, {memory.all()}), 0);
    ASSERT_EQ(to_rts(a, IBV_QPT_RC), 0);
    EXPECT_EQ(post_receive(a, 3, {memory.all()}), 0);
    ibv_wc wc{};
    EXPECT_FALSE(poll(a.recv_cq, wc));
}

TEST_F(Posting, OfSendsIsRefusedBeforeReadyToSend) {
    const Node a = node();
    const Buffer memory = buffer(16);

    EXPECT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), EINVAL);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    EXPECT_EQ(Work(IBV_WR_SEND, 2, {memory.all()}).post(a), EINVAL);
    ASSERT_EQ(to_rtr(a, IBV_QPT_RC, path(), a.qp->qp_num, a.psn), 0);
    EXPECT_EQ(Work(IBV_WR_SEND, 3, {memory.all()}).post(a), EINVAL);
    ibv_wc wc{};
    EXPECT_FALSE(poll(a.send_cq, wc));
}

TEST_F(Posting, InTheErrorStateIsTakenAndFlushed) {
    const Node a = node();
    const Buffer memory = buffer(16);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    ASSERT_EQ(to_state(a, IBV_QPS_ERR), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), 0);
    ASSERT_EQ(post_receive(a, 2, {memory.all()}), 0);

    const ibv_wc sent = next(a.send_cq);
    EXPECT_STATUS(sent, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(sent.wr_id, 1u);
    EXPECT_EQ(sent.qp_num, a.qp->qp_num);
    const ibv_wc received = next(a.recv_cq);
    EXPECT_STATUS(received, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(received.wr_id, 2u);
}

TEST_F(Posting, WhileDrainedIsKeptUntilReadyToSend) {
    Node a = node();
    Node b = node();
    connect(a, b);
    const Buffer memory = buffer(16);
    ASSERT_EQ(post_receive(b, 1, {memory.all()}), 0);
    ASSERT_EQ(to_state(a, IBV_QPS_SQD), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.all()}).post(a), 0);
    EXPECT_TRUE(stays_empty(a.send_cq));
    ASSERT_EQ(to_state(a, IBV_QPS_RTS), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
}

TEST_F(Posting, OfAChainStopsAtTheFirstThatIsRefusedAndNamesIt) {
    Node a = node();
    Node b = node();
    connect(a, b);
    const Buffer memory = buffer(64);
    for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(post_receive(b, id, {memory.piece(0, 16)}), 0);
    std::vector<ibv_sge> too_many(a.cap.max_send_sge + 1, memory.piece(0, 1));
    Work first(IBV_WR_SEND, 1, {memory.piece(0, 1)});
    Work second(IBV_WR_SEND, 2, too_many);
    Work third(IBV_WR_SEND, 3, {memory.piece(0, 1)});
    for (Work* work : {&first, &second, &third}) {
        work->request.sg_list = work->list.data();
        work->request.num_sge = static_cast<int>(work->list.size());
    }
    first.request.next = &second.request;
    second.request.next = &third.request;
    ibv_send_wr* bad = nullptr;

    const int result = ibv_post_send(a.qp.get(), &first.request, &bad);

    EXPECT_EQ(result, EINVAL);
    EXPECT_EQ(bad, &second.request);
    EXPECT_EQ(next(a.send_cq).wr_id, 1u);
    EXPECT_EQ(next(b.recv_cq).wr_id, 0u);
    EXPECT_TRUE(stays_empty(a.send_cq));
}

TEST_F(Posting, OfReceivesStopsAtTheFirstThatIsRefusedAndNamesIt) {
    const Node a = node();
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    const Buffer memory = buffer(64);
    std::vector<ibv_sge> too_many(a.cap.max_recv_sge + 1, memory.piece(0, 1));
    ibv_sge one = memory.piece(0, 1);
    ibv_recv_wr second{2, nullptr, too_many.data(), static_cast<int>(too_many.size())};
    ibv_recv_wr first{1, &second, &one, 1};
    ibv_recv_wr* bad = nullptr;

    const int result = ibv_post_recv(a.qp.get(), &first, &bad);

    EXPECT_EQ(result, EINVAL);
    EXPECT_EQ(bad, &second);
}

TEST_F(Posting, BeyondTheSendQueueIsOutOfMemory) {
    Node a = node();
    Node b = node();
    Tuning patient;
    patient.rnr_timer = 14;  // no receive is posted: all work stays in the queue
    connect(a, b, patient);
    const Buffer memory = buffer(16);

    for (std::uint32_t i = 0; i < a.cap.max_send_wr; ++i)
        ASSERT_EQ(Work(IBV_WR_SEND, i, {memory.piece(0, 1)}).flags(0).post(a), 0) << i;

    EXPECT_EQ(Work(IBV_WR_SEND, 99, {memory.piece(0, 1)}).post(a), ENOMEM);
}

TEST_F(Posting, BeyondTheReceiveQueueIsOutOfMemory) {
    const Node a = node();
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    const Buffer memory = buffer(16);

    for (std::uint32_t i = 0; i < a.cap.max_recv_wr; ++i) ASSERT_EQ(post_receive(a, i, {memory.all()}), 0) << i;

    EXPECT_EQ(post_receive(a, 99, {memory.all()}), ENOMEM);
}

TEST_F(Posting, FindsRoomAgainOnceCompletionsWereTaken) {
    NodeOptions small;
    small.send_wr = 2;
    small.recv_wr = 2;
    Node a = node(small);
    Node b = node(small);
    connect(a, b);
    const Buffer memory = buffer(16);

    for (std::uint64_t id = 0; id < 50; ++id) {
        ASSERT_EQ(post_receive(b, id, {memory.all()}), 0);
        ASSERT_EQ(Work(IBV_WR_SEND, id, {memory.piece(0, 4)}).post(a), 0);
        EXPECT_EQ(next(a.send_cq).wr_id, id);
        EXPECT_EQ(next(b.recv_cq).wr_id, id);
    }
}

TEST_F(Posting, TakesAsManyPiecesAsWereAskedForAndNoMore) {
    Node a = node();
    Node b = node();
    connect(a, b);
    const Buffer source = buffer(64, 3);
    const Buffer target = buffer(64);
    std::vector<ibv_sge> from, into;
    for (std::uint32_t i = 0; i < a.cap.max_send_sge; ++i) from.push_back(source.piece(i, 1));
    for (std::uint32_t i = 0; i < b.cap.max_recv_sge; ++i) into.push_back(target.piece(2 * i, 1));

    ASSERT_EQ(post_receive(b, 1, into), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, from).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(next(b.recv_cq).byte_len, from.size());
    for (std::uint32_t i = 0; i < from.size(); ++i) EXPECT_EQ(target.bytes[2 * i], 3) << i;
    from.push_back(source.piece(0, 1));
    EXPECT_EQ(Work(IBV_WR_SEND, 2, from).post(a), EINVAL);
    into.push_back(target.piece(0, 1));
    EXPECT_EQ(post_receive(b, 2, into), EINVAL);
}

TEST_F(Posting, TakesInlineDataUpToItsMaximumWithoutAKey) {
    Node a = node();
    Node b = node();
    connect(a, b);
    ASSERT_GE(a.cap.max_inline_data, 64u);
    std::vector<std::uint8_t> plain(a.cap.max_inline_data + 1, 5);
    const Buffer target = buffer(a.cap.max_inline_data + 1);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);
    Work work(IBV_WR_SEND, 1, {{reinterpret_cast<std::uint64_t>(plain.data()), a.cap.max_inline_data, 0xdead}});

    ASSERT_EQ(work.flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED).post(a), 0);
    std::fill(plain.begin(), plain.end(), std::uint8_t{6});  // the program may reuse it at once

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(next(b.recv_cq).byte_len, a.cap.max_inline_data);
    EXPECT_EQ(target.bytes[0], 5);
    EXPECT_EQ(target.bytes[a.cap.max_inline_data - 1], 5);
    EXPECT_EQ(target.bytes[a.cap.max_inline_data], 0);
    Work longer(IBV_WR_SEND, 2, {{reinterpret_cast<std::uint64_t>(plain.data()), a.cap.max_inline_data + 1, 0}});
    EXPECT_NE(longer.flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED).post(a), 0);
}

TEST_F(Posting, RefusesOperationsThatTheTransportDoesNotHave) {
    NodeOptions options;
    options.type = IBV_QPT_UC;
    Node uc = node(options);
    connect(uc, uc);
    options.type = IBV_QPT_UD;
    Node ud = node(options);
    ready(ud);
    const Buffer memory = buffer(64);
    const Ah ah = address_handle();

    EXPECT_EQ(Work(IBV_WR_RDMA_READ, 1, {memory.piece(0, 8)}).to(memory, 32).post(uc), EINVAL);
    EXPECT_EQ(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, {memory.piece(0, 8)}).to(memory, 32).post(uc), EINVAL);
    EXPECT_EQ(Work(IBV_WR_ATOMIC_CMP_AND_SWP, 3, {memory.piece(0, 8)}).to(memory, 32).post(uc), EINVAL);
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
                                       IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP})
        EXPECT_EQ(Work(opcode, 4, {memory.piece(0, 8)}).datagram(ah.get(), ud.qp->qp_num).post(ud), EINVAL) << opcode;
}

TEST_F(Posting, OfReceivesToAQueuePairWithASharedQueueIsRefused) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {4, 1, 0};
    const Srq srq(ibv_create_srq(pd.get(), &attributes));
    NodeOptions options;
    options.srq = srq.get();
    const Node a = node(options);
    const Buffer memory = buffer(16);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);

    EXPECT_NE(post_receive(a, 1, {memory.all()}), 0);
}

// 2^31 bytes are the longest message; the memory behind the pieces is the same few bytes, so that none is needed.
TEST_F(Posting, OfMoreThanTheLongestMessageFails) {
    EXPECT_EQ(port.max_msg_sz, 1u << 30);
    NodeOptions options;
    options.sge = 8;
    Node a = node(options);
    Node b = node(options);
    connect(a, b);
    const Buffer memory = buffer(1 << 20);
    const std::uint32_t length = 1u << 29;
    Work work(IBV_WR_RDMA_WRITE, 1,
              {{memory.address(), length, memory.mr->lkey},
               {memory.address(), length, memory.mr->lkey},
               {memory.address(), 1, memory.mr->lkey}});

    const int result = work.to(memory).post(a);

    if (result == 0) {
        const ibv_wc wc = next(a.send_cq);
        EXPECT_TRUE(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_PROT_ERR)
            << ibv_wc_status_str(wc.status);
    } else {
        EXPECT_TRUE(result == EINVAL || result == EMSGSIZE) << result;
    }
}

TEST_F(Posting, UnsignalledWorkCompletesWithoutAWord) {
    Node a = node();
    Node b = node();
    connect(a, b);
    const Buffer memory = buffer(16);
    for (std::uint64_t id = 0; id < 3; ++id) ASSERT_EQ(post_receive(b, id, {memory.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, 4)}).flags(0).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.piece(0, 4)}).flags(0).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 3, {memory.piece(0, 4)}).post(a), 0);

    EXPECT_EQ(next(a.send_cq).wr_id, 3u);
    EXPECT_TRUE(stays_empty(a.send_cq));
    for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(next(b.recv_cq).wr_id, id);
}

TEST_F(Posting, OfAQueuePairThatSignalsAllNeedsNoFlag) {
    NodeOptions options;
    options.signal_all = true;
    Node a = node(options);
    Node b = node();
    connect(a, b);
    const Buffer memory = buffer(16);
    ASSERT_EQ(post_receive(b, 1, {memory.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, 4)}).flags(0).post(a), 0);

    EXPECT_EQ(next(a.send_cq).wr_id, 1u);
}

}  // namespace
}  // namespace loom::conformance
