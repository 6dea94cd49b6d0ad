// A thread that waits for events does the adapter's work meanwhile, and nothing is lost when it comes, goes, is told to
// be quiet, or is not the only one.
#include <loom/softhca.h>

#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

constexpr std::uint64_t ms = 1'000'000;

struct Script {
    Meeting meeting;
    Address one, other;
    std::atomic<std::uint32_t> sent{0}, wanted{0};
    std::atomic<bool> over{false};
};

// How often the adapter's own thread has gone to sleep.
std::uint64_t sleeps_of_its_thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name != "loom-verbs") continue;
        std::ifstream status(task.path() / "status");
        for (std::string word; status >> word;)
            if (std::uint64_t count = 0; word == "voluntary_ctxt_switches:" && status >> count) return count;
    }
    ADD_FAILURE() << "the adapter has no thread";
    return 0;
}

// Whether a thread of this process is in ppoll.
bool polls_descriptors(pid_t thread) {
    long call = -1;
    std::ifstream("/proc/self/task/" + std::to_string(thread) + "/syscall") >> call;
    return call == SYS_ppoll;
}

// A queue pair whose receives tell a channel, and room for many.
struct Listener {
    Host host;
    Channel channel{ibv_create_comp_channel(host.context.get())};
    Node node;
    Buffer memory;

    explicit Listener(int device = 1, ibv_qp_type type = IBV_QPT_RC) : host(device) {
        NodeOptions options;
        options.type = type;
        options.recv_wr = 256;
        options.cqe = 512;
        options.channel = channel.get();
        node = host.node(options);
        memory = host.buffer(4096);
    }
    void receive(unsigned count) const {
        for (unsigned i = 0; i < count; ++i) EXPECT_EQ(post_receive(node, i, {}), 0);
    }
    void arm() const { EXPECT_EQ(ibv_req_notify_cq(node.recv_cq.get(), 0), 0); }
    [[nodiscard]] unsigned take() const {
        unsigned count = 0;
        for (ibv_wc wc{}; poll(node.recv_cq, wc); ++count) EXPECT_STATUS(wc, IBV_WC_SUCCESS);
        return count;
    }
    [[nodiscard]] int wait(int fd = -1, std::uint64_t most_ns = 10'000 * ms) const {
        return loom_wait(channel.get(), fd, most_ns);
    }
};

class Waiting : public testing::Test {
protected:
    // The listener is connected; the talker sends a message whenever one more is wanted.
    void play(const std::function<void(Listener&)>& role) {
        company_.start(
            [&, role] {
                Listener listener;
                script_->other = listener.host.address(listener.node, listener.memory);
                script_->meeting.meet();
                listener.host.join(listener.node, script_->one, very_patient);
                listener.receive(250);
                script_->meeting.meet();
                role(listener);
                script_->over = true;
                script_->meeting.meet();
            },
            over_roce());
        company_.start(
            [&] {
                Host host;
                const Node node = host.node();
                script_->one = host.address(node);
                script_->meeting.meet();
                host.join(node, script_->other, very_patient);
                script_->meeting.meet();
                while (!script_->over) {
                    if (script_->sent == script_->wanted) {
                        std::this_thread::yield();
                        continue;
                    }
                    ASSERT_EQ(Work(IBV_WR_SEND, 1).post(node), 0);
                    EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
                    ++script_->sent;
                }
                script_->meeting.meet();
            },
            over_roce());
        company_.finish();
    }
    void want_one() { ++script_->wanted; }
    void await_sent() {
        await([&] { return script_->sent == script_->wanted; }, "a message to be acknowledged");
    }

    Shared<Script> script_;
    Company company_;
};

