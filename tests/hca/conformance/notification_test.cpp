// Completion queues: notification, capacity, resizing, the extended interface.
#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "hca/conformance/bed.hpp"

namespace loom::conformance {
namespace {

// Of this process; what the kernel says of it ("1234 (name) S ...").
bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end != std::string::npos && line.substr(name_end + 2, 1) == "S";
}

class Notification : public Bed {
protected:
    Notification() : channel(ibv_create_comp_channel(context.get())) {
        NodeOptions options;
        options.channel = channel.get();
        a = node();
        b = node(options);
        connect(a, b);
    }

    // One message from a to b; done when the sender knows that it has arrived.
    void message(unsigned flags = 0) {
        ASSERT_EQ(post_receive(b, 1, {}), 0);
        ASSERT_EQ(Work(IBV_WR_SEND, 1).flags(IBV_SEND_SIGNALED | flags).post(a), 0);
        ASSERT_EQ(next(a.send_cq).status, IBV_WC_SUCCESS);
    }
    // Waits for an event, takes and acknowledges it.
    ibv_cq* event() {
        if (!has_event(channel->fd, patience)) {
            ADD_FAILURE() << "no event";
            return nullptr;
        }
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        EXPECT_EQ(ibv_get_cq_event(channel.get(), &cq, &cq_context), 0);
        ibv_ack_cq_events(cq, 1);
        return cq;
    }
    // An event of a queue that nothing else uses: by a receive that is flushed.
    void one_event(const Cq& cq) {
        ibv_qp_init_attr attributes{};
        attributes.qp_type = IBV_QPT_RC;
        attributes.send_cq = attributes.recv_cq = cq.get();
        attributes.cap = {4, 4, 1, 1, 0};
        const Qp qp(ibv_create_qp(pd.get(), &attributes));
        ASSERT_EQ(ibv_req_notify_cq(cq.get(), 0), 0);
        ibv_qp_attr end{};
        end.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(ibv_modify_qp(qp.get(), &end, IBV_QP_STATE), 0);
        ibv_recv_wr receive{}, *bad = nullptr;
        ASSERT_EQ(ibv_post_recv(qp.get(), &receive, &bad), 0);
    }
    [[nodiscard]] bool quiet() const { return !has_event(channel->fd, std::chrono::milliseconds(20)); }

    Channel channel;
    Node a, b;
};

TEST_F(Notification, ComesOnlyWhenAskedFor) {
    message();

    EXPECT_TRUE(quiet());
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
}

TEST_F(Notification, ComesForTheNextCompletionAndOnce) {
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);

    message();
    message();

    EXPECT_EQ(event(), b.recv_cq.get());
    EXPECT_TRUE(quiet());
}

TEST_F(Notification, OfWhatIsAlreadyThereDoesNotCome) {
    message();

    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);

    EXPECT_TRUE(quiet());
    message();
    EXPECT_EQ(event(), b.recv_cq.get());
}

TEST_F(Notification, AskedForTwiceComesOnce) {
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);

    message();

    EXPECT_EQ(event(), b.recv_cq.get());
    EXPECT_TRUE(quiet());
}

TEST_F(Notification, OfSolicitedMessagesPassesOverTheOthers) {
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 1), 0);

    message();
    EXPECT_TRUE(quiet());
    message(IBV_SEND_SOLICITED);

    EXPECT_EQ(event(), b.recv_cq.get());
}

TEST_F(Notification, OfSolicitedMessagesComesForThoseOfEveryLengthWithWhatTheyCarry) {
    for (const std::size_t length : {1u, 100u, 8192u, 100'000u}) {
        const Buffer source = buffer(length, 1), target = buffer(length);
        ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 1), 0);
        ASSERT_EQ(post_receive(b, length, {target.all()}), 0);

        ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, 1, {source.all()})
                      .immediate(77)
                      .flags(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)
                      .post(a),
                  0);

        EXPECT_EQ(event(), b.recv_cq.get());
        const ibv_wc wc = next(b.recv_cq);
        EXPECT_EQ(wc.byte_len, length);
        EXPECT_NE(wc.wc_flags & IBV_WC_WITH_IMM, 0u);
        EXPECT_EQ(ntohl(wc.imm_data), 77u);
        EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    }
}

TEST_F(Notification, GoesWithItsQueue) {
    Cq cq(ibv_create_cq(context.get(), 8, nullptr, channel.get(), 0));
    one_event(cq);
    ASSERT_TRUE(has_event(channel->fd, patience));

    cq.reset();

    EXPECT_TRUE(quiet());
}

TEST_F(Notification, HoldsItsQueueUntilItIsAcknowledged) {
    Cq cq(ibv_create_cq(context.get(), 8, nullptr, channel.get(), 0));
    one_event(cq);
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel.get(), &told, &cq_context), 0);
    std::atomic<bool> acknowledged{false}, early{false};
    std::atomic<pid_t> inside{0};

    std::thread destruction([&] {
        inside = gettid();
        cq.reset();
        early = !acknowledged;
    });
    while (!early && (inside == 0 || !sleeps(inside)))
        std::this_thread::yield();  // it waits in there, or is out already
    acknowledged = true;
    ibv_ack_cq_events(told, 1);
    destruction.join();

    EXPECT_FALSE(early);
}

