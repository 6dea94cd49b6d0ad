// Every completion status that a program can bring about, and what becomes of the queue pairs.
#include <set>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class Statuses : public Bed {
protected:
    Node a{node()};
    Node b{node()};
};

TEST_F(Statuses, SuccessSaysWhatWasDone) {
    connect(a, b);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 11, {target.all()}), 0);
    ASSERT_EQ(post_receive(b, 12, {target.all()}), 0);
    ASSERT_EQ(post_receive(b, 13, {}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.piece(0, 10)}).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, 2, {source.piece(0, 20)}).immediate(77).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE_WITH_IMM, 3, {source.piece(0, 30)}).to(target).immediate(78).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 4, {source.piece(0, 8)}).to(target).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_READ, 5, {source.piece(0, 8)}).to(target).post(a), 0);
    ASSERT_EQ(
        Work(IBV_WR_ATOMIC_FETCH_AND_ADD, 6, {source.piece(0, 8)}).atomic(target.address(), target.mr->rkey, 1).post(a),
        0);
    ASSERT_EQ(Work(IBV_WR_ATOMIC_CMP_AND_SWP, 7, {source.piece(0, 8)})
                  .atomic(target.address(), target.mr->rkey, 1, 2)
                  .post(a),
              0);

    const ibv_wc_opcode sent[] = {IBV_WC_SEND,      IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
                                  IBV_WC_RDMA_READ, IBV_WC_FETCH_ADD, IBV_WC_COMP_SWAP};
    for (std::uint64_t i = 0; i < 7; ++i) {
        const ibv_wc wc = next(a.send_cq);
        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.wr_id, i + 1);
        EXPECT_EQ(wc.opcode, sent[i]) << i;
        EXPECT_EQ(wc.qp_num, a.qp->qp_num);
    }
    const ibv_wc_opcode received[] = {IBV_WC_RECV, IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const ibv_wc wc = next(b.recv_cq);
        EXPECT_STATUS(wc, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.wr_id, 11 + i);
        EXPECT_EQ(wc.opcode, received[i]);
        EXPECT_EQ(wc.byte_len, 10 * (i + 1));
        EXPECT_EQ((wc.wc_flags & IBV_WC_WITH_IMM) != 0, i > 0);
        if (i > 0) {
            EXPECT_EQ(be32toh(wc.imm_data), 76 + i);
        }
        EXPECT_EQ(wc.qp_num, b.qp->qp_num);
    }
}

TEST_F(Statuses, AReceiveThatIsTooSmallIsALengthErrorThereAndAnInvalidRequestHere) {
    connect(a, b);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    ASSERT_EQ(post_receive(b, 1, {target.piece(0, 15)}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.piece(0, 16)}).post(a), 0);

    EXPECT_STATUS(next(b.recv_cq), IBV_WC_LOC_LEN_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
    EXPECT_EQ(b.state(), IBV_QPS_ERR);
    EXPECT_EQ(target.bytes[15], 2);
}

TEST_F(Statuses, ALongMessageIntoAReceiveThatIsTooSmallFailsAlike) {
    connect(a, b);
    const Buffer source = buffer(1 << 20, 1);
    const Buffer target = buffer(1 << 20, 2);
    ASSERT_EQ(post_receive(b, 1, {target.piece(0, (1 << 20) - 1)}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.all()}).post(a), 0);

    EXPECT_STATUS(next(b.recv_cq), IBV_WC_LOC_LEN_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(target.bytes.back(), 2);
}

TEST_F(Statuses, NobodyThereIsRetryExceeded) {
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    const std::uint32_t nobody = b.qp->qp_num;
    b.qp.reset();
    ASSERT_EQ(to_rtr(a, IBV_QPT_RC, path(), nobody, 1), 0);
    ASSERT_EQ(to_rts(a, IBV_QPT_RC), 0);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
}