TEST_F(Waiting, ItHearsOfEveryMessageAndTheAdaptersThreadSleepsOn) {
    play([&](Listener& listener) {
        constexpr unsigned messages = 100;
        EXPECT_EQ(listener.wait(-1, 1 * ms), 0);
        const std::uint64_t before = sleeps_of_its_thread();
        const std::int64_t began = now_us();
        for (unsigned i = 0; i < messages; ++i) {
            listener.arm();
            want_one();
            ASSERT_EQ(listener.wait(), LOOM_WAIT_EVENT);
            ASSERT_EQ(listener.take(), 1u);
        }
        // It looks now and then whether anybody still serves, and may have to wait for the lock then.
        const auto looks = static_cast<std::uint64_t>((now_us() - began) / 4000);
        EXPECT_LE(sleeps_of_its_thread() - before, 4 * looks + messages / 2);
    });
}

// Whoever served before must not take the bell of who serves now.
TEST_F(Waiting, NoEventIsMissedWhoeverServedBefore) {
    play([&](Listener& listener) {
        for (unsigned round = 0; round < rounds(100); ++round) {
            // The adapter's thread takes over.
            want_one();
            await_sent();
            await([&] { return listener.take() == 1; }, "a message");
            listener.arm();
            std::thread sender([&] { want_one(); });
            EXPECT_EQ(listener.wait(), LOOM_WAIT_EVENT);
            sender.join();
            EXPECT_EQ(listener.take(), 1u);
        }
    });
}

TEST_F(Waiting, AnotherDescriptorAndTheTimeEndItToo) {
    play([&](Listener& listener) {
        const int other = eventfd(0, EFD_NONBLOCK);
        EXPECT_EQ(listener.wait(other, 2 * ms), 0);
        std::thread([&] { eventfd_write(other, 1); }).join();
        EXPECT_EQ(listener.wait(other), LOOM_WAIT_OTHER);
        eventfd_t count = 0;
        EXPECT_EQ(eventfd_read(other, &count), 0);
        std::thread later([&] { eventfd_write(other, 1); });
        EXPECT_EQ(listener.wait(other), LOOM_WAIT_OTHER);
        later.join();
        close(other);
    });
}

// The event was there before anybody waited: the descriptor tells of it, and must not any more.
TEST_F(Waiting, AnEventThatCameEarlierIsTaken) {
    play([&](Listener& listener) {
        listener.arm();
        want_one();
        await_sent();
        await([&] { return conformance::has_event(listener.channel->fd, std::chrono::milliseconds(10)); }, "the event");

        EXPECT_EQ(listener.wait(), LOOM_WAIT_EVENT);
        EXPECT_FALSE(conformance::has_event(listener.channel->fd, std::chrono::milliseconds(0)));
        EXPECT_EQ(listener.take(), 1u);
    });
}

// The sender hears that a message has come only if somebody took it in.
TEST_F(Waiting, WhoWaitedAndWentIsReplaced) {
    play([&](Listener& listener) {
        for (unsigned round = 0; round < 3; ++round) {
            EXPECT_EQ(listener.wait(-1, 1 * ms), 0);
            want_one();
            await_sent();  // without a call
            await([&] { return listener.take() == 1; }, "the message");
        }
    });
}

TEST_F(Waiting, SeveralThreadsWaitAtOnce) {
    play([&](Listener& listener) {
        constexpr unsigned threads = 3;
        const int gate = eventfd(0, EFD_NONBLOCK);
        listener.arm();
        std::array<int, threads> ends{};
        std::vector<std::thread> waiting;
        for (int& end : ends) waiting.emplace_back([&] { end = listener.wait(gate); });
        want_one();
        await_sent();
        eventfd_write(gate, 1);  // one has the event, the others are let go
        for (std::thread& thread : waiting) thread.join();

        unsigned events = 0;
        for (const int end : ends) events += (end & LOOM_WAIT_EVENT) != 0 ? 1 : 0;
        EXPECT_EQ(events, 1u);
        EXPECT_EQ(listener.take(), 1u);
        close(gate);
    });
}

