// dCUDA (T. Kuster, 2017): notified remote memory access from inside kernels. A kernel's source includes this one
// header and is compiled unchanged by nvcc for a GPU and by a C++ compiler for the CPU device.
//
//     DCUDA_KERNEL void kernel(dcuda_context_handle dcuda) {
//         DCUDA_SHARED dcuda_state gst;
//         dcuda_gpu_init(dcuda, gst);
//         ...
//         dcuda_for_threads(gst, [&](unsigned thread) { a[thread] += b[thread]; });   // all threads of the block,
//         dcuda_put_notify(gst, win, right, 0, bytes, a, tag);                        // then a barrier of the block
//
// A rank is a block. What stands between the calls is the same for all its threads; what each thread does by itself
// stands in dcuda_for_threads. Why: between two barriers the threads of a block are a loop on a CPU, whose iterations
// become lanes of vectors, and no thread needs a stack of its own.
#pragma once

#include "loom/device/layout.hpp"
#if !DCUDA_ON_GPU
#include "loom/device/block.hpp"
#endif

using dcuda_context_handle = dcuda_context*;
using dcuda_kernel_t = void (*)(dcuda_context_handle);
using dcuda_comm = int;
using dcuda_win = int;
inline constexpr dcuda_comm DCUDA_COMM_WORLD = 0;   // all ranks of all devices
inline constexpr dcuda_comm DCUDA_COMM_DEVICE = 1;  // the ranks of this device
inline constexpr dcuda_win DCUDA_WIN_NONE = -1;     // what win_create leaves when it has no window to give

// One a block, in shared memory. Nothing in it is for kernels.
struct dcuda_state {
    dcuda_context* context;
    std::uint32_t rank;  // of the device
    std::uint32_t ended;
    std::uint32_t answer;
    std::int32_t window;
    std::uint32_t next_operation;
    loom::device::Producer commands, logs;
    loom::device::Consumer acks;
    std::uint32_t consumed[loom::device::tag_count];
    std::uint32_t last_put[loom::device::most_windows];  // number of the last remote put on the window in that slot
#if !DCUDA_ON_GPU
    loom::device::Block* block;
#endif
};

// On the CPU a call remembers where it stands, for whoever reads an error.
#if DCUDA_ON_GPU
#define DCUDA_HERE
#else
#define DCUDA_HERE , const char *file = __builtin_FILE(), int line = __builtin_LINE()
#endif

// "Collective": all threads of the rank, that is, outside of dcuda_for_threads and dcuda_one_thread. A call that is
// wrong (window, rank, bounds, tag) ends the kernel on all devices, and dcuda_host_run throws DeviceError.

// The first call, and the last one. Collective, by all ranks; a barrier of the world. finish returns when what this
// rank has put and notified is there.
DCUDA_DEVICE void dcuda_gpu_init(dcuda_context_handle dcuda, dcuda_state& gst DCUDA_HERE);
DCUDA_DEVICE void dcuda_gpu_finish(dcuda_state& gst DCUDA_HERE);

// Any thread. The copy of what dcuda_host_run was given; copied back when the kernel is over.
DCUDA_DEVICE void dcuda_get_data(dcuda_state& gst, void** data);
DCUDA_DEVICE void dcuda_comm_size(dcuda_state& gst, dcuda_comm comm, int* size DCUDA_HERE);
DCUDA_DEVICE void dcuda_comm_rank(dcuda_state& gst, dcuda_comm comm, int* rank DCUDA_HERE);

// Collective, by all ranks of the device. The host's clock; dcuda_host_get_timings has what each stop measured.
DCUDA_DEVICE void dcuda_start_cpu_timer(dcuda_state& gst DCUDA_HERE);
DCUDA_DEVICE void dcuda_stop_cpu_timer(dcuda_state& gst DCUDA_HERE);

// Collective, by all ranks of `comm`. Nobody leaves before all have come. Says nothing of puts that are under way.
DCUDA_DEVICE void dcuda_comm_barrier(dcuda_state& gst, dcuda_comm comm DCUDA_HERE);

