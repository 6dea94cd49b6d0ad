// The example of dCUDA's thesis: every thread of every rank has a number, and rank 0 gets the sum. The kernel's source
// is the same for the CPU device and, compiled by nvcc, for a GPU.
#include <cstdio>
#include <vector>

#include "loom/device/dcuda.hpp"
#include "loom/device/host.hpp"

constexpr int threads_per_rank = 128;

struct UserData {
    double* data;    // a number of each thread of this device
    double* buffer;  // a place for each rank of the world
    double result;
};

DCUDA_KERNEL void sum(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int size, rank, local_size, local_rank;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_size(gst, DCUDA_COMM_DEVICE, &local_size);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local_rank);
    UserData* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    double* const own = data->data + local_rank * threads_per_rank;

    dcuda_win win;
    const unsigned long bytes = (static_cast<unsigned long>(local_size) * threads_per_rank + size) * sizeof(double);
    dcuda_win_create(gst, DCUDA_COMM_WORLD, data->data, bytes, &win);

    // Inside the block: half of the threads add the other half's, until one is left.
    for (unsigned half = threads_per_rank / 2; half > 0; half /= 2)
        dcuda_for_threads(gst, [&](unsigned thread) {
            if (thread < half) own[thread] += own[thread + half];
        });

    // Among ranks: along a binomial tree.
    const unsigned long place = (static_cast<unsigned long>(local_size) * threads_per_rank + rank) * sizeof(double);
    for (int step = 1, round = 0; step < size; step *= 2, ++round) {
        if (rank % (2 * step) == step) dcuda_put_notify(gst, win, rank - step, place, sizeof(double), own, round % 256);
        if (rank % (2 * step) == 0 && rank + step < size) {
            dcuda_wait_notifications(gst, round % 256, 1);
            dcuda_one_thread(gst, [&] { own[0] += data->buffer[rank + step]; });
        }
    }
    if (rank == 0)
        dcuda_one_thread(gst, [&] {
            data->result = own[0];
            dcuda_log log = dcuda_log_get(gst);
            log << "the sum over " << size << " ranks is " << data->result << dcuda_log::flush;
        });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

int main(int argc, char* argv[]) try {
    dcuda_host_context_handle ctx;
    dcuda_host_init(argc, argv, &ctx, sum, threads_per_rank);
    dcuda_rank_info info;
    dcuda_host_get_rank_info(ctx, &info);
    const int values = info.rank_responsible * threads_per_rank;

    UserData data{};
    data.data = static_cast<double*>(dcuda_malloc(ctx, sizeof(double) * (values + info.rank_count)));
    data.buffer = data.data + values;
    std::vector<double> ones(values, 1.0);
    dcuda_to_device(ctx, data.data, ones.data(), ones.size() * sizeof(double));
    dcuda_host_run(ctx, &data, sizeof data);
    if (info.process_index == 0)
        std::printf("%d devices, %d ranks, sum %g\n", info.process_count, info.rank_count, data.result);
    dcuda_host_finish(ctx);
    return 0;
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
