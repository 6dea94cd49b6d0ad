// Two devices exchange halves of a ring; one kernel forgets to wait. The checker names both accesses, and the seed with
// which it happens again.
#include <cstdio>
#include <vector>

#include "loom/device/dcuda.hpp"
#include "loom/device/job.hpp"

struct Halo {
    double* cells;  // [2]: ours, and what the left neighbour sent
    bool waits;
    double sum;
};

DCUDA_KERNEL void halo(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int size, rank;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    Halo* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    double* const cells = data->cells;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, cells, 2 * sizeof(double), &win);
    dcuda_one_thread(gst, [&] { cells[0] = rank + 1; });
    dcuda_put_notify(gst, win, (rank + 1) % size, sizeof(double), sizeof(double), cells, 0);
    if (data->waits) dcuda_wait_notifications(gst, 0, 1);
    dcuda_reads(gst, cells + 1, sizeof(double));
    dcuda_one_thread(gst, [&] { data->sum = cells[0] + cells[1]; });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

int main() {
    for (const bool waits : {true, false}) {
        loom::device::Options options;
        options.ranks = 1;
        options.check_races = true;
        options.seed = 1;
        loom::device::Job job(options, 2, 32);
        std::vector<Halo> data(2);
        std::vector<std::span<std::byte>> parts;
        for (unsigned device = 0; device < 2; ++device) {
            data[device] = {reinterpret_cast<double*>(job.allocate(device, 2 * sizeof(double))), waits, 0};
            parts.push_back(std::as_writable_bytes(std::span(&data[device], 1)));
        }
        try {
            job.run(halo, parts);
            std::printf("with the wait: %g and %g, no alarm\n", data[0].sum, data[1].sum);
        } catch (const loom::device::Race& race) {
            std::printf("without it: %s\n", race.what());
        }
    }
}
