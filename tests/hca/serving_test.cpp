// Who serves the engine: its own thread, or one of the program's.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "hca/engine_bed.hpp"

namespace loom::hca {
namespace {

class Serving : public EngineTest {
protected:
    // The system call in which the engine's own thread is; -1: in none.
    static long call_of_its_thread() {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            std::string name;
            std::getline(std::ifstream(task.path() / "comm"), name);
            long call = -1;
            if (name == "loom-verbs" && std::ifstream(task.path() / "syscall") >> call) return call;
        }
        return -1;
    }
    static bool comes_to(long call) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (call_of_its_thread() != call) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }
    static bool rings(int bell) {
        pollfd set{bell, POLLIN, 0};
        return ::poll(&set, 1, 0) == 1;
    }
};

// Both may sleep on the same descriptors for a moment: what is rung for one must not be taken by the other.
TEST_F(Serving, TheThreadLeavesTheBellToWhoHasTakenOver) {
    Engine& a = *engine();
    Channel channel;
    ASSERT_TRUE(comes_to(SYS_ppoll));
    {
        const Guard guard(a);
        ServiceProbe(a).waited_for = &channel;
        ServiceProbe(a).served_since = now_ns();
        ServiceProbe(a).served = true;
    }

    eventfd_write(ServiceProbe(a).bell, 1);

    ASSERT_TRUE(comes_to(SYS_futex)) << "it stands by";
    EXPECT_TRUE(rings(ServiceProbe(a).bell));
    {
        const Guard guard(a);
        ServiceProbe(a).waited_for = nullptr;
        ServiceProbe(a).served_until = 0;
    }
    EXPECT_TRUE(comes_to(SYS_ppoll)) << "it takes over again";
}

TEST_F(Serving, WhoHasWaitedForLongIsNotLookedAfter) {
    Engine& a = *engine();
    Channel channel;
    {
        const Guard guard(a);
        ServiceProbe(a).waited_for = &channel;
        ServiceProbe(a).served_since = 1;  // long ago
        ServiceProbe(a).served = true;
        eventfd_write(ServiceProbe(a).bell, 1);
    }
    const auto for_good = [&] {
        const Guard guard(a);
        return ServiceProbe(a).stands_by_for_good;
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!for_good() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    ASSERT_TRUE(for_good());
    {
        const Guard guard(a);
        ServiceProbe(a).waited_for = nullptr;
        ServiceProbe(a).served_until = 0;
        ServiceProbe(a).stand_in.notify_all();
    }
    EXPECT_TRUE(comes_to(SYS_ppoll));
}

TEST_F(Serving, WhatNobodyAskedForIsNotTakenBack) {
    Engine& a = *engine();

    api::hush(context_.abi(), false);
    EXPECT_EQ(ServiceProbe(a).hushed, 0u);
    api::hush(context_.abi(), true);
    api::hush(context_.abi(), false);
    EXPECT_EQ(ServiceProbe(a).hushed, 0u);
}

TEST_F(Serving, AChannelSomebodyWaitsForIsBusy) {
    ibv_comp_channel* channel = api::create_channel(context_);
    const int gate = eventfd(0, EFD_NONBLOCK);
    std::thread waiter([&] { EXPECT_EQ(api::wait(channel, gate, 10'000'000'000), 2); });
    const auto waits = [&] {
        const Guard guard(*engine());
        return engine()->service.waited_for() != nullptr;
    };
    while (!waits()) std::this_thread::yield();

    EXPECT_EQ(api::destroy_channel(channel), EBUSY);
    eventfd_write(gate, 1);
    waiter.join();
    EXPECT_EQ(api::destroy_channel(channel), 0);
    close(gate);
}

}  // namespace
}  // namespace loom::hca
