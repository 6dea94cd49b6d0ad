#include "measure.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "loom/base/table.hpp"

namespace loom::bench {
namespace {

void write_all(int to, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const auto count = write(to, text.data() + done, text.size() - done);
        if (count <= 0) return;
        done += static_cast<std::size_t>(count);
    }
}

std::string read_all(int from) {
    std::string text;
    char buffer[4096];
    for (ssize_t count; (count = read(from, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    return text;
}

}  // namespace

void Measured::count(const fabric::Fabric& fabric) {
    hosts = fabric.nodes_of(fabric::NodeKind::host).size();
    switches = fabric.nodes_of(fabric::NodeKind::switch_).size();
}

void repeat(Measured& measured, unsigned most, const std::function<void()>& work) {
    std::vector<double> times;
    double spent = 0;
    measured.cpu = std::numeric_limits<double>::infinity();
    while (times.empty() || (times.size() < most && spent < 2.0)) {
        const auto begin = std::chrono::steady_clock::now();
        const std::clock_t cpu_begin = std::clock();
        work();
        const std::clock_t cpu_end = std::clock();
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        measured.cpu = std::min(measured.cpu, static_cast<double>(cpu_end - cpu_begin) / CLOCKS_PER_SEC);
        spent += times.back();
    }
    std::sort(times.begin(), times.end());
    measured.repetitions = static_cast<unsigned>(times.size());
    measured.seconds = times.front();
    measured.median = times[times.size() / 2];
}

Measured in_child(const std::function<void(Measured&)>& work) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) {
        close(pipe_ends[0]);
        Measured measured;
        try {
            work(measured);
        } catch (const std::exception& error) {
            measured.ok = false;
            measured.notes = error.what();
        }
        const nlohmann::json out{{"seconds", measured.seconds},
                                 {"median", measured.median},
                                 {"repetitions", measured.repetitions},
                                 {"bytes", measured.bytes},
                                 {"amount", measured.amount},
                                 {"cpu", measured.cpu},
                                 {"notes", measured.notes},
                                 {"hosts", measured.hosts},
                                 {"switches", measured.switches},
                                 {"ok", measured.ok}};
        write_all(pipe_ends[1], out.dump());
        _exit(0);
    }
    close(pipe_ends[1]);
    const std::string text = read_all(pipe_ends[0]);
    close(pipe_ends[0]);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    Measured measured;
    measured.peak_kilobytes = usage.ru_maxrss;
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    if (parsed.is_discarded()) {
        measured.ok = false;
        measured.notes = fmt::format("the child ended with status {}", status);
        return measured;
    }
    measured.seconds = parsed["seconds"];
    measured.median = parsed["median"];
    measured.cpu = parsed["cpu"];
    measured.repetitions = parsed["repetitions"];
    measured.bytes = parsed["bytes"];
    measured.amount = parsed["amount"];
    measured.hosts = parsed["hosts"];
    measured.switches = parsed["switches"];
    measured.notes = parsed["notes"];
    measured.ok = parsed["ok"];
    return measured;
}

namespace {

constexpr const char* layout =
    "{:<8} {:<23} {:>6} {:>8}  {:<16} {:>7} {:>9} {:>9} {:>11} {:>8} {:>18}  {:<13} {:>9} {:>7} {:>8}\n";

}  // namespace

void print_header() {
    fmt::print(fmt::runtime(layout), "group", "size", "hosts", "switches", "what", "threads", "seconds", "cpu s",
               "bytes", "peak MB", "rate", "peer", "peer s", "peer MB", "ratio");
}

void print(const Line& line) {
    const Measured& m = line.measured;
    const bool beside = line.peer_seconds > 0;
    const auto megabytes = [](long kilobytes) { return fmt::format("{:.0f}", static_cast<double>(kilobytes) / 1024); };
    fmt::print(fmt::runtime(layout), line.group, line.size, m.hosts, m.switches, line.what, line.threads,
               m.ok ? fmt::format("{:.4f}", m.seconds) : "failed", fmt::format("{:.4f}", m.cpu), m.bytes,
               megabytes(m.peak_kilobytes), line.rate, line.peer,
               beside ? fmt::format("{:.3f}", line.peer_seconds) : "", beside ? megabytes(line.peer_kilobytes) : "",
               beside && m.ok ? fmt::format("{:.1f}", line.ratio()) : "");
    if (!m.notes.empty()) fmt::print("         {}\n", m.notes);
    std::fflush(stdout);
}

std::string to_json(const std::vector<Line>& lines) {
    utsname machine{};
    uname(&machine);
    nlohmann::json out{{"machine", machine.machine},
                       {"kernel", machine.release},
                       {"cores", std::thread::hardware_concurrency()},
                       {"unix_time", std::time(nullptr)},
                       {"lines", nlohmann::json::array()}};
    for (const Line& line : lines) {
        const Measured& m = line.measured;
        nlohmann::json entry{{"group", line.group},
                             {"size", line.size},
                             {"what", line.what},
                             {"hosts", m.hosts},
                             {"switches", m.switches},
                             {"threads", line.threads},
                             {"ok", m.ok},
                             {"seconds", m.seconds},
                             {"median_seconds", m.median},
                             {"cpu_seconds", m.cpu},
                             {"repetitions", m.repetitions},
                             {"bytes", m.bytes},
                             {"peak_kilobytes", m.peak_kilobytes},
                             {"rate", line.rate},
                             {"notes", m.notes}};
        if (line.peer_seconds > 0) {
            entry["peer"] = line.peer;
            entry["peer_seconds"] = line.peer_seconds;
            entry["peer_kilobytes"] = line.peer_kilobytes;
            entry["ratio"] = line.ratio();
        }
        out["lines"].push_back(std::move(entry));
    }
    return out.dump(1) + "\n";
}

}  // namespace loom::bench
