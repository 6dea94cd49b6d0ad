// Kuster 2017 (dCUDA on InfiniBand), Tables 5.1 to 5.4.
//
// There is no GPU and no adapter: the CPU device and the software HCA take their places, and what a bus, GPUDirect and
// a switch cost is put in. Three delays stand here, taken from the paper itself: a write over the bus 0.95 us
// (Table 5.2, half of 1.9), the adapter's access to device memory 0.8 us (Table 5.3: 2.0 - 1.2 and 2.2 - 1.4), a switch
// and cables 0.2 us (Table 5.3: 1.4 - 1.2). Rates of Table 5.4 are put in too: GPUDirect 2.7 GB/s, staging 12.6 GB/s.
// Our numbers are of another machine, so that none is judged: orders and signs are.
#ifdef WITH_DCUDA

#include "reproduce/dcuda.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "loom/reproduce/reproduction.hpp"

namespace loom::reproduce {

namespace {

constexpr double bus_us = 0.95, direct_us = 0.8, wire_us = 0.2;
constexpr double direct_rate = 2.7e9, staging_rate = 12.6e9;

// Inside a host the second message costs some 40 ns beside delays of microseconds: orders are judged with this room.
constexpr double room = 1.1;

using Path = DevicePing::Path;

constexpr const char* managers =
    "verbs is one notified put of the room window, which inside a host ends in plain stores; mpi is two messages of "
    "the "
    "transport over the software HCA";

std::uint32_t rounds_of(const RunOptions& options) {
    return options.scope == Scope::full ? 20'000 : 2'000;
}

DevicePing access(Path path, bool two_messages, std::uint64_t bytes, const RunOptions& options) {
    DevicePing ping;
    ping.path = path;
    ping.two_messages = two_messages;
    ping.bytes = bytes;
    ping.bus_us = bus_us;
    ping.direct_us = direct_us;
    ping.wire_us = path == Path::remote ? wire_us : 0;
    ping.rounds = rounds_of(options);
    return ping;
}

std::string delays() {
    return fmt::format(
        "put in: {} us for a write between device and host, {} us for the adapter's access to device "
        "memory, {} us for another node's switch and cables",
        bus_us, direct_us, wire_us);
}

}  // namespace

Result dcuda_5_1(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "dcuda-5.1";
    result.title = "Latency of notified access and of notifications, microseconds, half of a round trip";
    result.columns = {{"verbs", shown, 2}, {"mpi", shown, 2}};
    struct Case {
        const char* name;
        Path path;
        std::uint64_t bytes;
        double verbs, mpi;
    };
    constexpr std::array cases{Case{"notified access, local device", Path::device, 4, 2.4, 2.4},
                               Case{"notified access, local node", Path::peer, 4, 6.7, 23.7},
                               Case{"notified access, remote node", Path::remote, 4, 6.9, 12.2},
                               Case{"notify, local device", Path::device, 0, 1.9, 1.9},
                               Case{"notify, local node", Path::peer, 0, 3.4, 5.0},
                               Case{"notify, remote node", Path::remote, 0, 3.6, 5.4}};
    std::array<std::array<double, 2>, cases.size()> ours{};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (const bool mpi : {false, true})
            ours[i][mpi] = parts.device_ping(access(cases[i].path, mpi, cases[i].bytes, options));
        result.rows.push_back({cases[i].name, {{cases[i].verbs, ours[i][0]}, {cases[i].mpi, ours[i][1]}}});
        if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(cases.size()));
    }
    constexpr std::size_t device = 0, peer = 1, remote = 2, notify = 3;
    result.claims = {
        {"verbs: the local device is quicker than a peer", ours[device][0] < ours[peer][0]},
        {"verbs: a notification on the local device is quicker than to a peer",
         ours[notify + device][0] < ours[notify + peer][0]},
        {"verbs: a notification is quicker than an access, beyond the device",
         ours[notify + peer][0] < ours[peer][0] && ours[notify + remote][0] < ours[remote][0]},
        {"one message (verbs) takes no longer than two (mpi), within a tenth, to a peer and to another node",
         ours[peer][0] < room * ours[peer][1] && ours[remote][0] < room * ours[remote][1]},
        {fmt::format("verbs: beyond the device it takes more than twice as long ({:.2f} and {:.2f} us; 2.8 times in "
                     "the paper)",
                     ours[device][0], ours[peer][0]),
         ours[peer][0] > 2 * ours[device][0]},
        {"verbs: another node takes no less than nine tenths of a peer (the paper: 6.9 and 6.7)",
         ours[remote][0] > 0.9 * ours[peer][0]}};
    result.remarks = {delays(), managers, "the original dCUDA's column has nothing of ours beside it"};
    return result;
}

