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

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void repeat(Measured& measured, unsigned most, const std::function<double()>& once) {
    std::vector<double> times;
    double spent = 0;
    while (times.empty() || (times.size() < most && spent < 1.0)) {
        times.push_back(once());
        spent += times.back();
    }
    std::sort(times.begin(), times.end());
    measured.repetitions = static_cast<unsigned>(times.size());
    measured.seconds = times[times.size() / 2];
    measured.best = times.front();
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
        const nlohmann::json out{
            {"seconds", measured.seconds}, {"best", measured.best},         {"repetitions", measured.repetitions},
            {"bytes", measured.bytes},     {"amount", measured.amount},     {"notes", measured.notes},
            {"hosts", measured.hosts},     {"switches", measured.switches}, {"ok", measured.ok}};
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
    measured.best = parsed["best"];
    measured.repetitions = parsed["repetitions"];
    measured.bytes = parsed["bytes"];
    measured.amount = parsed["amount"];
    measured.hosts = parsed["hosts"];
    measured.switches = parsed["switches"];
    measured.notes = parsed["notes"];
    measured.ok = parsed["ok"];
    return measured;
}

void print_header() {
    fmt::print("{:<9} {:<24} {:>7} {:>8}  {:<18} {:>7} {:>10} {:>12} {:>9}  {:>16}  {:>12} {:>10} {:>8}  {}\n", "group",
               "size", "hosts", "switches", "what", "threads", "seconds", "bytes", "peak MB", "rate", "peer", "peer s",
               "ratio", "peer MB");
}

void print(const Line& line) {
    const Measured& m = line.measured;
    const bool beside = line.peer_seconds > 0 && m.ok;
    fmt::print(
        "{:<9} {:<24} {:>7} {:>8}  {:<18} {:>7} {:>10} {:>12} {:>9}  {:>16}  {:>12} {:>10} {:>8}  {}\n", line.group,
        line.size, m.hosts, m.switches, line.what, line.threads, m.ok ? fmt::format("{:.4f}", m.seconds) : "failed",
        m.bytes, fmt::format("{:.0f}", static_cast<double>(m.peak_kilobytes) / 1024), line.rate, line.peer,
        line.peer_seconds > 0 ? fmt::format("{:.3f}", line.peer_seconds) : "-",
        beside ? fmt::format("{:.1f}", line.ratio()) : "-",
        line.peer_kilobytes > 0 ? fmt::format("{:.0f}", static_cast<double>(line.peer_kilobytes) / 1024) : m.notes);
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
                             {"best_seconds", m.best},
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