TEST_F(Notification, OfAllIsNotTakenBackByOneOfSolicitedAlone) {
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 1), 0);

    message();

    EXPECT_EQ(event(), b.recv_cq.get());
}

TEST_F(Notification, OfSolicitedMessagesComesForErrorsToo) {
    ASSERT_EQ(post_receive(b, 1, {}), 0);
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 1), 0);

    ASSERT_EQ(to_state(b, IBV_QPS_ERR), 0);

    EXPECT_EQ(event(), b.recv_cq.get());
    EXPECT_STATUS(next(b.recv_cq), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Notification, OfASolicitedWriteWithImmediateComes) {
    const Buffer memory = buffer(16);
    ASSERT_EQ(post_receive(b, 1, {}), 0);
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 1), 0);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE_WITH_IMM, 1, {memory.piece(0, 4)})
                  .to(memory, 8)
                  .flags(IBV_SEND_SOLICITED | IBV_SEND_SIGNALED)
                  .post(a),
              0);

    EXPECT_EQ(event(), b.recv_cq.get());
}

TEST_F(Notification, OfSendsComesOnTheirQueue) {
    const Buffer memory = buffer(16);
    ASSERT_EQ(ibv_req_notify_cq(b.send_cq.get(), 0), 0);

    ASSERT_EQ(Work(IBV_WR_RDMA_WRITE, 1, {memory.piece(0, 4)}).to(memory, 8).post(b), 0);

    EXPECT_EQ(event(), b.send_cq.get());
    EXPECT_STATUS(next(b.send_cq), IBV_WC_SUCCESS);
}

TEST_F(Notification, WakesAThreadThatSleeps) {
    ASSERT_EQ(ibv_req_notify_cq(b.recv_cq.get(), 0), 0);
    ASSERT_EQ(post_receive(b, 9, {}), 0);
    ibv_cq* woken = nullptr;
    std::thread sleeper([&] {
        void* cq_context = nullptr;
        EXPECT_EQ(ibv_get_cq_event(channel.get(), &woken, &cq_context), 0);
        ibv_ack_cq_events(woken, 1);
    });

    ASSERT_EQ(Work(IBV_WR_SEND, 1).post(a), 0);
    sleeper.join();

    EXPECT_EQ(woken, b.recv_cq.get());
    EXPECT_EQ(next(b.recv_cq).wr_id, 9u);
}

TEST_F(Notification, ThatIsNotThereIsSaidAtOnceWhenTheChannelDoesNotBlock) {
    ASSERT_EQ(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;

    errno = 0;
    EXPECT_EQ(ibv_get_cq_event(channel.get(), &cq, &cq_context), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Notification, TellsTheContextThatTheProgramGave) {
    int own = 0;
    const Cq cq(ibv_create_cq(context.get(), 4, &own, channel.get(), 0));
    ibv_qp_init_attr attributes{};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = attributes.recv_cq = cq.get();
    attributes.cap = {1, 1, 1, 1, 0};
    const Qp qp(ibv_create_qp(pd.get(), &attributes));
    Node c;
    c.qp.reset(ibv_create_qp(pd.get(), &attributes));
    ASSERT_EQ(to_init(c, IBV_QPT_RC), 0);
    ASSERT_EQ(ibv_req_notify_cq(cq.get(), 0), 0);
    ASSERT_EQ(post_receive(c, 1, {}), 0);

    ASSERT_EQ(to_state(c, IBV_QPS_ERR), 0);

    ASSERT_TRUE(has_event(channel->fd, patience));
    ibv_cq* which = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel.get(), &which, &cq_context), 0);
    ibv_ack_cq_events(which, 1);
    EXPECT_EQ(cq_context, &own);
}

class CompletionQueues : public Bed {};

TEST_F(CompletionQueues, HoldAtLeastWhatWasAskedFor) {
    const Cq cq(ibv_create_cq(context.get(), 100, nullptr, nullptr, 0));

    EXPECT_GE(cq->cqe, 100);
}

TEST_F(CompletionQueues, OfNoOrTooManyEntriesAreRefused) {
    for (const int entries : {0, -1, device.max_cqe + 1}) {
        errno = 0;
        EXPECT_EQ(ibv_create_cq(context.get(), entries, nullptr, nullptr, 0), nullptr) << entries;
        EXPECT_EQ(errno, EINVAL) << entries;
    }
}

