// The step of loom demo that runs a kernel on two devices, and finds its race when a wait is taken out.
#include <span>

#include "cli/demo/demo.hpp"
#include "loom/device/job.hpp"

namespace loom::cli {

namespace {

struct Halo {
    double* cells = nullptr;  // of each rank: its own, and what the left neighbour sends
    bool waits = true;
    double sum = 0;
};

DCUDA_KERNEL void halo(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int size, rank, local;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Halo* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    double* const cells = data->cells + 2 * local;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, cells, 2 * sizeof(double), &win);
    dcuda_writes(gst, cells, sizeof(double));
    dcuda_one_thread(gst, [&] { cells[0] = rank + 1; });
    dcuda_put_notify(gst, win, (rank + 1) % size, sizeof(double), sizeof(double), cells, 0);
    if (data->waits) dcuda_wait_notifications(gst, 0, 1);
    dcuda_reads(gst, cells + 1, sizeof(double));
    dcuda_one_thread(gst, [&] { data->sum += cells[1]; });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

// The sum of all cells, or what the checker says.
std::string play(bool waits) {
    device::Options options;
    options.ranks = 4;
    options.memory = 1 << 20;
    options.check_races = true;
    options.seed = 1;
    device::Job job(options, 2, 128);
    std::vector<Halo> data(2);
    std::vector<std::span<std::byte>> parts;
    for (std::uint32_t device = 0; device < 2; ++device) {
        data[device].cells = reinterpret_cast<double*>(job.allocate(device, 8 * sizeof(double)));
        data[device].waits = waits;
        parts.push_back(std::as_writable_bytes(std::span(&data[device], 1)));
    }
    try {
        job.run(halo, parts);
    } catch (const device::Race& race) {
        return race.what();
    }
    return fmt::format("no alarm, the sum over all ranks is {:g}", data[0].sum + data[1].sum);
}

}  // namespace

void demo_device(Demo& demo) {
    demo.heading("A kernel on two devices, with and without a wait", {"loom reproduce dcuda-5.2 --quick"});
    const std::string with = play(true), without = play(false);
    demo.say(
        "   Eight thread blocks on two CPU devices put a number into their right neighbour's memory and notify it.\n"
        "   With the wait: {}.\n   Without it: {}.\n",
        with, without);
    demo.result["device"] = {{"with_wait", with}, {"without_wait", without}};
}

}  // namespace loom::cli
