// The interface of dCUDA by its host functions alone, and the tables of 002 that one device can show: one source for
// the CPU device (a C++ compiler) and for a GPU (nvcc -x cu). tests/device/gpu-proof builds and runs it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "loom/device/dcuda.hpp"
#include "loom/device/host.hpp"

namespace {

constexpr int threads_per_rank = 128;

struct Shared {
    std::uint32_t* words;  // of the device's windows
    std::uint64_t each;    // words of each rank
    std::uint64_t rounds;  // or bytes
    int senders;           // ranks that send, of the bandwidth
    bool data;             // the ping carries 4 bytes
    unsigned long long wrong;
    double sum;
};

// Every rank sends every other one a word that says who and when, in order, and checks what it gets.
DCUDA_KERNEL void everyone(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, local, size;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Shared* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    std::uint32_t* const own = data->words + static_cast<std::uint64_t>(local) * data->each;
    std::uint32_t* const out = own + data->each / 2;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, data->each * 4, &win);
    for (std::uint64_t round = 0; round < data->rounds; ++round) {
        dcuda_for_threads(gst, [&](unsigned thread) {
            for (int to = static_cast<int>(thread); to < size; to += static_cast<int>(dcuda_threads(gst)))
                out[to] = static_cast<std::uint32_t>(rank) * 1000u + static_cast<std::uint32_t>(round);
        });
        for (int to = 0; to < size; ++to)
            dcuda_put_notify(gst, win, to, static_cast<std::uint64_t>(rank) * 4, 4, out + to,
                             static_cast<int>(round % 256));
        dcuda_wait_notifications(gst, static_cast<int>(round % 256), size);
        dcuda_one_thread(gst, [&] {
            for (int from = 0; from < size; ++from)
                if (own[from] != static_cast<std::uint32_t>(from) * 1000u + static_cast<std::uint32_t>(round))
                    data->wrong = data->wrong + 1;
        });
        dcuda_win_flush(gst, win);
        dcuda_comm_barrier(gst, DCUDA_COMM_WORLD);
    }
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

// Sum over all threads of all ranks; a line of the log.
DCUDA_KERNEL void sum(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    DCUDA_SHARED double part[threads_per_rank];
    dcuda_gpu_init(dcuda, gst);
    int rank, local, size;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Shared* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    double* const own = reinterpret_cast<double*>(data->words + static_cast<std::uint64_t>(local) * data->each);
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, data->each * 4, &win);
    dcuda_for_threads(gst, [&](unsigned thread) { part[thread] = 1.0 + thread; });
    for (unsigned half = threads_per_rank / 2; half > 0; half /= 2)
        dcuda_for_threads(gst, [&](unsigned thread) {
            if (thread < half) part[thread] += part[thread + half];
        });
    dcuda_one_thread(gst, [&] { own[0] = part[0]; });
    for (int step = 1, round = 0; step < size; step *= 2, ++round) {
        if (rank % (2 * step) == step)
            dcuda_put_notify(gst, win, rank - step, 8u * (1 + static_cast<unsigned>(round)), 8, own, round);
        if (rank % (2 * step) == 0 && rank + step < size) {
            dcuda_wait_notifications(gst, round, 1);
            dcuda_one_thread(gst, [&] { own[0] += own[1 + round]; });
        }
    }
    if (rank == 0)
        dcuda_one_thread(gst, [&] {
            data->sum = own[0];
            dcuda_log log = dcuda_log_get(gst);
            log << "the sum of " << size << " ranks is " << data->sum << dcuda_log::flush;
        });
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

// Rank 0 and the last rank, to and fro.
DCUDA_KERNEL void ping(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, local, size;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Shared* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    std::uint32_t* const own = data->words + static_cast<std::uint64_t>(local) * data->each;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, data->each * 4, &win);
    const int other = rank == 0 ? size - 1 : 0;
    dcuda_start_cpu_timer(gst);
    if (rank == 0 || rank == size - 1)
        for (std::uint64_t round = 0; round < data->rounds; ++round) {
            if (rank != 0) dcuda_wait_notifications(gst, 0, 1);
            if (data->data)
                dcuda_put_notify(gst, win, other, 4, 4, own, 0);
            else
                dcuda_notify(gst, other, DCUDA_COMM_WORLD, 0);
            if (rank == 0) dcuda_wait_notifications(gst, 0, 1);
        }
    dcuda_stop_cpu_timer(gst);
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

// The first ranks send `rounds` bytes each to the next ones, who answer with a notification; Hockney: B = s / (t - L).
DCUDA_KERNEL void bandwidth(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int local, size;
    dcuda_comm_size(gst, DCUDA_COMM_DEVICE, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Shared* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    std::uint32_t* const own = data->words + static_cast<std::uint64_t>(local) * data->each;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_DEVICE, own, data->each * 4, &win);
    for (int repeat = 0; repeat < 2; ++repeat) {
        const std::uint64_t bytes = repeat == 0 ? 4 : data->rounds;
        dcuda_start_cpu_timer(gst);
        for (int round = 0; round < 20; ++round) {
            if (local < data->senders) {
                dcuda_put_notify(gst, win, local + data->senders, 0, bytes, own, 0);
                dcuda_wait_notifications(gst, 1, 1);
            } else if (local < 2 * data->senders) {
                dcuda_wait_notifications(gst, 0, 1);
                dcuda_notify(gst, local - data->senders, DCUDA_COMM_DEVICE, 1);
            }
        }
        dcuda_stop_cpu_timer(gst);
    }
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

DCUDA_KERNEL void beyond(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank;
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    Shared* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, data->words, 64, &win);
    if (rank == 1) dcuda_put(gst, win, 0, 32, 64, data->words);
    dcuda_wait_notifications(gst, 5, 1);  // nobody sends it
    dcuda_gpu_finish(gst);
}

// One kernel from init to finish.
struct Run {
    double milliseconds = 0;
    std::vector<double> timings;
    Shared data{};
    int ranks = 0, process = 0;
};

Run play(dcuda_kernel_t kernel, std::uint64_t words_each, const Shared& with) {
    dcuda_host_context_handle ctx;
    dcuda_host_init(0, nullptr, &ctx, kernel, threads_per_rank);
    dcuda_rank_info info;
    dcuda_host_get_rank_info(ctx, &info);
    Run run;
    run.ranks = info.rank_count;
    run.process = info.process_index;
    run.data = with;
    run.data.each = words_each == 0 ? 2 * static_cast<std::uint64_t>(info.rank_count) : words_each;
    run.data.words = static_cast<std::uint32_t*>(
        dcuda_malloc(ctx, 4 * run.data.each * static_cast<std::uint64_t>(info.rank_responsible)));
    try {
        run.milliseconds = dcuda_host_run(ctx, &run.data, sizeof run.data);
    } catch (...) {
        dcuda_host_finish(ctx);
        throw;
    }
    run.timings = dcuda_host_get_timings(ctx);
    dcuda_host_finish(ctx);
    return run;
}

int failures = 0;

void expect(bool holds, const std::string& what) {
    std::printf("%s  %s\n", holds ? "ok    " : "FAILED", what.c_str());
    failures += !holds;
}

void interface() {
    Shared with{};
    with.rounds = 300;  // more than there are tags
    const Run all = play(everyone, 0, with);
    expect(all.data.wrong == 0, std::to_string(all.ranks) + " ranks, 300 puts and notifications of each pair");
    const Run summed = play(sum, 64, Shared{});
    const double expected = summed.ranks * (threads_per_rank * (threads_per_rank + 1) / 2.0);
    if (summed.process == 0) expect(summed.data.sum == expected, "the sum over all threads of all ranks");
    std::string what;
    try {
        (void)play(beyond, 64, Shared{});
    } catch (const loom::Error& error) {
        what = error.what();
    }
    std::printf("        %s\n", what.c_str());
    expect(what.find("rank 1: dcuda_put: offset 32 and 64 bytes exceed the 64 of rank 0") == 0,
           "a put out of bounds ends the kernel and is named");
}

void latency() {
    for (const bool data : {true, false}) {
        Shared with{};
        with.rounds = 20000;
        with.data = data;
        const Run run = play(ping, 64, with);
        if (run.process == 0)
            std::printf("5.1     %-16s %8.3f us, half of a round trip\n", data ? "notified access" : "notify",
                        1000 * run.timings.at(0) / (2.0 * static_cast<double>(with.rounds)));
    }
}

void rates() {
    for (const int senders : {1, 0}) {
        Shared with{};
        with.rounds = 1 << 20;
        with.senders = senders == 0 ? 16 : senders;
        const Run run = play(bandwidth, (1 << 20) / 4, with);
        const double each = (run.timings.at(1) - run.timings.at(0)) / 20 / 1000;  // seconds beyond the latency
        if (run.process == 0)
            std::printf("5.4     %2d ranks send %8.2f GB/s inside the device\n", with.senders,
                        with.senders * static_cast<double>(with.rounds) / each / 1e9);
    }
}

}  // namespace

int main(int argc, char* argv[]) try {
    const std::string what = argc > 1 ? argv[1] : "all";
    if (what == "all" || what == "interface") interface();
    if (what == "all" || what == "latency") latency();
    if (what == "all" || what == "rates") rates();
    return failures == 0 ? 0 : 1;
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
