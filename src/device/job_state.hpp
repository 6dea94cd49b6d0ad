// What a Job is made of.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/cpu/blocks.hpp"
#include "device/host/host.hpp"
#include "loom/base/random.hpp"
#include "loom/device/job.hpp"

namespace loom::device {

// One device and its host.
struct Device {
    std::unique_ptr<Network> network;
    std::span<std::byte> memory;
    std::uint64_t used = 0;  // of it
    Shape shape;
    std::unique_ptr<Tables> tables;
    Bell bell;
    std::vector<std::byte> data;  // the user's

    // Of a run.
    std::unique_ptr<Blocks> blocks;
    std::unique_ptr<Host> host;
    std::vector<double> timings;
};

class Checker;

struct Job::State {
    Options options;
    std::uint32_t threads = 0;
    std::deque<Device> devices;
    std::unique_ptr<Checker> checker;
};

using Devices = std::deque<Device>;

// Everybody's turns in one thread, in order or shuffled.
class Turns {
public:
    Turns(Devices& devices, std::optional<std::uint64_t> seed);
    // Each has one turn; a shuffled sweep leaves some out, unless the last one moved nothing. True: something moved, or
    // not all had a turn.
    bool sweep();

private:
    bool step(std::size_t actor);

    Devices& devices_;
    std::optional<Random> random_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> actors_;  // device, block; behind the blocks the host's roles
    bool everyone_ = false;
};

// Nothing moves: who waits for what, and why it will not come. Lets waiting ranks go on without what they wait for, to
// see what would have been sent; of no use for anything else afterwards.
[[nodiscard]] Stall diagnose(Devices& devices, std::optional<std::uint64_t> seed);
// Who waits, as far as this process knows.
[[nodiscard]] std::string describe_waiting(Devices& devices);

}  // namespace loom::device
