// Every device function, on one to four devices, in all the ways in which blocks and hosts can take turns.
#include <gmock/gmock.h>

#include <mutex>
#include <numeric>
#include <ostream>

#include "device/kernels.hpp"

namespace loom::device {
namespace {

using test::run;
using test::small;

// The acceptance example of 002 (listings 3.1 and 3.2): the sum of a value of each thread of each rank.
struct Reduction {
    double* data = nullptr;
    double* buffer = nullptr;
    double result = 0;
};

DCUDA_KERNEL void reduce(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    dcuda_log log = dcuda_log_get(gst);
    int size, rank, local_size, local_rank;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(gst, DCUDA_COMM_DEVICE, &local_size);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local_rank);
    Reduction* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    const unsigned threads = dcuda_threads(gst), all = static_cast<unsigned>(local_size) * threads;
    double* const own = data->data + static_cast<unsigned>(local_rank) * threads;

    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, data->data, 2 * all * sizeof(double), &win);
    dcuda_start_cpu_timer(gst);
    dcuda_one_thread(gst, [&] {
        for (unsigned i = 1; i < threads; ++i) own[0] += own[i];
    });
    const std::uint64_t offset = (all + static_cast<unsigned>(rank)) * sizeof(double);
    for (int step = 1, round = 0; step < size; step *= 2, ++round) {
        if (rank % (2 * step) == step)
            dcuda_put_notify(gst, win, rank - step, offset, sizeof(double), own, round % 256);
        if (rank % (2 * step) == 0 && rank + step < size) {
            dcuda_wait_notifications(gst, round % 256, 1);
            dcuda_one_thread(gst, [&] { own[0] += data->buffer[rank + step]; });
        }
    }
    dcuda_stop_cpu_timer(gst);
    if (rank == 0)
        dcuda_one_thread(gst, [&] {
            data->result = own[0];
            log << "result = " << data->result << dcuda_log::flush;
        });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

enum class How { in_turn, shuffled, apart, checked };
void PrintTo(How how, std::ostream* out) {
    *out << (how == How::in_turn    ? "in_turn"
             : how == How::shuffled ? "shuffled"
             : how == How::apart    ? "apart"
                                    : "checked");
}

Options as(How how, std::uint32_t ranks) {
    Options options = small(ranks);
    if (how == How::shuffled) options.seed = 7;
    options.roles = how == How::apart ? Roles::apart : Roles::together;
    options.workers = 2;
    options.check_races = how == How::checked;
    return options;
}

class Interface : public testing::TestWithParam<How> {};
INSTANTIATE_TEST_SUITE_P(Turns, Interface, testing::Values(How::in_turn, How::shuffled, How::apart, How::checked),
                         testing::PrintToStringParamName());

TEST_P(Interface, the_acceptance_example_sums_over_all_ranks_of_all_devices) {
    for (const std::uint32_t devices : {1u, 2u, 3u, 4u})
        for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
            constexpr std::uint32_t threads = 32;
            std::mutex mutex;
            std::vector<std::string> lines;
            Options options = as(GetParam(), ranks);
            options.print = [&](const std::string& line) {
                const std::scoped_lock lock(mutex);
                lines.push_back(line);
            };
            Job job(options, devices, threads);

            const auto data = run<Reduction>(job, reduce, [&](std::uint32_t device, Reduction& each) {
                const std::uint64_t values = std::uint64_t{ranks} * threads;
                each.data = reinterpret_cast<double*>(
                    job.allocate(device, 2 * std::max<std::uint64_t>(values, devices * ranks) * sizeof(double)));
                each.buffer = each.data + values;
                std::iota(each.data, each.data + values, static_cast<double>(device * values));
            });

            const double count = devices * ranks * threads;
            EXPECT_EQ(data[0].result, count * (count - 1) / 2);
            EXPECT_THAT(lines, testing::ElementsAre(testing::StartsWith("[0] result = ")));
            EXPECT_EQ(job.timings(0).size(), 1u);
        }
}

// Each rank sends each other one (itself too) `rounds` values, in order, each behind its own notification.
struct Everyone {
    std::uint32_t* mine = nullptr;  // [ranks][rounds], then a word to send from for each
    std::uint32_t ranks = 0, rounds = 0, wrong = 0;
};