// Inside a process no packet wakes anybody, and on an unreliable connection no timer: whoever sends rings.
TEST_F(Waiting, WhatAnotherThreadSendsIsHeardOf) {
    company_.start([&] {
        Listener listener(0, IBV_QPT_UC);
        NodeOptions options;
        options.type = IBV_QPT_UC;
        const Node sender = listener.host.node(options);
        listener.host.join(sender, listener.host.address(listener.node), patient);
        listener.host.join(listener.node, listener.host.address(sender), patient);
        listener.receive(20);
        for (unsigned round = 0; round < 20; ++round) {
            std::atomic<pid_t> waiting{0};
            listener.arm();
            std::thread waiter([&] {
                waiting = gettid();
                EXPECT_EQ(listener.wait(), LOOM_WAIT_EVENT);
            });
            await([&] { return waiting != 0 && polls_descriptors(waiting); }, "the thread to wait");
            EXPECT_EQ(Work(IBV_WR_SEND, 1).post(sender), 0);
            waiter.join();
            EXPECT_EQ(listener.take(), 1u);
            EXPECT_STATUS(next(sender.send_cq), IBV_WC_SUCCESS);
        }
    });
    company_.finish();
}

TEST_F(Waiting, ADeviceThatIsClosedLetsItGo) {
    company_.start([&] {
        ibv_device** list = ibv_get_device_list(nullptr);
        // Nobody may destroy what somebody waits for; so that it counts as known, not as leaked.
        static auto& left_behind = *new std::vector<ibv_comp_channel*>;
        for (unsigned round = 0; round < 20; ++round) {
            ibv_context* context = ibv_open_device(list[0]);
            ASSERT_NE(context, nullptr);
            ibv_comp_channel* channel = left_behind.emplace_back(ibv_create_comp_channel(context));
            std::atomic<pid_t> waiting{0};
            const std::int64_t began = now_us();
            std::thread waiter([&] {
                waiting = gettid();
                EXPECT_EQ(loom_wait(channel, -1, 100'000 * ms), 0);
            });
            await([&] { return waiting != 0 && polls_descriptors(waiting); }, "the thread to wait");
            EXPECT_EQ(ibv_close_device(context), 0);
            waiter.join();
            EXPECT_LT(now_us() - began, 50'000'000);
        }
        ibv_free_device_list(list);
    });
    company_.finish();
}

// Whoever told the others to be quiet takes the message itself and asks for the next: they hear of that one alone.
TEST_F(Waiting, QuietLeavesThePacketsToWhoAskedForIt) {
    play([&](Listener& listener) {
        std::atomic<unsigned> heard{0}, taken{0};
        std::atomic<pid_t> waiting{0};
        listener.arm();
        std::thread waiter([&] {
            waiting = gettid();
            while (taken < 2)
                if ((listener.wait() & LOOM_WAIT_EVENT) != 0) {
                    ++heard;
                    taken += listener.take();
                }
        });
        await([&] { return waiting != 0 && polls_descriptors(waiting); }, "the thread to wait");
        loom_hush(listener.host.context.get(), 1);
        want_one();
        await([&] { return (taken += listener.take()) == 1; }, "the message");
        listener.arm();
        loom_hush(listener.host.context.get(), 0);
        await_sent();
        want_one();
        waiter.join();

        EXPECT_EQ(heard, 1u);
        EXPECT_EQ(taken, 2u);
    });
}

TEST_F(Waiting, WhatCameWhileItWasQuietIsHeardOfAfterwards) {
    play([&](Listener& listener) {
        for (unsigned round = 0; round < 20; ++round) {
            listener.arm();
            std::thread waiter([&] { EXPECT_EQ(listener.wait(), LOOM_WAIT_EVENT); });
            loom_hush(listener.host.context.get(), 1);
            loom_hush(listener.host.context.get(), 1);
            want_one();
            loom_hush(listener.host.context.get(), 0);
            loom_hush(listener.host.context.get(), 0);
            waiter.join();
            await([&] { return listener.take() == 1; }, "the message");
        }
    });
}

}  // namespace
}  // namespace loom::properties