Result dcuda_5_2(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "dcuda-5.2";
    result.title = "Round trip between host and device by where the memory is, microseconds";
    result.columns = {{"us", shown, 2}};
    struct Case {
        const char* name;
        DeviceQueue queue;
        double paper;
    };
    constexpr std::array cases{Case{"flag, host memory", {false, false, false, bus_us}, 2.2},
                               Case{"flag, device memory", {true, true, false, bus_us}, 1.8},
                               Case{"queues H-H", {false, false, true, bus_us}, 2.4},
                               Case{"queues D-D", {true, true, true, bus_us}, 2.0},
                               Case{"queues H-D", {false, true, true, bus_us}, 2.4},
                               Case{"queues D-H", {true, false, true, bus_us}, 1.9}};
    std::array<double, cases.size()> ours{};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        ours[i] = parts.device_queue(cases[i].queue);
        result.rows.push_back({cases[i].name, {{cases[i].paper, ours[i]}}});
        if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(cases.size()));
    }
    result.claims = {
        {"queues are quickest where each side polls its own memory (D-H)",
         ours[5] < ours[2] && ours[5] < ours[3] && ours[5] < ours[4]},
        {"queues are slowest where each side polls the other's (H-D)", ours[4] >= ours[2] && ours[4] >= ours[3]},
        {"D-H costs two writes over the bus, and no more than a tenth on top",
         ours[5] >= 2 * bus_us && ours[5] <= 2.2 * bus_us}};
    result.remarks = {delays(),
                      "our queues on a bus in virtual time: a write takes one way, a look at the other's memory two",
                      "the paper's H-H and H-D are equal and its D-D is near D-H: its host polls device memory for "
                      "less than two ways of the bus"};
    return result;
}

Result dcuda_5_3(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "dcuda-5.3";
    result.title = "A put of 4 bytes over the network alone, microseconds, half of a round trip";
    result.columns = {{"verbs", shown, 2}, {"mpi", shown, 2}};
    struct Case {
        const char* name;
        Path path;
        bool device;
        double verbs, mpi;
    };
    constexpr std::array cases{Case{"peer put, host memory", Path::peer, false, 1.2, 1.3},
                               Case{"peer put, device memory", Path::peer, true, 2.0, 53.2},
                               Case{"remote put, host memory", Path::remote, false, 1.4, 1.8},
                               Case{"remote put, device memory", Path::remote, true, 2.2, 5.4}};
    std::array<std::array<double, 2>, cases.size()> ours{};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (const bool mpi : {false, true}) {
            DevicePing ping = access(cases[i].path, mpi, 4, options);
            ping.bus_us = 0;
            if (!cases[i].device) ping.direct_us = 0;
            ours[i][mpi] = parts.device_ping(ping);
        }
        result.rows.push_back({cases[i].name, {{cases[i].verbs, ours[i][0]}, {cases[i].mpi, ours[i][1]}}});
        if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(cases.size()));
    }
    bool order = true, direct = true;
    for (const auto& row : ours) order &= row[0] < room * row[1];
    for (const std::size_t host : {0u, 2u}) direct &= ours[host][0] < ours[host + 1][0];
    result.claims = {{"one message (verbs) takes no longer than two (mpi), within a tenth, in every row", order},
                     {"host memory is quicker than device memory, verbs", direct}};
    result.remarks = {delays(), managers,
                      "53.2 us (peer, device memory, MPI) is Open MPI's staging through a CUDA copy, which we "
                      "have not; it does not fit the 23.7 us of Table 5.1 either"};
    return result;
}

Result dcuda_5_4(const Parts& parts, const RunOptions& options) {
    Result result;
    result.name = "dcuda-5.4";
    result.title = "Bandwidth of puts of 1 MB after Hockney, GB/s";
    result.columns = {{"GB/s", shown, 2}};
    constexpr std::uint64_t megabyte = 1'000'000;
    const auto rate = [&](Path path, double limit, double extra_us) {
        DevicePing small = access(path, false, 4, options), large = small;
        small.direct_us = large.direct_us = direct_us + extra_us;
        large.bytes = megabyte;
        large.rate = limit;
        small.rounds = large.rounds = options.scope == Scope::full ? 60 : 10;
        return megabyte / ((parts.device_ping(large) - parts.device_ping(small)) * 1e-6) / 1e9;
    };
    const double local = rate(Path::device, 0, 0);
    const double direct = rate(Path::peer, direct_rate, 0), staged = rate(Path::peer, staging_rate, 10);
    const double far_direct = rate(Path::remote, direct_rate, 0), far_staged = rate(Path::remote, staging_rate, 10);
    result.rows = {{"device local, 1 rank", {{6.9, local}}},
                   {"peer device, GPUDirect", {{2.7, direct}}},
                   {"peer device, staged", {{12.6, staged}}},
                   {"remote device, GPUDirect", {{2.7, far_direct}}},
                   {"remote device, staged", {{6.0, far_staged}}}};
    result.claims = {{"staging is quicker than GPUDirect for 1 MB, to a peer and to another node",
                      staged > direct && far_staged > far_direct},
                     {"GPUDirect is slower than the local device", direct < local && far_direct < local},
                     {"no path is quicker than what was put in",
                      direct <= direct_rate / 1e9 * room && staged <= staging_rate / 1e9 * room}};
    result.remarks = {
        fmt::format("put in: {:.1f} GB/s for GPUDirect and {:.1f} for staging; what the software HCA adds "
                    "is ours",
                    direct_rate / 1e9, staging_rate / 1e9),
        "rows of the paper with many ranks are left out: here they would measure this machine's memory"};
    return result;
}

}  // namespace loom::reproduce

#endif
