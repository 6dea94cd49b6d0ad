// The target computes and makes no call; what others ask of its adapter happens all the same, and soon.
#include <poll.h>

#include <algorithm>
#include <array>
#include <thread>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

constexpr unsigned batch = 20, batches = 10;
constexpr std::int64_t soon_us = sanitized ? 10'000 : 1000;

struct Script {
    Meeting meeting;
    Address initiator, target;
    std::atomic<std::uint32_t> armed{0};    // rounds for which the target waits for its event
    std::atomic<std::int64_t> event_at{0};  // when the last one came
    std::atomic<std::uint32_t> events{0};
    std::atomic<bool> over{false};
};

// Work that never calls anything.
void compute_until(const std::atomic<bool>& over) {
    volatile std::uint64_t sum = 0;
    while (!over.load(std::memory_order_relaxed))
        for (unsigned i = 0; i < 10'000; ++i) sum = sum + i * i;
}

// The middle of each batch of rounds; the best of them tells what the adapter takes when the machine lets it run.
class Delays {
public:
    void add(std::int64_t us) { all_.push_back(us); }
    [[nodiscard]] std::int64_t best_median() const {
        std::int64_t best = -1;
        for (std::size_t at = 0; at + batch <= all_.size(); at += batch) {
            std::vector<std::int64_t> part(all_.begin() + static_cast<std::ptrdiff_t>(at),
                                           all_.begin() + static_cast<std::ptrdiff_t>(at + batch));
            std::nth_element(part.begin(), part.begin() + batch / 2, part.end());
            if (best < 0 || part[batch / 2] < best) best = part[batch / 2];
        }
        return best;
    }

private:
    std::vector<std::int64_t> all_;
};

// Polls for long, then computes without a call until the script is over.
void computing_target(Script& script, bool denied) {
    if (denied) deny_process_copies();
    Host host;
    const Channel channel(ibv_create_comp_channel(host.context.get()));
    NodeOptions options;
    options.recv_wr = 512;
    options.cqe = 1024;
    options.channel = channel.get();
    const Node node = host.node(options);
    const Buffer memory = host.buffer(64 * 1024, 7);
    script.target = host.address(node, memory);
    script.meeting.meet();
    host.join(node, script.initiator, patient);
    for (unsigned i = 0; i < 512; ++i) EXPECT_EQ(post_receive(node, i, {memory.piece(0, 4096)}), 0);
    std::thread listener([&] {
        while (!script.over.load()) {
            ibv_wc wc{};
            EXPECT_EQ(ibv_req_notify_cq(node.recv_cq.get(), 0), 0);
            while (poll(node.recv_cq, wc)) EXPECT_STATUS(wc, IBV_WC_SUCCESS);
            script.armed.fetch_add(1);
            pollfd waiting{channel->fd, POLLIN, 0};
            while (::poll(&waiting, 1, 100) == 0)
                if (script.over.load()) return;
            script.event_at.store(now_us());
            script.events.fetch_add(1);
            ibv_cq* cq = nullptr;
            void* cq_context = nullptr;
            EXPECT_EQ(ibv_get_cq_event(channel.get(), &cq, &cq_context), 0);
            ibv_ack_cq_events(cq, 1);
        }
    });
    ibv_wc wc{};
    for (unsigned i = 0; i < 1000; ++i) EXPECT_FALSE(poll(node.send_cq, wc));
    script.meeting.meet();
    compute_until(script.over);
    listener.join();
}

void check_computing_target(ibv_wr_opcode opcode, std::uint32_t size, bool event, bool denied = false) {
    Shared<Script> script;
    Company company;
    company.start([&] { computing_target(*script, denied); });
    company.start([&] {
        if (denied) deny_process_copies();
        Host host;
        const Node node = host.node();
        const Buffer memory = host.buffer(64 * 1024, 9);
        script->initiator = host.address(node, memory);
        script->meeting.meet();
        host.join(node, script->target, patient);
        script->meeting.meet();
        Delays completion, notice;
        for (std::uint32_t round = 0; round < batch * batches; ++round) {
            if (event) await([&] { return script->armed.load() == round + 1; }, "the target to listen");
            Work work(opcode, round, {memory.piece(0, size)});
            if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
                work.atomic(script->target.memory, script->target.rkey, 1);
            else
                work.to(script->target.memory, script->target.rkey);

            const std::int64_t began = now_us();
            ASSERT_EQ(work.post(node), 0);
            const ibv_wc wc = next(node.send_cq);
            completion.add(now_us() - began);

            ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS));
            if (event) {
                await([&] { return script->events.load() == round + 1; }, "the target's event");
                notice.add(script->event_at.load() - began);
            }
        }
        script->over.store(true);
        EXPECT_LE(completion.best_median(), soon_us) << "us until the completion";
        EXPECT_LE(notice.best_median(), soon_us) << "us until the target's event";
    });

    company.finish();
}

TEST(ComputingTarget, WritesCompleteWithoutIt) {
    check_computing_target(IBV_WR_RDMA_WRITE, 4096, false);
}
TEST(ComputingTarget, ReadsCompleteWithoutIt) {
    check_computing_target(IBV_WR_RDMA_READ, 4096, false);
}
TEST(ComputingTarget, AtomicsCompleteWithoutIt) {
    check_computing_target(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, false);
}
TEST(ComputingTarget, SendsCompleteAndTellIt) {
    check_computing_target(IBV_WR_SEND, 1024, true);
}
TEST(ComputingTarget, WritesWithImmediateCompleteAndTellIt) {
    check_computing_target(IBV_WR_RDMA_WRITE_WITH_IMM, 1024, true);
}
TEST(ComputingTarget, WritesCompleteWithoutItWhereCopiesAreDenied) {
    check_computing_target(IBV_WR_RDMA_WRITE, 4096, false, true);
}
TEST(ComputingTarget, ReadsCompleteWithoutItWhereCopiesAreDenied) {
    check_computing_target(IBV_WR_RDMA_READ, 4096, false, true);
}

}  // namespace
}  // namespace loom::properties
