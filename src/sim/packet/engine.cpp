#include "sim/packet/engine.hpp"

#include <fmt/format.h>

#include "sim/engines.hpp"
#include "sim/packet/engine_of.hpp"

namespace loom::sim::packet {

void check_options(const PacketOptions& options) {
    const std::uint32_t mtu = options.mtu;
    if (mtu != 256 && mtu != 512 && mtu != 1024 && mtu != 2048 && mtu != 4096)
        throw UsageError(fmt::format("an MTU of {}: expected 256, 512, 1024, 2048 or 4096", mtu));
    if (options.buffer_bytes < 2 * (mtu + block_bytes))
        throw UsageError(
            fmt::format("a buffer of {} bytes does not hold two packets of {}", options.buffer_bytes, mtu));
    if (options.buffer_bytes > 1u << 30) throw UsageError("a buffer of more than 1 GiB");
    if (options.cable_delay.ps < 0 || options.switch_delay.ps < 0 || options.host_delay.ps < 0)
        throw UsageError("a delay below zero");
    if (std::max({options.cable_delay, options.switch_delay, options.host_delay}) > seconds(1))
        throw UsageError("a delay of more than a second");
    if (options.counter_tick.ps <= 0) throw UsageError("a counter tick must be longer than nothing");
    for (const std::uint8_t lane : options.sl_to_vl)
        if (lane >= max_lanes)
            throw UsageError(fmt::format("lane {} is not a data lane (0 to {})", lane, max_lanes - 1));
    const CongestionControl& control = options.congestion;
    if (control.switches.threshold > 15) throw UsageError("a threshold is 0 to 15");
    if (control.table.size() > 256) throw UsageError("a congestion control table has at most 256 entries");
    for (const double delay : control.table)
        if (!(delay >= 0 && delay <= 16'383)) throw UsageError("a congestion control table entry is 0 to 16,383");
    if (!(control.jitter >= 0 && control.jitter <= 1)) throw UsageError("a jitter of injection delays is 0 to 1");
    if (options.retries && options.retries->after < microseconds(1))
        throw UsageError("a queue pair sends again after a microsecond at least");
    if (options.retries && (options.paths == PathChoice::adaptive || options.buffer_use == BufferUse::per_output))
        throw UsageError("cables can fail where paths are those of the tables and buffers are shared");
    if (options.paths == PathChoice::adaptive && options.buffer_use == BufferUse::per_output)
        throw UsageError("adaptive paths need a shared buffer: where a packet will go is not known in advance");
}

// Threads meet at the end of every window: with less than this to do in between, one is faster.
Options with_useful_threads(Options options, std::size_t ranks) {
    constexpr std::size_t ranks_a_thread = 64;
    options.threads =
        static_cast<unsigned>(std::clamp<std::size_t>(ranks / ranks_a_thread, 1, thread_count(options.threads)));
    return options;
}

template class EngineOf<Executor>;

}  // namespace loom::sim::packet

namespace loom::sim {

std::unique_ptr<Simulation> make_packet_simulation(const Network& network, const traffic::Schedule& schedule,
                                                   const Options& options) {
    return std::make_unique<packet::Engine>(network, schedule, packet::with_useful_threads(options, schedule.ranks()));
}

}  // namespace loom::sim
