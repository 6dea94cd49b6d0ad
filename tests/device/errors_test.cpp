// What a wrong kernel's user reads.
#include <gmock/gmock.h>

#include <stdexcept>

#include "device/kernels.hpp"

namespace loom::device {
namespace {

using test::run;
using test::small;
using testing::AllOf;
using testing::HasSubstr;

struct Wrong {
    std::byte* memory = nullptr;
    int which = 0;
};

// One mistake, by number.
void make_mistake(dcuda_state& gst, int which, dcuda_win win, dcuda_win other, int size, std::byte* buffer) {
    switch (which) {
        case 0:
            dcuda_put(gst, win, 0, 96, 64, buffer);
            break;
        case 1:
            dcuda_put_notify(gst, win, size - 1, 0, 8, buffer + 124, 3);
            break;
        case 2:
            dcuda_notify(gst, size, DCUDA_COMM_WORLD, 3);
            break;
        case 3:
            dcuda_notify(gst, -1, DCUDA_COMM_WORLD, 3);
            break;
        case 4:
            dcuda_notify(gst, 0, DCUDA_COMM_WORLD, 256);
            break;
        case 5:
            dcuda_wait_notifications(gst, -1, 1);
            break;
        case 6:
            dcuda_wait_notifications(gst, 1, -1);
            break;
        case 7:
            dcuda_put(gst, win, 0, 0, 8, buffer);  // freed before
            break;
        case 8:
            dcuda_put(gst, 77, 0, 0, 8, buffer);
            break;
        case 9:
            dcuda_comm_barrier(gst, 5);
            break;
        case 10:
            dcuda_win_create(gst, DCUDA_COMM_WORLD, &gst, 64, &win);
            break;
        case 11:
            dcuda_put(gst, win, 0, ~std::uint64_t{0} - 3, 8, buffer);
            break;
        case 12:
            dcuda_put(gst, other, 0, 0, 8, buffer);
            break;
        case 13:
            dcuda_win_flush(gst, DCUDA_WIN_NONE);
            break;
        case 14:
            throw std::runtime_error("the kernel's own");
            break;
        default:
            break;
    }
}

DCUDA_KERNEL void wrong(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, size;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    Wrong* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    dcuda_win win, other;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, data->memory, 128, &win);
    dcuda_win_create(gst, DCUDA_COMM_DEVICE, data->memory, rank == 1 ? 0 : 64, &other);
    if (data->which == 7) dcuda_win_free(gst, win);
    if (rank == 1) make_mistake(gst, data->which, win, other, size, data->memory);
    dcuda_wait_notifications(gst, 200, 1);  // nobody gets beyond
    dcuda_gpu_finish(gst);
}

std::string said(int which, std::uint32_t devices, Roles roles) {
    Options options = small(2);
    options.roles = roles;
    Job job(options, devices, 1);
    try {
        run<Wrong>(job, wrong, [&](std::uint32_t device, Wrong& each) {
            each.memory = job.allocate(device, 128);
            each.which = which;
        });
    } catch (const DeviceError& error) {
        EXPECT_EQ(error.rank, 1u);
        EXPECT_THAT(error.function, testing::StartsWith("dcuda_"));
        return error.what();
    } catch (const std::runtime_error& error) {
        return std::string("thrown: ") + error.what();
    }
    return "";
}

TEST(Errors, are_named_with_rank_call_line_and_reason) {
    const std::vector<std::string> expected{
        "rank 1: dcuda_put: offset 96 and 64 bytes exceed the 128 of rank 0 in window 0 (errors_test.cpp:",
        "rank 1: dcuda_put_notify: the buffer of 8 bytes is not in the caller's own 128 of window 0 (",
        "rank 1: dcuda_notify: there is no rank 4 among 4 (",
        "rank 1: dcuda_notify: there is no rank -1 among 4 (",
        "rank 1: dcuda_notify: tag 256 is not one of 0 to 255 (",
        "rank 1: dcuda_wait_notifications: tag -1 is not one of 0 to 255 (",
        "rank 1: dcuda_wait_notifications: a count of -1 notifications (",
        "rank 1: dcuda_put: window 0 was freed (",
        "rank 1: dcuda_put: window 77 was never created (",
        "rank 1: dcuda_comm_barrier: communicator 5 is neither WORLD nor DEVICE (",
        "rank 1: dcuda_win_create: the 64 bytes are not in the device's memory (dcuda_malloc) (",
        "rank 1: dcuda_put: offset 18446744073709551612 and 8 bytes exceed the 128 of rank 0 in window 0 (",
        "rank 1: dcuda_put: the buffer of 8 bytes is not in the caller's own 0 of window 1 (",
        "rank 1: dcuda_win_flush: window -1 was never created (",
        "thrown: the kernel's own",
    };
    for (std::size_t which = 0; which < expected.size(); ++which)
        for (const Roles roles : {Roles::together, Roles::apart})
            EXPECT_THAT(said(static_cast<int>(which), 2, roles), testing::StartsWith(expected[which])) << which;
}

struct Calls {
    int which = 0;
};

DCUDA_KERNEL void uneven(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    Calls* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    if (data->which == 0 && rank == 2) return;  // without dcuda_gpu_finish
    if (data->which == 1 && rank == 2) dcuda_comm_barrier(gst, DCUDA_COMM_WORLD);
    if (data->which == 2 && rank == 2) dcuda_comm_barrier(gst, DCUDA_COMM_DEVICE);
    while (data->which == 3 && dcuda_test_notifications(gst, 9, 2) == 0) {
    }
    dcuda_gpu_finish(gst);
}

std::string stalled(int which, std::uint32_t devices) {
    Job job(small(4 / devices), devices, 1);
    try {
        run<Calls>(job, uneven, [&](std::uint32_t, Calls& each) { each.which = which; });
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Stalls, of_calls_that_not_all_make_are_named) {
    EXPECT_THAT(stalled(0, 2),
                AllOf(HasSubstr("not all ranks make the same call"), HasSubstr("rank 0 waits in dcuda_gpu_finish"),
                      HasSubstr("rank 2 has returned without dcuda_gpu_finish")));
    EXPECT_THAT(stalled(1, 1),
                AllOf(HasSubstr("dcuda_comm_barrier"), HasSubstr("dcuda_gpu_finish"), HasSubstr("rank 2")));
    EXPECT_THAT(stalled(1, 4), AllOf(HasSubstr("dcuda_comm_barrier"), HasSubstr("dcuda_gpu_finish")));
    EXPECT_THAT(stalled(2, 1),
                AllOf(HasSubstr("not all ranks make the same call"), HasSubstr("rank 2 waits in dcuda_comm_barrier")));
}

TEST(Stalls, of_kernels_that_only_test_are_named) {
    EXPECT_THAT(stalled(3, 2), AllOf(HasSubstr("no rank sends tag 9 to rank"),
                                     HasSubstr("waits in dcuda_test_notifications for 2 of tag 9 and has 0"),
                                     HasSubstr("errors_test.cpp:")));
}

}  // namespace
}  // namespace loom::device
