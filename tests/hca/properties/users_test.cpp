// The boundary between users: a process of another user cannot attach, and still is reached by packets.
#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

constexpr uid_t stranger = 65534;

struct Users {
    Meeting meeting;
    Address one, other;
};

void become_stranger() {
    if (setgroups(0, nullptr) != 0 || setgid(stranger) != 0 || setuid(stranger) != 0)
        throw std::runtime_error(std::string("setuid: ") + std::strerror(errno));
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as after an exec
}

// The abstract name under which the process with that queue pair waits for calls of its own user.
sockaddr_un name_of(uid_t user, std::uint32_t slot, socklen_t& length) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "loom-verbs." + std::to_string(user) + "." + std::to_string(slot);
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return name;
}

// Only root can become someone else; others cannot play this test.
class UserBoundary : public testing::Test {
protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "changing the user takes root";
    }
};

TEST_F(UserBoundary, ACallOfAnotherUserIsHungUp) {
    Shared<Users> shared;
    Company company;

    company.start([&] {
        Host host;
        const Node node = host.node();
        shared->one = host.address(node);
        shared->meeting.meet();
        shared->meeting.meet();
    });
    company.start([&] {
        become_stranger();
        shared->meeting.meet();
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        socklen_t length = 0;
        const sockaddr_un name = name_of(0, shared->one.qpn >> 14, length);
        ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&name), length), 0);
        const timeval limit{20, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        char word[64] = {};
        send(fd, word, sizeof word, MSG_NOSIGNAL);
        const ssize_t heard = recv(fd, word, sizeof word, 0);
        EXPECT_TRUE(heard == 0 || (heard < 0 && errno == ECONNRESET)) << heard << " " << std::strerror(errno);
        close(fd);
        shared->meeting.meet();
    });

    company.finish();
}

// Somebody else sits on the name of a process that is not there: whoever calls it does not trust it.
TEST_F(UserBoundary, ANameTakenByAnotherUserIsNotTrusted) {
    constexpr std::uint32_t slot = 1022;
    Shared<Users> shared;
    Company company;

    company.start([&] {
        become_stranger();
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t length = 0;
        const sockaddr_un name = name_of(0, slot, length);
        ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), length), 0);
        ASSERT_EQ(listen(fd, 8), 0);
        shared->meeting.meet();
        shared->meeting.meet();
        // It has called, looked who is there, and has hung up without a word or a descriptor.
        const int caller = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
        if (caller >= 0) {
            char word[64];
            EXPECT_LE(recv(caller, word, sizeof word, MSG_DONTWAIT), 0);
            close(caller);
        }
        close(fd);
    });
    company.start([&] {
        Host host;
        const Node node = host.node();
        const Buffer memory = host.buffer(64);
        Address theirs = host.address(node);
        theirs.qpn = slot << 14 | 5;
        shared->meeting.meet();
        host.join(node, theirs);
        ASSERT_EQ(Work(IBV_WR_SEND, 1, {memory.all()}).post(node), 0);
        EXPECT_STATUS(next(node.send_cq), IBV_WC_RETRY_EXC_ERR);
        shared->meeting.meet();
    });

    company.finish();
}

TEST_F(UserBoundary, AnotherUserIsReachedByRoce) {
    Shared<Users> shared;
    const Counters counters;
    Environment environment = counters.environment();
    environment.emplace_back("LOOM_VERBS_HCAS", "roce:127.0.0.1,roce:127.0.0.2");
    environment.emplace_back("LOOM_VERBS_ROCE_PORT", std::to_string(20000 + getpid() % 20000));
    Company company;

    for (const bool first : {true, false})
        company.start(
            [&, first] {
                if (!first) become_stranger();
                Host host(first ? 0 : 1);
                const Node node = host.node();
                const Buffer memory = host.buffer(100'000, first ? 1 : 2);
                (first ? shared->one : shared->other) = host.address(node, memory);
                shared->meeting.meet();
                const Address theirs = first ? shared->other : shared->one;
                host.join(node, theirs, very_patient);
                shared->meeting.meet();
                if (first) {
                    ASSERT_EQ(
                        Work(IBV_WR_RDMA_WRITE, 1, {memory.piece(0, 50'000)}).to(theirs.memory, theirs.rkey).post(node),
                        0);
                    EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
                }
                shared->meeting.meet();
                ibv_wc none{};  // a call orders the adapter's writes before what the program does next
                EXPECT_FALSE(poll(node.recv_cq, none));
                EXPECT_EQ(memory.bytes[49'999], 1);
                EXPECT_EQ(memory.bytes[50'000], first ? 1 : 2);
            },
            first ? environment : Environment(environment.begin() + 1, environment.end()));
    company.finish();

    EXPECT_EQ(counters.sum("sent_bytes", "roce"), 50'000u);
    EXPECT_EQ(counters.sum("sent_bytes", "direct"), 0u);
}

// Processes that are no relatives, of an ordinary user: whether they may copy is Yama's matter and this switch's; that
// all arrives is not.
void check_unprivileged(const char* ptracer) {
    Shared<Users> shared;
    Company company;

    for (const bool first : {true, false})
        company.start(
            [&, first] {
                become_stranger();
                Host host;
                const Node node = host.node();
                const Buffer memory = host.buffer(100'000, first ? 1 : 2);
                (first ? shared->one : shared->other) = host.address(node, memory);
                shared->meeting.meet();
                const Address theirs = first ? shared->other : shared->one;
                host.join(node, theirs, patient);
                shared->meeting.meet();
                if (first) {
                    ASSERT_EQ(
                        Work(IBV_WR_RDMA_WRITE, 1, {memory.piece(0, 50'000)}).to(theirs.memory, theirs.rkey).post(node),
                        0);
                    EXPECT_STATUS(next(node.send_cq), IBV_WC_SUCCESS);
                }
                shared->meeting.meet();
                ibv_wc none{};  // a call orders the adapter's writes before what the program does next
                EXPECT_FALSE(poll(node.recv_cq, none));
                EXPECT_EQ(memory.bytes[49'999], 1);
            },
            {{"LOOM_VERBS_PTRACER", ptracer}});

    company.finish();
}

TEST_F(UserBoundary, OrdinaryUsersWorkWithTheTracerSwitchOn) {
    check_unprivileged("1");
}
TEST_F(UserBoundary, OrdinaryUsersWorkWithTheTracerSwitchOff) {
    check_unprivileged("0");
}

}  // namespace
}  // namespace loom::properties
