#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "coll/workout.hpp"
#include "coll/world_state.hpp"
#include "coll/wrapped.hpp"
#include "loom/coll/typed.hpp"
#include "loom/transport/open.hpp"
#include "support/variable.hpp"

namespace loom::coll {
namespace {

using loom::test::Variable;
using testing::HasSubstr;

// Until the condition holds, without moving anything forward. Gives up after a time beyond all patience.
template <class Condition>
void look_on(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) throw Error("what the thread should do does not come about");
        std::this_thread::yield();
    }
}

timespec cpu_time(World& world) {
    clockid_t clock{};
    pthread_getcpuclockid(world.state().thread.native_handle(), &clock);
    timespec time{};
    clock_gettime(clock, &time);
    return time;
}

// Blocked until there is something to do: by its own account, and by the kernel's (of every such thread of the
// process).
bool thread_is_idle(World& world) {
    {
        const std::lock_guard lock(world.state().mutex);
        if (!world.state().thread_idle && !world.state().thread_rests) return false;
    }
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name, state;
        std::ifstream(task.path() / "comm") >> name;
        std::ifstream stat(task.path() / "stat");
        std::getline(stat, state);
        if (name == "loom-progress" && state.find(") S ") == std::string::npos) return false;
    }
    return true;
}

TEST(Progress, manual_means_that_nothing_moves_by_itself) {
    std::barrier both(2);
    run_local(2, [&](World& world) {
        world.set_progress(Progress::manual);
        std::vector<int> data(4, world.rank() == Rank{0} ? 9 : 0);
        Request request = world.communicator().ibroadcast(data, Rank{0});
        if (world.rank() == Rank{0}) request.wait();
        both.arrive_and_wait();

        const bool before = request.finished();
        request.wait();

        EXPECT_EQ(before, world.rank() == Rank{0});
        EXPECT_EQ(data, std::vector<int>(4, 9));
        EXPECT_EQ(world.progress_state().how, Progress::manual);
    });
}

