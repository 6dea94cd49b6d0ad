// The measurements of dcuda.cpp: ping-pongs of kernels on the CPU device, and of queues on a bus in virtual time.
#ifdef WITH_DCUDA

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "loom/device/job.hpp"
#include "loom/transport/ask.hpp"
#include "loom/transport/open.hpp"
#include "loom/window/world.hpp"
#include "reproduce/dcuda.hpp"

namespace loom::reproduce {

namespace {

struct Pinged {
    std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t batches = 0, rounds = 0;  // round trips in each
};

// The first rank of the world and the last one.
DCUDA_KERNEL void ping_kernel(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int rank, local, size;
    dcuda_comm_size(gst, DCUDA_COMM_WORLD, &size);
    dcuda_comm_rank(gst, DCUDA_COMM_WORLD, &rank);
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Pinged* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    std::byte* const own = data->memory + static_cast<std::uint64_t>(local) * 2 * data->bytes;
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, 2 * data->bytes, &win);
    const int other = rank == 0 ? size - 1 : 0;
    for (std::uint32_t batch = 0; batch < data->batches; ++batch) {
        dcuda_start_cpu_timer(gst);
        for (std::uint32_t round = 0; round < data->rounds && (rank == 0 || rank == size - 1); ++round) {
            if (rank != 0) dcuda_wait_notifications(gst, 0, 1);
            if (data->bytes != 0)
                dcuda_put_notify(gst, win, other, data->bytes, data->bytes, own, 0);
            else
                dcuda_notify(gst, other, DCUDA_COMM_WORLD, 0);
            if (rank == 0) dcuda_wait_notifications(gst, 0, 1);
        }
        dcuda_stop_cpu_timer(gst);
    }
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

device::Options options_of(const DevicePing& ping) {
    device::Options options;
    const auto time = [](double us) { return nanoseconds(static_cast<std::int64_t>(us * 1000)); };
    options.ranks = ping.path == DevicePing::Path::device ? 2 : 1;
    options.memory = std::max<std::uint64_t>(8 * ping.bytes, 1 << 16);
    options.manager = ping.two_messages ? device::Manager::mpi : device::Manager::verbs;
    options.roles = device::Roles::together;
    options.delays.bus = time(ping.bus_us);
    options.delays.direct = time(ping.direct_us);
    options.delays.direct_bytes = ping.rate;
    options.delays.wire = time(ping.wire_us);
    return options;
}

double half_round_trip(device::Job& job, const DevicePing& ping) {
    Pinged data;
    data.bytes = ping.bytes;
    // Short enough for a slice of a shared core; the least of them counts, since others on this machine only ever add.
    data.rounds = std::min<std::uint32_t>(ping.rounds, 20);
    data.batches = ping.rounds / data.rounds;
    data.memory = job.allocate(0, 4 * std::max<std::uint64_t>(ping.bytes, 8));
    const std::span<std::byte> part = std::as_writable_bytes(std::span(&data, 1));
    constexpr int repeats = 5;
    double least = 1e9;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        (void)job.run(ping_kernel, std::span(&part, 1));
        for (const double milliseconds : job.timings(0))
            least = std::min(least, 1000 * milliseconds / (2.0 * data.rounds));
    }
    return least;
}

}  // namespace

double measure_device_ping(const DevicePing& ping) {
    if (ping.path == DevicePing::Path::device) {
        device::Job job(options_of(ping), 1, 1);
        return half_round_trip(job, ping);
    }
    transport::Launch launch;
    launch.ranks = 2;
    launch.timeout = std::chrono::seconds(120);
    // Who polls gives its core away: with others on this machine both may have to share one.
    launch.environment = {{"LOOM_HCA", "soft"}, {"LOOM_WAITING", "yield"}};
    const std::string answer = transport::ask_ranks(launch, [&](Rank) {
        const auto bootstrap = transport::find_bootstrap();
        const auto transport = transport::open_verbs(*bootstrap);
        double time = 0;
        {
            window::World world(*transport, bootstrap.get());
            {
                device::Job job(options_of(ping), world, 1);
                time = half_round_trip(job, ping);
            }
            world.close();
        }
        bootstrap->finished();
        return std::to_string(time);
    });
    return std::stod(answer);
}

namespace {

// One side's memory with a queue in it. Times are nanoseconds.
struct Place {
    explicit Place(bool with_queue)
        : entries(1u << bits), ring{entries.data(), &tail, nullptr, with_queue ? bits : 1} {}
    static constexpr std::uint32_t bits = 6;
    std::vector<device::Entry> entries;
    std::uint32_t tail = 0;
    device::Ring ring;
    device::Producer producer{};
    device::Consumer consumer{};
};

// The producer begins at `now`; when the consumer has the entry. It looks again and again since `since`.
double pass(Place& place, bool far_from_producer, double now, double since, double bus, double work) {
    const double there = now + work + (far_from_producer ? bus : 0);
    while (!has_room(place.ring, place.producer)) {
    }
    push(place.ring, place.producer, {});
    // A look at memory across the bus asks on the way there and sees what is there at its far end.
    const double look = far_from_producer ? 0.02 : 2 * bus;
    double began = since;
    while (began + look / 2 < there) began += look;
    if (!has_entry(place.ring, place.consumer)) return 0;
    (void)pop(place.ring, place.consumer);
    return began + look + work;
}

}  // namespace

double measure_device_queue(const DeviceQueue& queue) {
    constexpr int rounds = 1000;
    const double work = queue.queue ? 0.02 : 0.01;  // to fill or to read an entry, or a flag
    Place ping(queue.queue), pong(queue.queue);
    double host = 0, device = 0;
    for (int round = 0; round < rounds; ++round) {
        device = pass(ping, queue.ping_on_device, host, device, queue.bus_us, work);
        host = pass(pong, !queue.pong_on_device, device, host, queue.bus_us, work);
    }
    return host / rounds;
}

}  // namespace loom::reproduce

#endif
