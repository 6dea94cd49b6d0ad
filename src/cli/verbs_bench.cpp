// loom verbs bench: how fast two software HCAs are here, and whether the bytes arrive.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/verbs_bench.hpp"
#include "cli/verbs_side.hpp"
#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/base/settings.hpp"
#include "loom/base/table.hpp"
#include "loom/hca/counters.hpp"
#include "loom/verbs/functions.hpp"

namespace loom::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 7> sizes{8, 64, 512, 4096, 32768, 262144, 2097152};
constexpr auto budget = std::chrono::milliseconds(30);  // for each measurement
constexpr std::uint32_t go_on = 0, last_one = 1;
constexpr std::uint64_t right = 1, wrong = 0;

struct Options {
    Common common;
    VerbsSettings settings;
};

void fill(std::span<std::uint8_t> bytes, std::uint64_t seed) {
    Random random(seed);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
}

bool matches(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
    Random random(seed);
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](std::uint8_t byte) { return byte == static_cast<std::uint8_t>(random()); });
}

// --- the far side: answers sends, else sleeps while the near side writes into its memory and reads from it

void echo(VerbsSide& side, std::size_t size) {
    side.post_receive(size);
    side.meet();
    for (bool more = true; more;) {
        ibv_wc wc = side.wait();
        while ((wc.opcode & IBV_WC_RECV) == 0) wc = side.wait();
        more = wc.imm_data == 0;
        if (more) side.post_receive(size);
        side.post_send(size, go_on);
    }
    (void)side.wait();  // the last answer
    side.meet();
}

void far_side(VerbsSide& side) {
    side.connect();
    for (const std::size_t size : sizes) {
        echo(side, size);
        (void)side.hear();  // written
        side.tell(matches(side.memory().first(size), size) ? right : wrong);
        fill(side.memory().first(size), size + 1);
        side.tell(0);  // to be read
        (void)side.hear();
    }
}

// --- the near side

double send_latency(VerbsSide& side, std::size_t size) {
    side.meet();
    std::vector<double> halves;
    const auto end = Clock::now() + budget;
    for (bool more = true; more;) {
        const auto begin = Clock::now();
        more = begin < end || halves.size() < 10;
        side.post_receive(size);
        side.post_send(size, more ? go_on : last_one);
        for (int completions = 0; completions < 2; ++completions) (void)side.wait();
        halves.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / 2);
    }
    side.meet();
    std::nth_element(halves.begin(), halves.begin() + static_cast<std::ptrdiff_t>(halves.size() / 2), halves.end());
    return halves[halves.size() / 2];
}

double bandwidth(VerbsSide& side, ibv_wr_opcode opcode, std::size_t size) {
    constexpr std::size_t window = 32;
    std::size_t posted = 0, done = 0;
    const auto begin = Clock::now();
    const auto end = begin + budget;
    while (true) {
        const bool more = Clock::now() < end || done == 0;
        while (more && posted - done < window) {
            side.post_rdma(opcode, size);
            ++posted;
        }
        if (posted == done) break;
        (void)side.wait();
        ++done;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>(done * size) / seconds / 1e9;
}

// The counters of bytes that this process has sent, by path.
std::vector<hca::Counter> sent_bytes(const std::string& device) {
    std::vector<hca::Counter> sent;
    if (const auto all = hca::live_counters(getpid()))
        for (const auto& hca : all->hcas)
            for (const auto& counter : hca.counters)
                if (hca.device == device && counter.name.starts_with("sent_bytes_")) sent.push_back(counter);
    return sent;
}

std::string busiest_path(const std::vector<hca::Counter>& before, const std::vector<hca::Counter>& after) {
    std::string path;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < after.size() && i < before.size(); ++i)
        if (const std::uint64_t bytes = after[i].value - before[i].value; bytes > most) {
            most = bytes;
            path = after[i].name.substr(std::strlen("sent_bytes_"));
        }
    return path;
}