TEST_F(Statuses, APeerThatIsNotReadyToReceiveIsRetryExceeded) {
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    ASSERT_EQ(to_init(b, IBV_QPT_RC), 0);
    ASSERT_EQ(to_rtr(a, IBV_QPT_RC, path(), b.qp->qp_num, 1), 0);
    ASSERT_EQ(to_rts(a, IBV_QPT_RC), 0);
    const Buffer memory = buffer(16);
    const Buffer target = buffer(16, 9);
    ASSERT_EQ(post_receive(b, 1, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {memory.all()}).to(target).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RETRY_EXC_ERR);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(target.bytes[0], 9);
}

TEST_F(Statuses, APeerInTheErrorStateIsRetryExceeded) {
    connect(a, b);
    ASSERT_EQ(to_state(b, IBV_QPS_ERR), 0);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(Statuses, NoReceiveInTimeIsReceiverNotReadyRetryExceeded) {
    Tuning tuning;
    tuning.rnr_retry = 2;
    connect(a, b, tuning);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
    EXPECT_EQ(b.state(), IBV_QPS_RTS);
}

TEST_F(Statuses, WithoutRetriesTheFirstMissingReceiveIsTheLast) {
    Tuning tuning;
    tuning.rnr_retry = 0;
    connect(a, b, tuning);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(Statuses, SevenReceiverNotReadyRetriesMeanForever) {
    connect(a, b);
    const Buffer source = buffer(16, 1);
    const Buffer target = buffer(16, 2);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).post(a), 0);
    EXPECT_TRUE(stays_empty(a.send_cq));
    ASSERT_EQ(post_receive(b, 2, {target.all()}), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, source.bytes);
}

TEST_F(Statuses, AWriteWithImmediateNeedsAReceiveToo) {
    Tuning tuning;
    tuning.rnr_retry = 1;
    connect(a, b, tuning);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE_WITH_IMM, 1, {memory.piece(0, 8)}).to(memory, 8).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(Statuses, AMisalignedAtomicIsAnInvalidRequest) {
    connect(a, b);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);
    const std::uint64_t odd = (target.address() + 7) / 8 * 8 + 4;

    ASSERT_EQ(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {source.piece(0, 8)}).atomic(odd, target.mr->rkey, 1).post(a), 0);

    const ibv_wc wc = next(a.send_cq);
    EXPECT_TRUE(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR)
        << ibv_wc_status_str(wc.status);
    EXPECT_EQ(target.bytes, std::vector<std::uint8_t>(64, 2));
}

TEST_F(Statuses, ReadsThatTheOtherSideDoesNotServeFail) {
    Tuning tuning;
    tuning.reads_served = 0;
    connect(a, b, tuning);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);

    ASSERT_EQ(Work(IBV_WR_RDMA_READ, 1, {source.piece(0, 8)}).to(target).post(a), 0);

    const ibv_wc wc = next(a.send_cq);
    EXPECT_TRUE(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR)
        << ibv_wc_status_str(wc.status);
    EXPECT_EQ(source.bytes[0], 1);
}