// Collective, by all ranks of `comm`; they wait for each other. `base` lies in memory of dcuda_malloc; sizes may differ
// and be 0, windows may overlap. *win is DCUDA_WIN_NONE when 64 windows exist already. free waits for this rank's puts.
DCUDA_DEVICE void dcuda_win_create(dcuda_state& gst, dcuda_comm comm, void* base, std::uint64_t size,
                                   dcuda_win* win DCUDA_HERE);
DCUDA_DEVICE void dcuda_win_free(dcuda_state& gst, dcuda_win win DCUDA_HERE);

// Collective, by one rank. `rank` is one of `comm`, or of the window's communicator; tags are 0..255. What one rank
// sends to another arrives in order. `buffer` lies in the caller's own window and stays unchanged until a flush; where
// it is the target itself nothing is copied. Inside a device a put is done when the call returns.
DCUDA_DEVICE void dcuda_notify(dcuda_state& gst, int rank, dcuda_comm comm, int tag DCUDA_HERE);
DCUDA_DEVICE void dcuda_put(dcuda_state& gst, dcuda_win win, int rank, std::uint64_t offset, std::uint64_t size,
                            void* buffer DCUDA_HERE);
DCUDA_DEVICE void dcuda_put_notify(dcuda_state& gst, dcuda_win win, int rank, std::uint64_t offset, std::uint64_t size,
                                   void* buffer, int tag DCUDA_HERE);
// Collective, by one rank: all its puts on the window have arrived.
DCUDA_DEVICE void dcuda_win_flush(dcuda_state& gst, dcuda_win win DCUDA_HERE);

// Collective. 1 and uses up `count` notifications of the tag, or 0 and uses up none; wait returns when it would be 1.
// Right as long as fewer than 2^31 of a tag are waiting.
DCUDA_DEVICE int dcuda_test_notifications(dcuda_state& gst, int tag, int count DCUDA_HERE);
DCUDA_DEVICE void dcuda_wait_notifications(dcuda_state& gst, int tag, int count DCUDA_HERE);

// By one thread (in dcuda_one_thread): `log << "sum " << sum << log.flush` is a line that the host prints while the
// kernel runs.
struct dcuda_log {
    struct Flush {};
    static constexpr Flush flush{};
    dcuda_state* gst;
};
DCUDA_DEVICE dcuda_log dcuda_log_get(dcuda_state& gst);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, const char* text);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, int value);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, unsigned value);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, long long value);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, unsigned long long value);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, double value);
DCUDA_DEVICE dcuda_log& operator<<(dcuda_log& log, dcuda_log::Flush);

// The form of kernels. `f(thread)` by every thread of the block, thread = 0 .. dcuda_threads(gst) - 1, and a barrier of
// the block behind it; what f writes must not be read by another thread before that.
template <class F>
DCUDA_DEVICE void dcuda_for_threads(dcuda_state& gst, F&& f);
// f() by one thread, and a barrier.
template <class F>
DCUDA_DEVICE void dcuda_one_thread(dcuda_state& gst, F&& f);
DCUDA_DEVICE unsigned dcuda_threads(dcuda_state& gst);

// A variable of each thread that lives from one dcuda_for_threads to the next: value[thread]. Most: threads a block.
template <class T, unsigned Most>
struct dcuda_per_thread {
#if DCUDA_ON_GPU
    T value;
    __device__ T& operator[](unsigned) {
        return value;
    }
#else
    T value[Most];
    T& operator[](unsigned thread) {
        return value[thread];
    }
#endif
};

// Tell the checker of plain accesses of a kernel that was not compiled for it (loom_checked_kernels). Nothing
// elsewhere.
DCUDA_DEVICE void dcuda_reads(dcuda_state& gst, const void* memory, std::uint64_t bytes DCUDA_HERE);
DCUDA_DEVICE void dcuda_writes(dcuda_state& gst, const void* memory, std::uint64_t bytes DCUDA_HERE);

#include "loom/device/library.hpp"  // IWYU pragma: export