std::vector<VerbsSpeed> near_side(VerbsSide& side) {
    side.connect();
    std::vector<VerbsSpeed> results;
    for (const std::size_t size : sizes) {
        VerbsSpeed result;
        result.size = size;
        result.send_us = send_latency(side, size);
        fill(side.memory().first(size), size);
        const auto before = sent_bytes(side.device());
        result.write_gbs = bandwidth(side, IBV_WR_RDMA_WRITE, size);
        result.path = busiest_path(before, sent_bytes(side.device()));
        side.tell(0);
        if (side.hear() != right) throw Error(fmt::format("{} bytes were written wrong", size));
        (void)side.hear();
        result.read_gbs = bandwidth(side, IBV_WR_RDMA_READ, size);
        if (!matches(side.memory().first(size), size + 1)) throw Error(fmt::format("{} bytes were read wrong", size));
        side.tell(0);
        results.push_back(result);
    }
    return results;
}

// The other process: ends with this one, and says nothing but what went wrong.
[[noreturn]] void run_far_side(const verbs::Functions& verbs, int socket) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 0;
    try {
        VerbsSide side(verbs, 1, sizes.back(), socket);
        far_side(side);
    } catch (const std::exception& error) {
        fmt::print(stderr, "loom: {}\n", error.what());
        code = 2;
    }
    _exit(code);
}

std::vector<VerbsSpeed> measure(const verbs::Functions& verbs) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) throw IoError("cannot make a socket pair");
    signal(SIGPIPE, SIG_IGN);
    const pid_t child = fork();
    if (child < 0) throw IoError("cannot start a process");
    close(sockets[child == 0 ? 0 : 1]);
    if (child == 0) run_far_side(verbs, sockets[1]);
    const auto reap = [&](int signal) {
        if (signal != 0) kill(child, signal);
        waitpid(child, nullptr, 0);
        close(sockets[0]);
    };
    try {
        std::vector<VerbsSpeed> results;
        {
            VerbsSide side(verbs, 0, sizes.back(), sockets[0]);
            results = near_side(side);
        }
        reap(0);
        return results;
    } catch (...) {
        reap(SIGKILL);
        throw;
    }
}

void run(const Options& options) {
    const std::vector<VerbsSpeed> results = bench_verbs(options.settings);
    if (options.common.json) return print_json({{"data", "right"}, {"sizes", to_json(results)}});
    speed_table(results).print();
}

}  // namespace

std::vector<VerbsSpeed> bench_verbs(VerbsSettings settings) {
    if (settings.hcas.empty() && !settings::read(Setting::verbs_hcas)) settings.hcas = "2";
    apply(settings);
    const verbs::Functions verbs(verbs::soft_library().string());
    return measure(verbs);
}

Table speed_table(const std::vector<VerbsSpeed>& results) {
    Table table({{"size", Align::right},
                 {"send, us one way", Align::right},
                 {"RDMA write, GB/s", Align::right},
                 {"RDMA read, GB/s", Align::right},
                 {"path of the writes"}});
    for (const VerbsSpeed& result : results)
        table.row({human_bytes(result.size), fmt::format("{:.2f}", result.send_us),
                   fmt::format("{:.3g}", result.write_gbs), fmt::format("{:.3g}", result.read_gbs), result.path});
    return table;
}

nlohmann::ordered_json to_json(const std::vector<VerbsSpeed>& results) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const VerbsSpeed& result : results)
        rows.push_back({{"bytes", result.size},
                        {"send_us", result.send_us},
                        {"write_gb_per_s", result.write_gbs},
                        {"read_gb_per_s", result.read_gbs},
                        {"write_path", result.path}});
    return rows;
}

void add_verbs_bench(CLI::App& verbs) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        verbs.add_subcommand("bench", "Latency and bandwidth between two software HCAs here (some seconds)");
    add_hcas_option(*app, options->settings);
    add_common(*app, options->common);
    app->footer(
        "Two processes, one on loom0 and one on loom1, joined by an RC queue pair: sends back and forth, then RDMA\n"
        "writes and reads with 32 on their way, from 8 bytes to 2 MiB. The bytes are compared at the end of each "
        "size.\n"
        "Times are of this machine as it is now: what else runs on its cores counts.\n"
        "\n"
        "  loom verbs bench");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
