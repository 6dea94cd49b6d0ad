// Shared receive queues, and the asynchronous events of queue pairs.
#include <fcntl.h>

#include <set>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

class SharedReceive : public Bed {
protected:
    SharedReceive() {
        ibv_srq_init_attr attributes{};
        attributes.attr = {8, 2, 0};
        srq.reset(ibv_create_srq(pd.get(), &attributes));
        granted = attributes.attr;
        NodeOptions options;
        options.srq = srq.get();
        for (int i = 0; i < 2; ++i) {
            senders.push_back(node());
            receivers.push_back(node(options));
            connect(senders.back(), receivers.back());
        }
    }

    void send(std::size_t from, std::uint64_t id, const Buffer& memory, std::size_t length) {
        ASSERT_EQ(Work(IBV_WR_SEND, id, {memory.piece(0, length)}).post(senders[from]), 0);
        ASSERT_EQ(next(senders[from].send_cq).status, IBV_WC_SUCCESS);
    }
    // Disarmed events stay unsaid for a while.
    [[nodiscard]] bool quiet() const { return !has_event(context->async_fd, std::chrono::milliseconds(20)); }

    Srq srq;
    ibv_srq_attr granted{};
    std::vector<Node> senders, receivers;
};

TEST_F(SharedReceive, ServesWhoeverComesFirstInTheOrderOfPosting) {
    Buffer source = buffer(16, 1);
    const Buffer target = buffer(64);
    for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(post_receive(srq.get(), id, {target.piece(id * 16, 16)}), 0);

    send(1, 1, source, 3);
    send(0, 2, source, 4);
    send(1, 3, source, 5);

    ibv_wc wc = next(receivers[1].recv_cq);
    EXPECT_EQ(wc.wr_id, 0u);
    EXPECT_EQ(wc.byte_len, 3u);
    EXPECT_EQ(wc.qp_num, receivers[1].qp->qp_num);
    wc = next(receivers[0].recv_cq);
    EXPECT_EQ(wc.wr_id, 1u);
    EXPECT_EQ(wc.qp_num, receivers[0].qp->qp_num);
    EXPECT_EQ(next(receivers[1].recv_cq).wr_id, 2u);
    EXPECT_EQ(target.bytes[16 + 3], 1);
    EXPECT_EQ(target.bytes[16 + 4], 0);
}

TEST_F(SharedReceive, ThatIsEmptyMakesSendersWait) {
    const Buffer memory = buffer(64);
    ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.piece(0, 4)}).post(senders[0]), 0);
    EXPECT_TRUE(stays_empty(senders[0].send_cq));

    ASSERT_EQ(post_receive(srq.get(), 1, {memory.all()}), 0);

    EXPECT_STATUS(next(senders[0].send_cq), IBV_WC_SUCCESS);
}

TEST_F(SharedReceive, BeyondItsLengthIsOutOfMemory) {
    const Buffer memory = buffer(16);
    for (std::uint32_t id = 0; id < granted.max_wr; ++id) ASSERT_EQ(post_receive(srq.get(), id, {memory.all()}), 0);

    EXPECT_EQ(post_receive(srq.get(), 99, {memory.all()}), ENOMEM);
}

TEST_F(SharedReceive, WithTooManyPiecesIsRefused) {
    const Buffer memory = buffer(16);

    EXPECT_EQ(post_receive(srq.get(), 1, std::vector<ibv_sge>(granted.max_sge + 1, memory.piece(0, 1))), EINVAL);
}

TEST_F(SharedReceive, TellsOnceWhenFewerThanTheLimitAreLeft) {
    const Buffer memory = buffer(16);
    for (std::uint64_t id = 0; id < 6; ++id) ASSERT_EQ(post_receive(srq.get(), id, {memory.all()}), 0);
    ibv_srq_attr limit{};
    limit.srq_limit = 4;
    ASSERT_EQ(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), 0);

    send(0, 1, memory, 1);
    send(0, 2, memory, 1);
    EXPECT_TRUE(quiet()) << "four are left, which is not fewer than four";
    send(0, 3, memory, 1);

    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, srq.get());
    send(0, 4, memory, 1);
    EXPECT_TRUE(quiet());
    ibv_srq_attr now{};
    ASSERT_EQ(ibv_query_srq(srq.get(), &now), 0);
    EXPECT_EQ(now.srq_limit, 0u) << "disarmed";
}

TEST_F(SharedReceive, TellsAtOnceWhenFewerThanTheLimitAreThere) {
    ibv_srq_attr limit{};
    limit.srq_limit = 1;

    ASSERT_EQ(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), 0);

    EXPECT_EQ(next_event(context).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
}