TEST(Progress, a_thread_moves_operations_while_the_program_does_something_else) {
    for (const std::size_t count : {1u, 1000u, 300'000u}) {
        run_local(3, [&](World& world) {
            world.set_progress(Progress::thread);
            std::vector<std::int64_t> in(count, world.rank().value), out(count);

            Request request = world.communicator().iallreduce(in, out, std::plus<>{});
            look_on([&] { return request.finished(); });

            EXPECT_EQ(out, std::vector<std::int64_t>(count, 3));
            EXPECT_EQ(world.progress_state().how, Progress::thread);
            EXPECT_THAT(world.progress_state().why, HasSubstr("asked"));
        });
    }
}

// While a user waits, who polls, the thread leaves it alone; afterwards it must be there again.
TEST(Progress, a_thread_goes_on_after_a_user_has_waited) {
    std::atomic<World*> waiting = nullptr;
    run_local(2, [&](World& world) {
        world.set_progress(Progress::thread);
        const Communicator comm = world.communicator();
        std::vector<int> first(1, 1), second(50'000, world.rank() == Rank{0} ? 7 : 0);
        if (world.rank() == Rank{0}) waiting = &world;
        if (world.rank() == Rank{1})
            look_on([&] {
                World* const other = waiting;
                if (other == nullptr) return false;
                const std::lock_guard lock(other->state().mutex);
                return other->state().thread_idle;
            });
        comm.broadcast(first, Rank{1});

        Request request = comm.ibroadcast(second, Rank{0});
        look_on([&] { return request.finished(); });

        EXPECT_EQ(second, std::vector<int>(50'000, 7));
        comm.barrier();
    });
}

// Another transport, whose sends are counted: all, and those of the thread that made this object.
class Counted final : public Wrapped {
public:
    explicit Counted(transport::Transport& inner) : Wrapped(inner) {}
    std::atomic<std::uint32_t> sends{0}, own{0};

    bool send(Rank to, transport::Tag tag, std::span<const std::byte> data, transport::Message& message) override {
        ++sends;
        if (std::this_thread::get_id() == maker_) ++own;
        return Wrapped::send(to, tag, data, message);
    }

private:
    std::thread::id maker_ = std::this_thread::get_id();
};

TEST(Progress, where_a_core_is_spare_the_thread_sends_what_is_much) {
    transport::run_local(2, [&](transport::Transport& local) {
        Counted counted(local);
        World world(counted, nullptr);
        World::State& state = world.state();
        const Communicator comm = world.communicator();
        std::vector<std::int64_t> in(20'000, 1), out(20'000), few(4, 1), sums(4);
        // Sends of this thread, of all: for an allreduce that nobody waits for.
        const auto sends = [&](bool spare_core, std::span<std::int64_t> from, std::span<std::int64_t> to) {
            comm.barrier();
            state.spare_core = spare_core;
            const std::uint32_t own = counted.own, all = counted.sends;
            Request request = comm.iallreduce(from, to, std::plus<>{});
            look_on([&] { return request.finished(); });
            return std::pair(counted.own - own, counted.sends - all);
        };
        world.set_progress(Progress::thread);

        const auto much = sends(true, in, out), little = sends(true, few, sums), crowded = sends(false, in, out);

        EXPECT_EQ(much.first, 0u);
        EXPECT_GE(much.second, 1u);
        EXPECT_GE(little.first, 1u);
        EXPECT_GE(crowded.first, 1u);
        EXPECT_EQ(state.left_to_thread, 1u);
        EXPECT_EQ(out, std::vector<std::int64_t>(20'000, 2));
        EXPECT_EQ(sums, std::vector<std::int64_t>(4, 2));
        world.close();
    });
}

TEST(Progress, where_a_core_is_spare_the_thread_begins_what_has_much_to_reduce_though_nothing_to_send) {
    run_local(2, [&](World& world) {
        World::State& state = world.state();
        const Communicator comm = world.communicator();
        const std::vector<std::int64_t> in(20'000, 1);
        std::vector<std::int64_t> out(20'000);
        world.set_progress(Progress::thread);
        comm.barrier();
        state.spare_core = true;

        Request request = comm.ireduce(std::span(in), std::span(out), std::plus<>{}, Rank{0});
        look_on([&] { return request.finished(); });

        EXPECT_EQ(state.left_to_thread, 1u);
        if (world.rank() == Rank{0}) {
            EXPECT_EQ(out, std::vector<std::int64_t>(20'000, 2));
        }
    });
}

TEST(Progress, it_is_switched_on_and_off_while_operations_are_pending) {
    run_local(2, [&](World& world) {
        world.set_progress(Progress::manual);
        const Communicator comm = world.communicator();
        constexpr std::size_t many = 12, count = 20'000;
        std::vector<std::vector<int>> in(many, std::vector<int>(count, 1)), out(many, std::vector<int>(count));
        std::vector<Request> requests(many);

        for (std::size_t i = 0; i < many; ++i) {
            requests[i] = comm.iallreduce(in[i], out[i], std::plus<>{});
            world.set_progress(i % 2 == 0 ? Progress::thread : Progress::manual);
        }
        world.set_progress(Progress::thread);
        look_on([&] { return requests[3].finished() && requests[many - 1].finished(); });
        world.set_progress(Progress::manual);
        for (Request& request : requests) request.wait();

        for (const auto& result : out) EXPECT_EQ(result, std::vector<int>(count, 2));
        EXPECT_FALSE(world.state().thread.joinable());
    });
}

TEST(Progress, a_thread_uses_no_time_while_nothing_is_pending) {
    std::barrier both(2);
    run_local(2, [&](World& world) {
        world.set_progress(Progress::thread);
        std::vector<int> data(100'000, 1);
        Request request = world.communicator().ibroadcast(data, Rank{0});
        look_on([&] { return request.finished(); });
        both.arrive_and_wait();
        look_on([&] { return thread_is_idle(world); });
        both.arrive_and_wait();

        const timespec before = cpu_time(world);
        double work = 1;
        for (int i = 0; i < 3'000'000; ++i) work = work * 1.0000001 + 0.1;
        const timespec after = cpu_time(world);

        EXPECT_GT(work, 1);
        EXPECT_TRUE(thread_is_idle(world));
        both.arrive_and_wait();  // before anybody sends again, which would wake the other's thread
        EXPECT_EQ(before.tv_sec, after.tv_sec);
        EXPECT_EQ(before.tv_nsec, after.tv_nsec);
    });
}

TEST(Progress, a_real_time_thread_says_whether_it_is_one) {
    run_local(2, [&](World& world) {
        world.set_progress(Progress::real_time);

        const ProgressState state = world.progress_state();
        int policy = 0;
        sched_param param{};
        pthread_getschedparam(world.state().thread.native_handle(), &policy, &param);

        if (state.how == Progress::real_time) {
            EXPECT_EQ(policy, SCHED_RR);
        } else {
            EXPECT_EQ(state.how, Progress::thread);
            EXPECT_THAT(state.why, HasSubstr("refused"));
        }
    });
}

TEST(Progress, by_itself_there_is_a_thread_only_where_a_core_is_spare) {
    EXPECT_EQ(automatic_progress(1, {8, 8}, 1).how, Progress::manual);
    EXPECT_EQ(automatic_progress(2, {2, 2}, 2).how, Progress::manual);
    EXPECT_EQ(automatic_progress(4, {2, 2}, 4).how, Progress::manual);
    EXPECT_EQ(automatic_progress(4, {2, 2}, 4).why, "4 ranks on 2 cores leave none for a thread");
    EXPECT_EQ(automatic_progress(1, {2, 2}, 4).how, Progress::thread);
    EXPECT_EQ(automatic_progress(3, {4, 4}, 3).how, Progress::thread);
    EXPECT_EQ(automatic_progress(3, {4, 4}, 3).why, "3 ranks on 4 cores leave one for a thread");
    EXPECT_EQ(automatic_progress(4, {1, 2}, 4).why, "4 ranks on 2 cores leave none for a thread")
        << "ranks that are bound";
    EXPECT_EQ(automatic_progress(2, {2, 4}, 2).how, Progress::thread) << "a core of its own beside the rank's";
    EXPECT_EQ(automatic_progress(2, {1, 3}, 2).how, Progress::manual) << "the spare core is out of the thread's reach";
    run_local(transport::usable_cores() + 1, [](World& world) {
        EXPECT_EQ(world.progress_state().how, Progress::manual);
        EXPECT_FALSE(world.state().thread.joinable());
    });
}

TEST(Progress, the_environment_decides_where_it_is_asked) {
    {
        const Variable progress("LOOM_PROGRESS", "thread");
        run_local(2, [](World& world) {
            EXPECT_EQ(world.progress_state().how, Progress::thread);
            EXPECT_EQ(world.progress_state().why, "LOOM_PROGRESS=thread");
        });
    }
    {
        const Variable progress("LOOM_PROGRESS", "manual");
        run_local(1, [](World& world) { EXPECT_EQ(world.progress_state().why, "LOOM_PROGRESS=manual"); });
    }
    const Variable progress("LOOM_PROGRESS", "magic");
    EXPECT_THROW(run_local(1, [](World&) {}), UsageError);
}

TEST(Progress, everything_is_right_with_a_thread_too) {
    std::mutex mutex;
    std::vector<std::string> troubles;

    run_local(3, [&](World& world) {
        world.set_progress(Progress::thread);
        const auto found = work_out(world, {.seed = 99, .cases = 150, .largest = 100'000});
        const std::lock_guard lock(mutex);
        troubles.insert(troubles.end(), found.begin(), found.end());
    });

    EXPECT_THAT(troubles, testing::IsEmpty());
}

TEST(Progress, several_threads_may_share_a_world) {
    run_local(2, [&](World& world) {
        world.share_between_threads();
        std::vector<Communicator> comms;
        for (int i = 0; i < 3; ++i) comms.push_back(world.communicator().duplicate());
        std::vector<std::vector<int>> sums(3);

        {
            std::vector<std::jthread> users;
            for (std::size_t user = 0; user < 3; ++user)
                users.emplace_back([&, user] {
                    for (int round = 0; round < 20; ++round) {
                        const std::vector<int> in(10, round);
                        sums[user].assign(10, 0);
                        comms[user].allreduce(in, sums[user], std::plus<>{});
                    }
                });
        }

        EXPECT_EQ(sums, std::vector<std::vector<int>>(3, std::vector<int>(10, 38)));
    });
}

}  // namespace
}  // namespace loom::coll
