// Programs that fork and exec: connections are the parent's, children begin anew, and an exec ends what was there.
#include <dirent.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

struct Pair {
    Meeting meeting;
    Address one, other;
    std::atomic<bool> over{false};
    std::atomic<std::uint32_t> steps{0};
};

// A process with a connection, and all kinds of objects.
struct Connected {
    Host host;
    Channel channel{ibv_create_comp_channel(host.context.get())};
    Node node;
    Buffer memory = host.buffer(4096, 1);

    Connected(Meeting& meeting, Address& mine, const Address& theirs) : node(make()) {
        mine = host.address(node, memory);
        meeting.meet();
        host.join(node, theirs, patient);
        meeting.meet();
    }
    Node make() {
        NodeOptions options;
        options.channel = channel.get();
        return host.node(options);
    }
    void send(std::uint32_t id) const {
        ASSERT_EQ(Work(IBV_WR_SEND, id, {memory.piece(0, 64)}).post(node), 0);
        ASSERT_STREQ(ibv_wc_status_str(next(node.send_cq).status), ibv_wc_status_str(IBV_WC_SUCCESS));
    }
    void receive(std::uint32_t id) const {
        ASSERT_EQ(post_receive(node, id, {memory.piece(0, 64)}), 0);
        ASSERT_STREQ(ibv_wc_status_str(next(node.recv_cq).status), ibv_wc_status_str(IBV_WC_SUCCESS));
    }
};

// What the descriptors of this process lead to.
std::vector<std::string> open_descriptors() {
    std::vector<std::string> targets;
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder)) {
        char target[256];
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
        if (length > 0) targets.emplace_back(target, static_cast<std::size_t>(length));
    }
    closedir(folder);
    return targets;
}

void expect_no_part_in(const Connected& mine) {
    ibv_wc wc{};
    EXPECT_LT(ibv_poll_cq(mine.node.send_cq.get(), 1, &wc), 0);
    EXPECT_NE(Work(IBV_WR_SEND, 1, {mine.memory.piece(0, 64)}).post(mine.node), 0);
    EXPECT_NE(post_receive(mine.node, 1, {mine.memory.piece(0, 64)}), 0);
    EXPECT_NE(ibv_req_notify_cq(mine.node.send_cq.get(), 0), 0);
    EXPECT_EQ(ibv_alloc_pd(mine.host.context.get()), nullptr);
    EXPECT_EQ(ibv_reg_mr(mine.host.pd.get(), const_cast<std::uint8_t*>(mine.memory.bytes.data()), 64, 0), nullptr);
    EXPECT_EQ(ibv_create_cq(mine.host.context.get(), 1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(ibv_create_comp_channel(mine.host.context.get()), nullptr);
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(mine.channel.get(), &cq, &cq_context), -1);
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(mine.host.context.get(), &event), -1);
    EXPECT_NE(conformance::to_state(mine.node, IBV_QPS_ERR), 0);
    EXPECT_NE(ibv_dereg_mr(mine.memory.mr.get()), 0);
    EXPECT_NE(ibv_destroy_qp(mine.node.qp.get()), 0);
    EXPECT_NE(ibv_destroy_cq(mine.node.send_cq.get()), 0);
    EXPECT_NE(ibv_destroy_comp_channel(mine.channel.get()), 0);
    EXPECT_NE(ibv_dealloc_pd(mine.host.pd.get()), 0);
}

// Runs in a child that has inherited everything; ends without cleaning up what is not its own.
template <class Child>
int in_child(const Child& child) {
    const pid_t process = fork();
    if (process == 0) {
        alarm(30);
        child();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(process, &status, 0);
    return status;
}

// The other side of a connection: takes messages until the end.
void take_all(Pair& pair) {
    const Connected mine(pair.meeting, pair.other, pair.one);
    for (std::uint32_t id = 0; id < 16; ++id) ASSERT_EQ(post_receive(mine.node, id, {mine.memory.piece(0, 64)}), 0);
    pair.meeting.meet();
    while (!pair.over.load()) {
        ibv_wc wc{};
        if (!poll(mine.node.recv_cq, wc)) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_STREQ(ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_SUCCESS));
        ASSERT_EQ(post_receive(mine.node, wc.wr_id, {mine.memory.piece(0, 64)}), 0);
    }
    pair.meeting.meet();
}

