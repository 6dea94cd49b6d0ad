// Programs for devices as data: each rank interprets a list of steps. Correct ones are made at random together with
// what every byte must be; faults are planted into them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device/kernels.hpp"
#include "loom/base/random.hpp"

namespace loom::device::test {

struct Step {
    enum class Do : std::uint8_t { write, read, put, put_notify, notify, wait, flush, barrier };
    Do what = Do::barrier;
    std::uint32_t rank = 0;  // the target
    std::uint32_t tag = 0, count = 0;
    std::uint64_t from = 0, to = 0, bytes = 8;  // places in the windows
    std::uint8_t value = 0;                     // written, or expected
};

struct Script {
    const Step* steps = nullptr;
    std::uint64_t count = 0;
};

struct Programs {
    const Script* scripts = nullptr;  // of the ranks of this device
    std::byte* memory = nullptr;
    std::uint64_t window = 0;  // bytes of each rank
    std::uint32_t wrong = 0;
};

DCUDA_KERNEL inline void interpret(dcuda_context_handle dcuda) {
    DCUDA_SHARED dcuda_state gst;
    dcuda_gpu_init(dcuda, gst);
    int local;
    dcuda_comm_rank(gst, DCUDA_COMM_DEVICE, &local);
    Programs* data;
    dcuda_get_data(gst, reinterpret_cast<void**>(&data));
    std::byte* const own = data->memory + static_cast<unsigned>(local) * data->window;
    const Script script = data->scripts[local];
    dcuda_win win;
    dcuda_win_create(gst, DCUDA_COMM_WORLD, own, data->window, &win);
    for (std::uint64_t i = 0; i < script.count; ++i) {
        const Step step = script.steps[i];
        const int rank = static_cast<int>(step.rank), tag = static_cast<int>(step.tag);
        switch (step.what) {
            case Step::Do::write:
                dcuda_writes(gst, own + step.from, step.bytes);
                std::memset(own + step.from, step.value, step.bytes);
                break;
            case Step::Do::read:
                dcuda_reads(gst, own + step.from, step.bytes);
                for (std::uint64_t byte = 0; byte < step.bytes; ++byte)
                    data->wrong += own[step.from + byte] != static_cast<std::byte>(step.value);
                break;
            case Step::Do::put:
                dcuda_put(gst, win, rank, step.to, step.bytes, own + step.from);
                break;
            case Step::Do::put_notify:
                dcuda_put_notify(gst, win, rank, step.to, step.bytes, own + step.from, tag);
                break;
            case Step::Do::notify:
                dcuda_notify(gst, rank, DCUDA_COMM_WORLD, tag);
                break;
            case Step::Do::wait:
                dcuda_wait_notifications(gst, tag, static_cast<int>(step.count));
                break;
            case Step::Do::flush:
                dcuda_win_flush(gst, win);
                break;
            case Step::Do::barrier:
                dcuda_comm_barrier(gst, DCUDA_COMM_WORLD);
                break;
        }
    }
    dcuda_win_free(gst, win);
    dcuda_gpu_finish(gst);
}

// A message of a program, and where its steps are in the scripts of its ranks.
struct Sent {
    std::uint32_t from, to, tag;
    std::uint64_t source, place, bytes;
    std::uint8_t value;
    std::size_t send_step;              // of put_notify, or the put before a notify
    std::size_t phase_step, read_step;  // of the target: its first of the phase, its read
};

struct Program {
    std::uint32_t devices = 1, each = 1;  // ranks of a device
    std::uint64_t window = 0;
    std::vector<std::vector<Step>> scripts;  // by rank
    std::vector<Sent> sent;
    [[nodiscard]] std::uint32_t ranks() const { return devices * each; }
    [[nodiscard]] bool remote(const Sent& message) const { return message.from / each != message.to / each; }
};

// How random programs use windows: places to send from, then places to write to.
inline constexpr std::uint64_t slot = 32, slots = 24;

struct Places {
    std::vector<std::uint64_t> sources, targets;  // the next free one of each rank
    void begin(std::uint32_t ranks) {
        sources.assign(ranks, 0);
        targets.assign(ranks, slots);
    }
};

inline std::vector<Sent> add_sends(Program& program, Random& random, std::uint32_t phase, Places& places,
                                   std::uint8_t& value) {
    std::vector<Sent> sent;
    std::vector<std::size_t> begin;
    for (const auto& script : program.scripts) begin.push_back(script.size());
    const std::uint32_t messages = 1 + random.below(2 * program.ranks());
    for (std::uint32_t i = 0; i < messages; ++i) {
        const std::uint32_t from = random.below(program.ranks()), to = random.below(program.ranks());
        if (places.sources[from] == slots || places.targets[to] == 2 * slots || from == to) continue;
        Sent message{from,
                     to,
                     phase * 32 + random.below(4),
                     places.sources[from]++ * slot,
                     places.targets[to]++ * slot,
                     1 + random.below(slot),
                     ++value,
                     0,
                     begin[to],
                     0};
        auto& script = program.scripts[from];
        script.push_back({Step::Do::write, 0, 0, 0, message.source, 0, message.bytes, message.value});
        message.send_step = script.size();
        const bool one = random.below(3) != 0;
        script.push_back({one ? Step::Do::put_notify : Step::Do::put, to, message.tag, 0, message.source, message.place,
                          message.bytes, 0});
        if (!one) script.push_back({Step::Do::notify, to, message.tag, 0, 0, 0, 0, 0});
        sent.push_back(message);
    }
    return sent;
}

inline void add_waits(Program& program, Random& random, std::uint32_t phase, std::vector<Sent>& sent) {
    for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) {
        auto& script = program.scripts[rank];
        std::vector<std::uint32_t> tags{0, 1, 2, 3};
        random.shuffle(std::span(tags));
        for (const std::uint32_t tag : tags) {
            const auto mine = [&](const Sent& each) { return each.to == rank && each.tag == phase * 32 + tag; };
            const auto count = static_cast<std::uint32_t>(std::count_if(sent.begin(), sent.end(), mine));
            if (count == 0) continue;
            script.push_back({Step::Do::wait, 0, phase * 32 + tag, count, 0, 0, 0, 0});
            for (Sent& each : sent) {
                if (!mine(each)) continue;
                each.read_step = script.size();
                script.push_back({Step::Do::read, 0, 0, 0, each.place, 0, each.bytes, each.value});
            }
        }
    }
}