TEST_F(Statuses, AfterAnErrorEverythingBehindItIsFlushedInOrder) {
    connect(a, b);
    const Buffer memory = buffer(64);
    for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(post_receive(b, id, {memory.piece(0, 16)}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, 4)}).flags(0).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 2, {memory.piece(0, 4)}).flags(0).to(memory.address(), 0x666).post(a), 0);
    // The error may have arrived by now: what is posted to a queue pair in the error state is flushed as well.
    ASSERT_EQ(Work(IBV_WR_SEND, 3, {memory.piece(0, 4)}).flags(0).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 4, {memory.piece(0, 4)}).post(a), 0);

    ibv_wc wc = next(a.send_cq);
    EXPECT_STATUS(wc, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(wc.wr_id, 2u);
    for (const std::uint64_t id : {3u, 4u}) {
        wc = next(a.send_cq);
        EXPECT_STATUS(wc, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(wc.wr_id, id);
    }
    EXPECT_EQ(next(b.recv_cq).wr_id, 0u);
}

TEST_F(Statuses, GoingToTheErrorStateFlushesBothQueuesInOrder) {
    Tuning tuning;
    tuning.rnr_timer = 20;  // sends wait for a receive that never comes
    connect(a, b, tuning);
    const Buffer memory = buffer(64);
    for (std::uint64_t id = 0; id < 3; ++id) {
        ASSERT_EQ(Work(IBV_WR_SEND, id, {memory.piece(0, 4)}).flags(id == 1 ? 0 : IBV_SEND_SIGNALED).post(a), 0);
        ASSERT_EQ(post_receive(a, 10 + id, {memory.all()}), 0);
    }

    ASSERT_EQ(to_state(a, IBV_QPS_ERR), 0);

    for (std::uint64_t id = 0; id < 3; ++id) {
        const ibv_wc sent = next(a.send_cq);
        EXPECT_STATUS(sent, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(sent.wr_id, id);
        EXPECT_EQ(sent.qp_num, a.qp->qp_num);
        const ibv_wc received = next(a.recv_cq);
        EXPECT_STATUS(received, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(received.wr_id, 10 + id);
    }
}

TEST_F(Statuses, AResetForgetsWorkWithoutAWord) {
    connect(a, b);
    const Buffer memory = buffer(64);
    for (std::uint64_t id = 0; id < 3; ++id) {
        ASSERT_EQ(Work(IBV_WR_SEND, id, {memory.piece(0, 4)}).post(a), 0);
        ASSERT_EQ(post_receive(a, 10 + id, {memory.all()}), 0);
    }

    ASSERT_EQ(to_state(a, IBV_QPS_RESET), 0);

    EXPECT_TRUE(stays_empty(a.send_cq));
    EXPECT_TRUE(stays_empty(a.recv_cq));
}

TEST_F(Statuses, DestroyingAQueuePairTakesItsCompletionsAlong) {
    connect(a, b);
    const Buffer memory = buffer(64);
    ASSERT_EQ(post_receive(b, 1, {memory.piece(0, 16)}), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, 4)}).post(a), 0);
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);

    a.qp.reset();

    EXPECT_TRUE(stays_empty(a.send_cq));
}

TEST_F(Statuses, HaveNamesOfTheirOwn) {
    std::set<std::string> names;

    for (int status = IBV_WC_SUCCESS; status <= IBV_WC_GENERAL_ERR; ++status)
        names.insert(ibv_wc_status_str(static_cast<ibv_wc_status>(status)));

    EXPECT_EQ(names.size(), static_cast<std::size_t>(IBV_WC_GENERAL_ERR) + 1);
    EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
}

// UC tells the sender nothing of what went wrong at the other end.
TEST_F(Statuses, OfUnreliableConnectionsKnowNothingOfTheTarget) {
    NodeOptions options;
    options.type = IBV_QPT_UC;
    Node c = node(options);
    Node d = node(options);
    connect(c, d);
    const Buffer source = buffer(64, 1);
    const Buffer target = buffer(64, 2);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {source.piece(0, 8)}).to(target.address(), target.mr->rkey ^ 0x4400).post(c),
              0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {source.piece(0, 8)}).post(c), 0);

    EXPECT_STATUS(next(c.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(c.send_cq), IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, std::vector<std::uint8_t>(64, 2));
}

TEST_F(Statuses, UnreliableConnectionsCarryWhatHasAReceive) {
    NodeOptions options;
    options.type = IBV_QPT_UC;
    Node c = node(options);
    Node d = node(options);
    connect(c, d);
    const Buffer source = buffer(5000, 1);
    const Buffer target = buffer(5000, 2);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, {source.all()}).post(c), 0);  // finds no receive and is dropped
    EXPECT_STATUS(next(c.send_cq), IBV_WC_SUCCESS);
    ASSERT_EQ(post_receive(d, 7, {target.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, 2, {source.all()}).immediate(9).post(c), 0);

    const ibv_wc wc = next(d.recv_cq);
    EXPECT_STATUS(wc, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.byte_len, 5000u);
    EXPECT_EQ(be32toh(wc.imm_data), 9u);
    EXPECT_EQ(target.bytes, source.bytes);
}

}  // namespace
}  // namespace loom::conformance