void check_fork(const std::function<void(Connected&)>& test) {
    Shared<Pair> pair;
    Company company;
    company.start([&] { take_all(*pair); });
    company.start([&] {
        Connected mine(pair->meeting, pair->one, pair->other);
        pair->meeting.meet();
        mine.send(1);
        test(mine);
        mine.send(2);
        pair->over.store(true);
        pair->meeting.meet();
    });

    company.finish();
}

TEST(Fork, ChildHoldsNoDescriptorOfTheParentsConnections) {
    check_fork([](Connected&) {
        EXPECT_EQ(in_child([] {
                      unsigned events = 0;
                      for (const std::string& target : open_descriptors()) {
                          EXPECT_EQ(target.find("socket:"), std::string::npos) << target;
                          EXPECT_EQ(target.find("memfd:loom"), std::string::npos) << target;
                          EXPECT_EQ(target.find("eventpoll"), std::string::npos) << target;
                          EXPECT_EQ(target.find("pidfd"), std::string::npos) << target;
                          if (target.find("eventfd") != std::string::npos) ++events;
                      }
                      EXPECT_LE(events, 2u) << "more than the device's and the channel's, which the program has seen";
                  }),
                  0);
    });
}

TEST(Fork, ChildHasNoPartInInheritedObjects) {
    check_fork([](Connected& mine) { EXPECT_EQ(in_child([&] { expect_no_part_in(mine); }), 0); });
}

#ifndef __SANITIZE_THREAD__  // which allows no threads in the child of a program with threads
TEST(Fork, ChildOpensAnewBesideWhatItInherited) {
    check_fork([](Connected& mine) {
        EXPECT_EQ(in_child([&] {
                      {
                          Host own;
                          const Node a = own.node(), b = own.node();
                          const Buffer memory = own.buffer(4096, 3);
                          own.join(a, own.address(b));
                          own.join(b, own.address(a));
                          expect_no_part_in(mine);
                          ASSERT_EQ(post_receive(b, 1, {memory.piece(0, 64)}), 0);
                          ASSERT_EQ(Work(IBV_WR_SEND, 2, {memory.piece(64, 64)}).post(a), 0);
                          EXPECT_STATUS(next(a.send_cq), IBV_WC_SUCCESS);
                          EXPECT_STATUS(next(b.recv_cq), IBV_WC_SUCCESS);
                      }
                      // The last device of its own is closed: nothing is left to work with.
                      expect_no_part_in(mine);
                      EXPECT_EQ(ibv_close_device(mine.host.context.get()), 0);
                  }),
                  0);
    });
}
#endif

TEST(Fork, ChildAndGrandchildEndAsTheyLike) {
    check_fork([](Connected& mine) {
        EXPECT_EQ(in_child([] {}), 0);
        mine.send(10);
        EXPECT_EQ(in_child([] { in_child([] {}); }), 0);
        mine.send(11);
        EXPECT_EQ(in_child([] { execl("/bin/true", "true", nullptr); }), 0);
        mine.send(12);
        EXPECT_TRUE(WIFSIGNALED(in_child([] { raise(SIGKILL); })));
        mine.send(13);
    });
}

// Forks at any moment: the engine must never be caught half way.
TEST(Fork, WhileAnotherThreadSends) {
    check_fork([](Connected& mine) {
        std::atomic<bool> over{false};
        std::thread forks([&] {
            for (unsigned i = 0; i < rounds(50); ++i) EXPECT_EQ(in_child([] {}), 0);
            over.store(true);
        });
        for (std::uint32_t id = 100; !over.load(); ++id) mine.send(id);
        forks.join();
    });
}

TEST(Exec, OfAConnectedProcessIsItsEnd) {
    Shared<Pair> pair;
    Company company;
    const pid_t gone = company.start([&] {
        const Connected mine(pair->meeting, pair->other, pair->one);
        pair->meeting.meet();
        execl("/bin/sleep", "sleep", "60", nullptr);
        throw std::runtime_error("exec");
    });
    company.start([&] {
        const Connected mine(pair->meeting, pair->one, pair->other);
        ASSERT_EQ(post_receive(mine.node, 1, {mine.memory.piece(0, 64)}), 0);
        pair->meeting.meet();
        EXPECT_STATUS(next(mine.node.recv_cq), IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(mine.node.state(), IBV_QPS_ERR);
        EXPECT_EQ(kill(gone, SIGKILL), 0) << "it was to be found by its exec, not by its end";
    });

    EXPECT_TRUE(WIFSIGNALED(company.wait(gone)));
    company.finish();
}

}  // namespace
}  // namespace loom::properties
