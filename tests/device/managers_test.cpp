// Devices in processes of their own, over both network managers.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>

#include "device/programs.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "loom/window/world.hpp"

namespace loom::device {

namespace {

using test::interpret;
using test::options_of;
using test::Program;
using test::Programs;
using test::random_program;
using test::Script;

// A rank's exit code is what `body` answers.
transport::LaunchOutcome launch_devices(std::uint32_t processes, const Options& options,
                                        const std::function<int(Job&)>& body) {
    transport::Launch launch;
    launch.ranks = processes;
    launch.timeout = std::chrono::seconds(100);
    launch.body = [&](Rank) {
        const auto bootstrap = transport::find_bootstrap();
        const auto transport = transport::open_verbs(*bootstrap);
        int result = 0;
        {
            window::World world(*transport, bootstrap.get());
            {
                Job job(options, world, 1);
                result = body(job);
            }
            world.close();
        }
        bootstrap->finished();
        return result;
    };
    return transport::launch(launch);
}

void expect_all_well(const transport::LaunchOutcome& outcome) {
    EXPECT_FALSE(outcome.timed_out);
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
        EXPECT_EQ(outcome.ranks[rank].exit_code, 0) << "process " << rank;
}

// The part of this process of a program; how many of its bytes were wrong.
std::uint32_t play_part(Job& job, const Program& program) {
    const auto process = static_cast<std::size_t>(job.info(0).process_index);
    std::vector<Script> scripts;
    for (std::uint32_t i = 0; i < program.each; ++i) {
        const auto& steps = program.scripts[process * program.each + i];
        scripts.push_back({steps.data(), steps.size()});
    }
    job.release(0);
    return test::run<Programs>(job, interpret,
                               [&](std::uint32_t, Programs& data) {
                                   data.scripts = scripts.data();
                                   data.window = program.window;
                                   data.memory = job.allocate(0, program.each * program.window);
                               })[0]
        .wrong;
}

class Managers : public testing::TestWithParam<Manager> {};
INSTANTIATE_TEST_SUITE_P(Both, Managers, testing::Values(Manager::verbs, Manager::mpi),
                         [](const auto& each) { return each.param == Manager::mpi ? "mpi" : "verbs"; });

TEST_P(Managers, random_programs_have_the_right_bytes) {
    for (const std::uint32_t processes : {2u, 3u, 5u}) {
        Options options = test::small(2);
        options.manager = GetParam();
        options.queue_bits = 3;

        expect_all_well(launch_devices(processes, options, [&](Job& job) {
            for (std::uint64_t seed = 0, played = 0; played < 20; ++seed) {
                const Program program = random_program(seed, processes);
                if (program.each != 2) continue;
                ++played;
                if (play_part(job, program) != 0) return 1;
            }
            return 0;
        }));
    }
}

TEST_P(Managers, roles_apart_have_the_right_bytes) {
    Options options = test::small(2);
    options.manager = GetParam();
    options.roles = Roles::apart;

    expect_all_well(launch_devices(2, options, [&](Job& job) {
        for (std::uint64_t seed = 0, played = 0; played < 5; ++seed) {
            const Program program = random_program(seed, 2);
            if (program.each != 2) continue;
            ++played;
            if (play_part(job, program) != 0) return 1;
        }
        return 0;
    }));
}

struct Mistake {
    std::byte* memory = nullptr;
};

DCUDA_KERNEL void out_of_bounds(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    Mistake* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, data->memory, 64, &win);
    if (rank == 1) dcuda_put(gst, win, 0, 60, 8, data->memory);
    dcuda_wait_notifications(gst, 1, 1);
    dcuda_gpu_finish(gst);
}

TEST_P(Managers, an_error_ends_the_kernels_of_all_processes) {
    Options options = test::small(1);
    options.manager = GetParam();

    expect_all_well(launch_devices(3, options, [](Job& job) {
        const bool culprit = job.info(0).process_index == 1;
        try {
            test::run<Mistake>(job, out_of_bounds,
                               [&](std::uint32_t, Mistake& each) { each.memory = job.allocate(0, 64); });
        } catch (const DeviceError& error) {
            return culprit && error.rank == 1 ? 0 : 1;
        } catch (const Error&) {
            return culprit ? 2 : 0;
        }
        return 3;
    }));
}

}  // namespace
}  // namespace loom::device
