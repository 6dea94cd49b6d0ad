#include "loom/device/job.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "device/check/checker.hpp"
#include "device/host/words.hpp"
#include "device/job_state.hpp"
#include "loom/base/clock.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::device {

namespace {

constexpr std::uint32_t most_ranks_each = 4096;
constexpr std::uint64_t alignment = 256;

std::uint32_t ranks_each(const Options& options, std::uint32_t threads) {
    const std::uint32_t fit = options.occupancy.resident(threads);
    const std::uint32_t wanted = options.ranks == 0 ? fit : options.ranks;
    if (wanted > fit || wanted == 0)
        throw TooManyBlocks("a device holds " + std::to_string(fit) + " blocks of " + std::to_string(threads) +
                            " threads at once, not " + std::to_string(wanted) +
                            "; those that are left over would never start, and all wait for each other");
    if (wanted > most_ranks_each) throw UsageError("more than 4096 ranks of a device");
    return wanted;
}

void open_device(Device& device, const Options& options, std::uint32_t threads) {
    const std::uint32_t process = device.network->process();
    device.memory = device.network->allocate(options.memory);
    device.tables = std::make_unique<Tables>(options, device.shape.starts.back(), device.shape.starts[process],
                                             device.shape.starts[process + 1] - device.shape.starts[process], threads,
                                             device.memory);
}

// "byte 24 of rank 1 in window 0", or of the device's memory where no window is.
std::string where(Devices& devices, std::uint32_t which, std::uint64_t offset) {
    Tables& tables = *devices[which].tables;
    const std::uint64_t address = tables.context().memory + offset;
    for (std::uint32_t slot = 0; slot < most_windows; ++slot)
        for (std::uint32_t rank = 0; tables.window(slot).id >= 0 && rank < tables.size(); ++rank) {
            const WindowRange& range = tables.range(slot, tables.context().world_start + rank);
            if (address - range.base < range.size)
                return "byte " + std::to_string(address - range.base) + " of rank " +
                       std::to_string(tables.context().world_start + rank) + " in window " +
                       std::to_string(tables.window(slot).id);
        }
    return "byte " + std::to_string(offset) + " of device " + std::to_string(which);
}

void prepare(Job::State& state, dcuda_kernel_t kernel, std::span<const std::span<std::byte>> data) {
    if (state.options.check_races) {
        std::vector<std::span<const std::byte>> memories;
        for (const Device& device : state.devices) memories.push_back(device.memory);
        Devices& devices = state.devices;
        state.checker = std::make_unique<Checker>(
            devices[0].shape.starts, memories,
            Checker::Words{[&](std::uint32_t device, std::uint64_t offset) { return where(devices, device, offset); }},
            [&](Race race) { devices[0].host->fail(std::make_exception_ptr(std::move(race))); });
    }
    for (std::size_t i = 0; i < state.devices.size(); ++i) {
        Device& device = state.devices[i];
        device.data.clear();
        if (i < data.size()) device.data.assign(data[i].begin(), data[i].end());
        device.tables->reset(state.options.first_count);
        device.tables->context().user_data = device.data.data();
        device.host = std::make_unique<Host>(state.options, *device.network, *device.tables, device.shape, device.bell,
                                             state.checker.get());
        device.blocks = std::make_unique<Blocks>(device.tables->size(), state.options.stack, kernel,
                                                 device.tables->context(), device.bell, state.checker.get());
        Blocks& blocks = *device.blocks;
        device.host->place_of = [&blocks](std::uint32_t rank) { return in_words(blocks[rank].place); };
        device.host->thrown = [&blocks] { return blocks.thrown(); };
    }
}

bool all_ended(const Devices& devices) {
    return std::all_of(devices.begin(), devices.end(), [](const Device& device) { return device.blocks->ended(); });
}

// What is left to do when all blocks have ended: lines of the log, what is still on its way.
bool all_quiet(Devices& devices) {
    return std::all_of(devices.begin(), devices.end(), [](Device& device) {
        const std::scoped_lock lock(device.host->network_mutex());
        if (device.host->failed()) return device.host->has_told();
        return device.host->is_quiet() && !device.host->has_delayed();
    });
}

void remark_stall(Job::State& state, bool& said, Time since) {
    if (said || now() - since < state.options.patience) return;
    said = true;
    const std::string text =
        "nothing has moved for " + to_string(now() - since) + ": " + describe_waiting(state.devices);
    if (state.options.print)
        state.options.print(text);
    else
        std::fputs((text + "\n").c_str(), stderr);
}

void run_together(Job::State& state) {
    Devices& devices = state.devices;
    Turns turns(devices, state.options.seed ? state.options.seed
                         : state.checker    ? std::optional<std::uint64_t>(1)
                                            : std::nullopt);
    constexpr int most_fruitless = 4096;  // sweeps in which blocks only looked at something in vain
    int fruitless = 0;
    bool said = false;
    Time moved_at = now();
    while (true) {
        if (turns.sweep()) {
            fruitless = 0;
            continue;
        }
        if (all_ended(devices) && all_quiet(devices)) return;
        const bool delayed = std::any_of(devices.begin(), devices.end(),
                                         [](const Device& device) { return device.host->has_delayed(); });
        if (!devices[0].network->is_closed()) {
            if (fruitless++ == 0) moved_at = now();
            remark_stall(state, said, moved_at);
            devices[0].network->pause();
        } else if (!delayed) {
            bool looking = false;
            for (Device& device : devices)
                for (std::uint32_t i = 0; i < device.blocks->size(); ++i)
                    if (const auto why = (*device.blocks)[i].waits())
                        looking |= why->function == Function::test_notifications;
            if (looking && ++fruitless < most_fruitless) continue;
            const Stall stall = diagnose(devices, state.options.seed);
            for (Device& device : devices) device.blocks.reset();
            throw stall;
        }
    }
}

// One thread that repeats a step, and sleeps on the device's bell while there is nothing to do.
template <class Step, class Over>
void serve(Bell& bell, bool spins, const Step& step, const Over& over) {
    constexpr int looks = 2000;  // before it sleeps, where there is a core for it
    int fruitless = 0;
    while (true) {
        const std::uint64_t seen = bell.rung();
        if (step()) {
            fruitless = 0;
            continue;
        }
        if (over()) return;
        if (spins && ++fruitless < looks)
            transport::pause(transport::Waiting::spin);
        else
            bell.sleep(seen, std::chrono::milliseconds(1));
    }
}

void run_apart(Job::State& state, bool spins) {
    std::vector<std::thread> threads;
    std::atomic<bool> over{false};
    for (Device& device : state.devices) {
        device.network->set_events(true);
        Host& host = *device.host;
        for (std::uint32_t i = 0; i < state.options.workers; ++i)
            threads.emplace_back([&, i] {
                serve(
                    device.bell, spins, [&] { return device.blocks->step(i, state.options.workers); },
                    [&] { return device.blocks->ended(i, state.options.workers); });
            });
        threads.emplace_back([&] {
            serve(
                device.bell, spins || host.has_delayed(), [&] { return host.main_step(); },
                [&] { return over.load(); });
        });
        threads.emplace_back([&] {
            while (!over.load()) {
                bool moved = false;
                {
                    const std::scoped_lock lock(host.network_mutex());
                    moved = device.network->progress();
                }
                if (moved) device.bell.ring();  // completions are the main thread's
                if (host.receive_step() || moved) continue;
                if (spins || host.has_delayed()) {
                    transport::pause(transport::Waiting::yield);
                } else {
                    device.network->sleep(milliseconds(1));
                    device.bell.ring();  // an exchange may have come
                }
            }
        });
        threads.emplace_back([&] {
            serve(
                device.bell, false, [&] { return host.log_step(); }, [&] { return over.load(); });
        });
    }
    const std::size_t each = state.options.workers + 3;
    for (std::size_t device = 0; device < state.devices.size(); ++device)
        for (std::uint32_t i = 0; i < state.options.workers; ++i) threads[device * each + i].join();
    while (!all_quiet(state.devices)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    over.store(true);
    for (Device& device : state.devices) {
        device.bell.ring();
        device.network->interrupt();
    }
    for (std::thread& thread : threads)
        if (thread.joinable()) thread.join();
    for (Device& device : state.devices) {
        device.network->set_events(false);
        device.host->log_step();
    }
}

// The failure that knows most.
std::exception_ptr failure_of(const Devices& devices) {
    std::exception_ptr elsewhere = nullptr;
    for (const Device& device : devices) {
        const std::exception_ptr why = device.host->failure();
        if (why == nullptr) continue;
        try {
            std::rethrow_exception(why);
        } catch (const FailedElsewhere&) {
            elsewhere = why;
        } catch (...) {
            return why;
        }
    }
    return elsewhere;
}

}  // namespace

Job::Job(const Options& options, std::uint32_t devices, std::uint32_t threads) : state_(std::make_unique<State>()) {
    const std::uint32_t ranks = ranks_each(options, threads);
    if (devices == 0) throw UsageError("a job needs a device");
    state_->options = options;
    state_->threads = threads;
    const auto hub = make_hub(devices);
    for (std::uint32_t i = 0; i < devices; ++i) {
        Device& device = state_->devices.emplace_back();
        for (std::uint32_t process = 0; process <= devices; ++process) device.shape.starts.push_back(process * ranks);
        device.network = open_peer(hub, i);
        open_device(device, state_->options, threads);
    }
}

Job::Job(const Options& options, window::World& world, std::uint32_t threads) : state_(std::make_unique<State>()) {
    const std::uint32_t ranks = ranks_each(options, threads);
    if (options.check_races) throw UsageError("races are looked for among devices of one process (LOOM_DEVICE_CHECK)");
    state_->options = options;
    state_->threads = threads;
    Device& device = state_->devices.emplace_back();
    device.network = open_window(world, options.manager, 16 + 16 * std::uint64_t{most_ranks_each});
    device.network->exchange(std::as_bytes(std::span(&ranks, 1)));
    std::optional<std::vector<std::vector<std::byte>>> parts;
    while (!(parts = device.network->exchanged()))
        if (!device.network->progress()) device.network->pause();
    device.shape.starts = {0};
    for (const auto& part : *parts) {
        std::uint32_t theirs = 0;
        if (part.size() != sizeof theirs) throw Error("a process of the job is no dCUDA program of this kind");
        std::memcpy(&theirs, part.data(), sizeof theirs);
        device.shape.starts.push_back(device.shape.starts.back() + std::min(theirs, most_ranks_each));
    }
    open_device(device, state_->options, threads);
}

Job::~Job() = default;

std::uint32_t Job::devices() const {
    return static_cast<std::uint32_t>(state_->devices.size());
}

dcuda_rank_info Job::info(std::uint32_t which) const {
    const Device& device = state_->devices[which];
    const Network& network = *device.network;
    const std::uint32_t process = network.process(), own_node = network.node_of(process);
    dcuda_rank_info info{};
    info.rank_count = static_cast<int>(device.shape.starts.back());
    info.rank_start = static_cast<int>(device.shape.starts[process]);
    info.rank_responsible = static_cast<int>(device.tables->size());
    std::uint32_t nodes = 0;
    for (std::uint32_t each = 0; each < network.processes(); ++each) {
        const std::uint32_t node = network.node_of(each);
        nodes = std::max(nodes, node + 1);
        info.device_count += node == own_node;
        info.device_index += node == own_node && each < process;
    }
    info.node_count = static_cast<int>(nodes);
    info.node_index = static_cast<int>(own_node);
    info.process_count = static_cast<int>(network.processes());
    info.process_index = static_cast<int>(process);
    return info;
}

std::byte* Job::allocate(std::uint32_t which, std::uint64_t bytes) {
    Device& device = state_->devices[which];
    const std::uint64_t whole = (bytes + alignment - 1) / alignment * alignment;
    if (whole < bytes || whole > device.memory.size() - device.used)
        throw Error("the device has " + std::to_string(device.memory.size() - device.used) + " bytes left, not " +
                    std::to_string(bytes));
    std::byte* const at = device.memory.data() + device.used;
    device.used += whole;
    return at;
}

void Job::release(std::uint32_t which) {
    state_->devices[which].used = 0;
}

double Job::run(dcuda_kernel_t kernel, std::span<const std::span<std::byte>> data) {
    State& state = *state_;
    prepare(state, kernel, data);
    const bool closed = state.devices[0].network->is_closed();
    const std::uint32_t wanted = devices() * (state.options.workers + 3), cores = transport::usable_cores();
    const bool apart = !state.checker && !state.options.seed &&
                       (state.options.roles == Roles::apart ||
                        (state.options.roles == Roles::automatic && !closed && wanted <= cores));
    const Time begin = now();
    if (apart)
        run_apart(state, wanted <= cores);
    else
        run_together(state);
    const double milliseconds = (now() - begin).microseconds() / 1000;
    if (const std::exception_ptr failure = failure_of(state.devices)) {
        for (Device& device : state.devices) device.blocks.reset();
        std::rethrow_exception(failure);
    }
    for (std::size_t i = 0; i < state.devices.size(); ++i) {
        Device& device = state.devices[i];
        device.timings = device.host->timings();
        if (i < data.size()) std::copy(device.data.begin(), device.data.end(), data[i].begin());
        device.blocks.reset();
    }
    return milliseconds;
}

std::vector<double> Job::timings(std::uint32_t device) const {
    return state_->devices[device].timings;
}

}  // namespace loom::device