// In every phase each rank sends some messages, then waits for its own by tag in any order, and reads them. Phases have
// tags of their own; behind some all ranks flush and meet, and memory is used again.
inline Program random_program(std::uint64_t seed, std::uint32_t devices = 0) {
    Random random(seed);
    Program program;
    program.devices = devices == 0 ? 1 + random.below(3) : devices;
    program.each = 1 + random.below(3);
    if (program.ranks() == 1) program.each = 2;
    program.window = 2 * slot * slots;
    program.scripts.resize(program.ranks());
    const std::uint32_t phases = 1 + random.below(4);
    Places places;
    places.begin(program.ranks());
    std::uint8_t value = 0;
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
        std::vector<Sent> sent = add_sends(program, random, phase, places, value);
        add_waits(program, random, phase, sent);
        program.sent.insert(program.sent.end(), sent.begin(), sent.end());
        if (random.below(2) != 0 && phase + 1 != phases) continue;
        for (auto& script : program.scripts) {
            script.push_back({Step::Do::flush, 0, 0, 0, 0, 0, 0, 0});
            script.push_back({Step::Do::barrier, 0, 0, 0, 0, 0, 0, 0});
        }
        places.begin(program.ranks());
    }
    return program;
}

// How many bytes were not what they must be.
inline std::uint32_t play(const Program& program, const Options& options) {
    Job job(options, program.devices, 1);
    std::vector<Script> scripts;
    for (const auto& steps : program.scripts) scripts.push_back({steps.data(), steps.size()});
    std::uint32_t wrong = 0;
    for (const Programs& each : run<Programs>(job, interpret, [&](std::uint32_t device, Programs&data) {
             data.scripts = scripts.data() + std::size_t{device} * program.each;
             data.window = program.window;
             data.memory = job.allocate(device, program.each * program.window);
         }))
        wrong += each.wrong;
    return wrong;
}

inline Options options_of(const Program& program, std::uint64_t seed, bool check) {
    Options options = small(program.each);
    options.memory = 16 << 10;
    options.queue_bits = 3;
    options.seed = seed;
    options.check_races = check;
    return options;
}

}  // namespace loom::device::test
