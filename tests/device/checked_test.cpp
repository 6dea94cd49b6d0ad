// Kernels that were compiled for the checker: each of their loads and stores is seen, without a word in the source.
#include <gmock/gmock.h>

#include "device/kernels.hpp"

namespace loom::device {
namespace {

#ifdef LOOM_KERNELS_ARE_CHECKED

using test::run;
using test::small;

// A ring: everyone adds what the left neighbour sends. Each flag takes out one thing that orders.
struct Ring {
    double* cells = nullptr;  // of each rank: what it sends, what it gets
    bool waits = true, flushes = true, meets = true;
    double sum = 0;
};

DCUDA_KERNEL void ring(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int size, rank, local;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Ring* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    double* const cells = data->cells + 2 * local;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, cells, 2 * sizeof(double), &win);
    double sum = 0;
    for (int round = 0; round < 3; ++round) {
        dcuda_one_thread(gst, [&] { cells[0] = rank + round; });
        dcuda_put_notify(gst, win, (rank + 1) % size, sizeof(double), sizeof(double), cells, 7);
        if (data->waits) dcuda_wait_notifications(gst, 7, 1);
        dcuda_one_thread(gst, [&] { sum += cells[1]; });
        if (data->flushes) dcuda_win_flush(gst, win);
        if (data->meets) dcuda_comm_barrier(gst, DCUDA_COMM_WORLD);
    }
    if (rank == 0) dcuda_one_thread(gst, [&] { data->sum = sum; });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

std::string played(std::uint32_t devices, std::uint64_t seed, bool waits, bool flushes, bool meets) {
    Options options = small(2);
    options.check_races = true;
    options.seed = seed;
    Job job(options, devices, 1);
    try {
        const auto data = run<Ring>(job, ring, [&](std::uint32_t device, Ring& each) {
            each.cells = reinterpret_cast<double*>(job.allocate(device, 4 * sizeof(double)));
            each.waits = waits;
            each.flushes = flushes;
            each.meets = meets;
        });
        return "sum " + std::to_string(static_cast<int>(data[0].sum));
    } catch (const Race& race) {
        return race.what();
    }
}

TEST(CheckedKernels, in_order_raise_no_alarm) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        EXPECT_EQ(played(1, seed, true, true, true), "sum 6");   // 1 + 2 + 3 of two ranks
        EXPECT_EQ(played(2, seed, true, true, true), "sum 12");  // 3 + 4 + 5 of four
    }
}

TEST(CheckedKernels, name_a_read_without_a_wait) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (const std::uint32_t devices : {1u, 2u}) {
            const std::string what = played(devices, seed, false, true, true);

            EXPECT_THAT(what, testing::AllOf(testing::HasSubstr("race at byte 8 of rank"),
                                             testing::HasSubstr("read of 8 bytes"),
                                             testing::HasSubstr("dcuda_put_notify of 8 bytes to rank"),
                                             testing::HasSubstr("checked_test.cpp:")));
        }
}

TEST(CheckedKernels, name_a_write_over_a_buffer_that_is_still_sent_or_a_put_over_what_is_not_read_yet) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        EXPECT_THAT(played(2, seed, true, false, false),
                    testing::AnyOf(testing::AllOf(testing::HasSubstr("race at byte 0 of rank"),
                                                  testing::HasSubstr("write of 8 bytes"),
                                                  testing::HasSubstr("reading its buffer of 8 bytes")),
                                   testing::HasSubstr("race at byte 8 of rank")));
}

TEST(CheckedKernels, name_a_put_that_comes_before_the_last_one_was_read) {
    EXPECT_THAT(played(2, 3, true, true, false), testing::HasSubstr("race at byte 8 of rank"));
    EXPECT_THAT(played(1, 3, true, true, false), testing::HasSubstr("race at byte 8 of rank"));
}

TEST(CheckedKernels, know_that_who_saw_the_data_arrive_has_freed_the_buffer) {
    EXPECT_EQ(played(2, 5, true, false, true), "sum 12");
}

#endif

}  // namespace
}  // namespace loom::device