TEST_F(CompletionQueues, OfAVectorThatIsNotThereAreRefused) {
    errno = 0;
    EXPECT_EQ(ibv_create_cq(context.get(), 4, nullptr, nullptr, context->num_comp_vectors), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(CompletionQueues, ThatOverflowAreAnErrorEvent) {
    NodeOptions tiny;
    tiny.cqe = 1;
    Node a = node(tiny);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    const int room = a.recv_cq->cqe;
    ASSERT_LT(room, static_cast<int>(a.cap.max_recv_wr));
    for (int i = 0; i <= room; ++i) ASSERT_EQ(post_receive(a, static_cast<std::uint64_t>(i), {}), 0);

    ASSERT_EQ(to_state(a, IBV_QPS_ERR), 0);

    const ibv_async_event event = next_event(context);
    EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
    EXPECT_EQ(event.element.cq, a.recv_cq.get());
}

TEST_F(CompletionQueues, KeepWhatTheyHoldWhenResized) {
    NodeOptions options;
    options.cqe = 8;
    options.recv_wr = 8;
    Node a = node(options);
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    for (std::uint64_t id = 0; id < 6; ++id) ASSERT_EQ(post_receive(a, id, {}), 0);
    ASSERT_EQ(to_state(a, IBV_QPS_ERR), 0);
    EXPECT_EQ(next(a.recv_cq).wr_id, 0u);

    ASSERT_EQ(ibv_resize_cq(a.recv_cq.get(), 100), 0);
    EXPECT_GE(a.recv_cq->cqe, 100);
    EXPECT_EQ(next(a.recv_cq).wr_id, 1u);
    EXPECT_NE(ibv_resize_cq(a.recv_cq.get(), 1), 0) << "four completions are still in it";
    ASSERT_EQ(ibv_resize_cq(a.recv_cq.get(), 5), 0);

    for (std::uint64_t id = 2; id < 6; ++id) EXPECT_EQ(next(a.recv_cq).wr_id, id);
    EXPECT_TRUE(stays_empty(a.recv_cq));
}

TEST_F(CompletionQueues, GiveAsManyAsAskedForAtATime) {
    Node a = node();
    ASSERT_EQ(to_init(a, IBV_QPT_RC), 0);
    for (std::uint64_t id = 0; id < 5; ++id) ASSERT_EQ(post_receive(a, id, {}), 0);
    ASSERT_EQ(to_state(a, IBV_QPS_ERR), 0);
    ibv_wc done[8];

    EXPECT_EQ(ibv_poll_cq(a.recv_cq.get(), 0, done), 0);
    EXPECT_EQ(ibv_poll_cq(a.recv_cq.get(), 2, done), 2);
    EXPECT_EQ(done[1].wr_id, 1u);
    EXPECT_EQ(ibv_poll_cq(a.recv_cq.get(), 8, done), 3);
    EXPECT_EQ(done[2].wr_id, 4u);
    EXPECT_EQ(ibv_poll_cq(a.recv_cq.get(), 8, done), 0);
}

TEST_F(CompletionQueues, ThatAreExtendedTellOneFieldAtATime) {
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = 8;
    wanted.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
                      IBV_WC_EX_WITH_SLID;
    ibv_cq_ex* extended = ibv_create_cq_ex(context.get(), &wanted);
    ASSERT_NE(extended, nullptr);
    Node a = node();
    Node b = node();
    b.qp.reset();
    b.recv_cq.reset(ibv_cq_ex_to_cq(extended));
    ibv_qp_init_attr attributes{};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = b.send_cq.get();
    attributes.recv_cq = b.recv_cq.get();
    attributes.cap = {4, 4, 1, 1, 0};
    b.qp.reset(ibv_create_qp(pd.get(), &attributes));
    connect(a, b);
    const Buffer memory = buffer(64);
    ibv_poll_cq_attr poll_attributes{};
    EXPECT_EQ(ibv_start_poll(extended, &poll_attributes), ENOENT);
    ASSERT_EQ(post_receive(b, 5, {memory.all()}), 0);
    ASSERT_EQ(post_receive(b, 6, {memory.all()}), 0);

    ASSERT_EQ(Work(IBV_WR_SEND_WITH_IMM, 1, {memory.piece(0, 7)}).immediate(99).post(a), 0);
    ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.piece(0, 3)}).post(a), 0);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
    EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);

    ASSERT_EQ(ibv_start_poll(extended, &poll_attributes), 0);
    EXPECT_EQ(extended->wr_id, 5u);
    EXPECT_EQ(extended->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(extended), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(extended), 7u);
    EXPECT_EQ(be32toh(ibv_wc_read_imm_data(extended)), 99u);
    EXPECT_EQ(ibv_wc_read_wc_flags(extended) & IBV_WC_WITH_IMM, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ibv_wc_read_qp_num(extended), b.qp->qp_num);
    ASSERT_EQ(ibv_next_poll(extended), 0);
    EXPECT_EQ(extended->wr_id, 6u);
    EXPECT_EQ(ibv_wc_read_byte_len(extended), 3u);
    EXPECT_EQ(ibv_next_poll(extended), ENOENT);
    ibv_end_poll(extended);
    b.qp.reset();
}

TEST_F(CompletionQueues, ThatAreExtendedRefuseFieldsThatTheDeviceDoesNotHave) {
    ibv_cq_init_attr_ex wanted{};
    wanted.cqe = 8;
    wanted.wc_flags = std::uint64_t{1} << 62;

    errno = 0;
    EXPECT_EQ(ibv_create_cq_ex(context.get(), &wanted), nullptr);
    EXPECT_NE(errno, 0);
}

}  // namespace
}  // namespace loom::conformance