DCUDA_KERNEL void everyone(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, local;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Everyone* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    const unsigned words = 2 * data->ranks * data->rounds;
    std::uint32_t* const own = data->mine + static_cast<unsigned>(local) * words;
    std::uint32_t* const out = own + words / 2;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, words * sizeof(std::uint32_t), &win);
    for (unsigned round = 0; round < data->rounds; ++round)
        for (unsigned to = 0; to < data->ranks; ++to) {
            const unsigned place = static_cast<unsigned>(rank) * data->rounds + round;
            std::uint32_t* const from = out + to * data->rounds + round;
            dcuda_one_thread(gst, [&] {
                dcuda_writes(gst, from, 4);
                *from = place + 1;
            });
            if (round % 2 == 0) {
                dcuda_put_notify(gst, win, static_cast<int>(to), place * 4, 4, from, rank);
            } else {
                dcuda_put(gst, win, static_cast<int>(to), place * 4, 4, from);
                dcuda_notify(gst, static_cast<int>(to), DCUDA_COMM_WORLD, rank);
            }
        }
    for (unsigned from = 0; from < data->ranks; ++from)
        for (unsigned round = 0; round < data->rounds; ++round) {
            if (round % 3 == 1)
                while (dcuda_test_notifications(gst, static_cast<int>(from), 1) == 0) {
                }
            else
                dcuda_wait_notifications(gst, static_cast<int>(from), 1);
            const unsigned place = from * data->rounds + round;
            dcuda_reads(gst, own + place, 4);
            dcuda_one_thread(gst, [&] { data->wrong += own[place] != place + 1; });
        }
    dcuda_win_flush(gst, win);
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

TEST_P(Interface, puts_and_notifications_of_each_pair_arrive_in_order) {
    for (const std::uint32_t devices : {1u, 2u, 4u}) {
        constexpr std::uint32_t ranks = 3, rounds = 40;
        Options options = as(GetParam(), ranks);
        options.queue_bits = 2;  // queues fill up
        options.workers = 1;     // `wrong` is counted by all blocks of a device
        Job job(options, devices, 1);

        const auto data = run<Everyone>(job, everyone, [&](std::uint32_t device, Everyone& each) {
            each.ranks = ranks * devices;
            each.rounds = rounds;
            each.mine = reinterpret_cast<std::uint32_t*>(job.allocate(device, 4ull * ranks * 2 * each.ranks * rounds));
        });

        for (const Everyone& each : data) EXPECT_EQ(each.wrong, 0u);
    }
}

// Counters that overflow, all tags, counts above 1, notifications from the device and from elsewhere at once.
struct Counts {
    std::uint32_t rounds = 0, late = 0;
};

DCUDA_KERNEL void counts(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, size;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    Counts* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    for (unsigned round = 0; round < data->rounds; ++round)
        for (int tag = 0; tag < 256; ++tag) {
            for (int to = 0; to < size; ++to) dcuda_notify(gst, to, DCUDA_COMM_WORLD, tag);
            dcuda_wait_notifications(gst, tag, size);
            dcuda_comm_barrier(gst, tag % 2 == 0 ? DCUDA_COMM_WORLD : DCUDA_COMM_DEVICE);
        }
    for (int tag = 0; tag < 256; ++tag)
        if (dcuda_test_notifications(gst, tag, 1) != 0) dcuda_one_thread(gst, [&] { ++data->late; });
    dcuda_wait_notifications(gst, 3, 0);
    dcuda_gpu_finish(gst);
}

TEST_P(Interface, counters_of_all_tags_overflow_without_a_trace) {
    Options options = as(GetParam(), 2);
    options.first_count = 0xfffffffdu;
    options.workers = 1;
    Job job(options, 2, 1);

    const auto data = run<Counts>(job, counts, [](std::uint32_t, Counts& each) { each.rounds = 3; });

    EXPECT_EQ(data[0].late + data[1].late, 0u);
}

// Windows of the device and of the world, made and freed in turn; their numbers never come again.
struct Windows {
    std::byte* memory = nullptr;
    int last = 0, none = 0;
};

DCUDA_KERNEL void windows(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    Windows* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    for (int i = 0; i < 100; ++i) {
        dcuda_win win;
        dcuda_win_create(gst, i % 3 == 0 ? DCUDA_COMM_DEVICE : DCUDA_COMM_WORLD, data->memory, 64, &win);
        dcuda_one_thread(gst, [&] { data->last = win; });
        dcuda_win_free(gst, win);
    }
    dcuda_win open[33];
    for (int i = 0; i < 33; ++i) dcuda_win_create(gst, DCUDA_COMM_WORLD, data->memory, 64, &open[i]);
    dcuda_one_thread(gst, [&] { data->none = open[32]; });
    for (int i = 0; i < 32; ++i) dcuda_win_free(gst, open[i]);
    dcuda_gpu_finish(gst);
}

