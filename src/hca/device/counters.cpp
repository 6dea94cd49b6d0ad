#include "hca/device/counters.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "hca/host/segment.hpp"

namespace loom::hca {

namespace {

namespace fs = std::filesystem;

bool parse_pid(const std::string& text, int& pid) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    return error == std::errc{} && end == text.data() + text.size() && pid > 0;
}

std::string program_of(int pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(in, name);
    return name;
}

// The directory that the process publishes, read as others of its peers would: a copy, checked before it is used.
std::optional<ProcessCounters> read_directory(int pid, const std::string& descriptor) {
    const int fd = open(descriptor.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    const auto* directory = static_cast<const Directory*>(map_segment(fd, sizeof(Directory)));
    close(fd);
    if (directory == nullptr) return std::nullopt;
    std::optional<ProcessCounters> found;
    const std::uint32_t hcas = std::min<std::uint32_t>(directory->hcas, max_hcas);
    if (directory->magic == segment_magic && directory->pid == pid) {
        found = ProcessCounters{pid, program_of(pid), {}};
        for (std::uint32_t i = 0; i < hcas; ++i)
            found->hcas.push_back({"loom" + std::to_string(i), named_counters(directory->counters[i])});
    }
    munmap(const_cast<Directory*>(directory), sizeof(Directory));
    return found;
}

}  // namespace

std::vector<Counter> named_counters(const PortCounters& port) {
    constexpr const char* names[ways] = {"store", "direct", "target", "roce"};
    std::vector<Counter> counters;
    const auto put = [&](std::string name, const std::atomic<std::uint64_t>& value) {
        counters.push_back({std::move(name), value.load(std::memory_order_relaxed)});
    };
    for (std::size_t way = 0; way < ways; ++way) put(std::string("sent_bytes_") + names[way], port.sent_bytes[way]);
    for (std::size_t way = 0; way < ways; ++way)
        put(std::string("received_bytes_") + names[way], port.received_bytes[way]);
    put("sent_packets", port.sent_packets);
    put("received_packets", port.received_packets);
    put("retransmitted", port.retransmitted);
    put("timeouts", port.timeouts);
    put("rnr_naks", port.rnr_naks);
    put("sequence_naks", port.sequence_naks);
    put("dropped", port.dropped);
    put("bad_packets", port.bad_packets);
    put("cnp_sent", port.cnp_sent);
    put("cnp_received", port.cnp_received);
    put("completion_errors", port.completion_errors);
    return counters;
}

std::optional<ProcessCounters> live_counters(int pid) {
    std::error_code error;
    const fs::path folder = "/proc/" + std::to_string(pid) + "/fd";
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code unreadable;
        const std::string target = fs::read_symlink(at->path(), unreadable).string();
        if (unreadable || !target.starts_with("/memfd:loom-verbs-directory")) continue;
        if (auto found = read_directory(pid, at->path().string())) return found;
    }
    return std::nullopt;
}

std::vector<ProcessCounters> live_counters() {
    std::vector<ProcessCounters> all;
    std::error_code error;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
        int pid = 0;
        if (!parse_pid(at->path().filename().string(), pid)) continue;
        if (auto found = live_counters(pid)) all.push_back(std::move(*found));
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
    return all;
}

}  // namespace loom::hca