TEST_F(SharedReceive, KeepsWhatItHoldsWhenResized) {
    const Buffer source = buffer(16, 1), target = buffer(64);
    for (std::uint64_t id = 0; id < 3; ++id)
        ASSERT_EQ(post_receive(srq.get(), id, {target.piece(id * 16, 4), target.piece(id * 16 + 8, 4)}), 0);
    ibv_srq_attr larger{};
    larger.max_wr = 64;

    ASSERT_EQ(ibv_modify_srq(srq.get(), &larger, IBV_SRQ_MAX_WR), 0);

    for (std::uint64_t id = 0; id < 3; ++id) {
        send(0, id, source, 8);
        EXPECT_EQ(next(receivers[0].recv_cq).wr_id, id);
        EXPECT_EQ(target.bytes[id * 16 + 3], 1);
        EXPECT_EQ(target.bytes[id * 16 + 4], 0);
        EXPECT_EQ(target.bytes[id * 16 + 11], 1);
    }
    ibv_srq_attr now{};
    ASSERT_EQ(ibv_query_srq(srq.get(), &now), 0);
    EXPECT_GE(now.max_wr, 64u);
}

TEST_F(SharedReceive, RefusesALimitAboveItsLength) {
    ibv_srq_attr limit{};
    limit.srq_limit = granted.max_wr + 1;

    EXPECT_EQ(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), EINVAL);
}

TEST_F(SharedReceive, AnswersWithWhatItWasMadeWith) {
    ibv_srq_attr now{};

    ASSERT_EQ(ibv_query_srq(srq.get(), &now), 0);

    EXPECT_GE(granted.max_wr, 8u);
    EXPECT_GE(granted.max_sge, 2u);
    EXPECT_EQ(now.max_wr, granted.max_wr);
    EXPECT_EQ(now.max_sge, granted.max_sge);
}

TEST_F(SharedReceive, IsNotFlushedWithAQueuePairWhichTellsThatItIsDone) {
    const Buffer memory = buffer(16);
    ASSERT_EQ(post_receive(srq.get(), 1, {memory.all()}), 0);

    ASSERT_EQ(to_state(receivers[0], IBV_QPS_ERR), 0);

    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    EXPECT_EQ(event.element.qp, receivers[0].qp.get());
    EXPECT_TRUE(stays_empty(receivers[0].recv_cq));
    send(1, 1, memory, 4);
    EXPECT_EQ(next(receivers[1].recv_cq).wr_id, 1u);
}

TEST_F(SharedReceive, CannotGoBeforeItsQueuePairs) {
    EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY);

    receivers.clear();
    EXPECT_EQ(ibv_destroy_srq(srq.release()), 0);
}

TEST_F(SharedReceive, OfTooManyIsRefused) {
    ibv_srq_init_attr attributes{};
    attributes.attr = {static_cast<std::uint32_t>(device.max_srq_wr) + 1, 1, 0};

    errno = 0;
    EXPECT_EQ(ibv_create_srq(pd.get(), &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

class Events : public Bed {};

TEST_F(Events, TellThatAConnectionStandsWhenAMessageComesBeforeReadyToSend) {
    Node a = node();
    Node b = node();
    ASSERT_EQ(to_init(b, IBV_QPT_RC), 0);
    ASSERT_EQ(post_receive(b, 1, {}), 0);
    ASSERT_EQ(to_rtr(b, IBV_QPT_RC, path(), a.qp->qp_num, a.psn), 0);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    ASSERT_EQ(to_rtr(a, IBV_QPT_RC, path(), b.qp->qp_num, b.psn), 0);
    ASSERT_EQ(to_rts(a, IBV_QPT_RC), 0);

    ASSERT_EQ(Work(IBV_WR_SEND, 1).post(a), 0);

    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_COMM_EST);
    EXPECT_EQ(event.element.qp, b.qp.get());
}

TEST_F(Events, TellOfARefusedAccessAtTheTarget) {
    Node a = node();
    Node b = node();
    connect(a, b);
    const Buffer memory = buffer(16);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {memory.piece(0, 4)}).to(memory.address(), 0x777).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_REM_ACCESS_ERR);

    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(event.element.qp, b.qp.get());
}

TEST_F(Events, TellOfADrainedSendQueueWhenAsked) {
    Node a = node();
    Node b = node();
    connect(a, b);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_SQD;
    attributes.en_sqd_async_notify = 1;

    ASSERT_EQ(ibv_modify_qp(a.qp.get(), &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);

    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
    EXPECT_EQ(event.element.qp, a.qp.get());
}

TEST_F(Events, ThatAreNotThereAreSaidAtOnceWhenTheDescriptorDoesNotBlock) {
    ASSERT_EQ(fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK), 0);
    ibv_async_event event{};

    errno = 0;
    EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Events, HaveNamesOfTheirOwn) {
    std::set<std::string> names;

    for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_GID_CHANGE; ++type)
        names.insert(ibv_event_type_str(static_cast<ibv_event_type>(type)));

    EXPECT_EQ(names.size(), static_cast<std::size_t>(IBV_EVENT_GID_CHANGE) + 1);
}

}  // namespace
}  // namespace loom::conformance