TEST_P(Interface, windows_are_made_and_freed_until_there_are_no_more) {
    Options options = as(GetParam(), 1);
    Job job(options, 2, 4);

    const auto data = run<Windows>(
        job, windows, [&](std::uint32_t device, Windows& each) { each.memory = job.allocate(device, 64); });

    EXPECT_EQ(data[1].none, DCUDA_WIN_NONE);
    EXPECT_GT(data[1].last, 60);
}

// The form of kernels: loops over threads, and a variable of each thread that outlives them.
struct Threads {
    std::uint32_t* out = nullptr;
};

DCUDA_KERNEL void threads(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    DCUDA_SHARED std::uint32_t shared[64];
    dcuda_gpu_init(dcuda, gst);
    Threads* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    dcuda_per_thread<std::uint32_t, 64> own;
    dcuda_for_threads(gst, [&](unsigned thread) {
        own[thread] = thread * thread;
        shared[thread] = thread;
    });
    const unsigned count = dcuda_threads(gst);
    dcuda_for_threads(gst, [&](unsigned thread) { data->out[thread] = own[thread] + shared[count - 1 - thread]; });
    dcuda_gpu_finish(gst);
}

TEST(Kernels, threads_of_a_block_are_loops_between_barriers) {
    Job job(small(1), 1, 64);
    std::uint32_t* out = nullptr;

    run<Threads>(job, threads, [&](std::uint32_t, Threads& each) {
        each.out = out = reinterpret_cast<std::uint32_t*>(job.allocate(0, 64 * 4));
    });

    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i * i + 63 - i);
}

TEST(Kernels, a_thousand_blocks_are_resident) {
    Options options = small(1000);
    options.occupancy.most_blocks = options.occupancy.multiprocessors * options.occupancy.blocks_each * 8;
    options.occupancy.blocks_each = 128;
    Job job(options, 1, 1);

    run<Counts>(job, counts, [](std::uint32_t, Counts&) {});

    EXPECT_EQ(job.info(0).rank_count, 1000);
}

TEST(Kernels, as_many_blocks_run_as_the_device_holds) {
    Options options;
    EXPECT_EQ(options.occupancy.resident(128), 208u);
    EXPECT_EQ(options.occupancy.resident(256), 104u);
    EXPECT_EQ(options.occupancy.resident(1024), 26u);
    EXPECT_THROW((void)options.occupancy.resident(1025), UsageError);
    EXPECT_THROW((void)options.occupancy.resident(0), UsageError);
    options.memory = 1 << 20;

    const Job job(options, 2, 128);

    EXPECT_EQ(job.info(1).rank_responsible, 208);
    EXPECT_EQ(job.info(1).rank_start, 208);
    EXPECT_EQ(job.info(1).device_count, 2);
    EXPECT_EQ(job.info(1).device_index, 1);
    EXPECT_EQ(job.info(1).node_count, 1);
    EXPECT_EQ(job.info(1).process_count, 2);
}

TEST(Kernels, memory_of_a_device_ends) {
    Job job(small(1), 1, 1);

    EXPECT_NE(job.allocate(0, 200 << 10), nullptr);

    EXPECT_THROW((void)job.allocate(0, 100 << 10), Error);
    job.release(0);
    EXPECT_NE(job.allocate(0, 256 << 10), nullptr);
}

TEST(Kernels, delays_are_seen_in_round_trips_and_change_no_result) {
    Options options = small(1);
    options.delays.bus = microseconds(20);
    options.delays.direct = microseconds(30);
    options.roles = Roles::together;
    Job job(options, 2, 1);

    std::vector<Everyone> data(2);
    std::vector<std::span<std::byte>> parts;
    for (std::uint32_t device = 0; device < 2; ++device) {
        data[device].ranks = 2;
        data[device].rounds = 3;
        data[device].mine = reinterpret_cast<std::uint32_t*>(job.allocate(device, 4 * 2 * 2 * 3));
        parts.push_back(std::as_writable_bytes(std::span(&data[device], 1)));
    }

    const double milliseconds = job.run(everyone, parts);

    EXPECT_EQ(data[0].wrong + data[1].wrong, 0u);
    // Of a rank's kernel at least the three barriers go over the bus and back.
    EXPECT_GE(milliseconds, 3 * 0.040);
}

}  // namespace
}  // namespace loom::device
