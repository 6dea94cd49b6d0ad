// The counters of a process as one line of JSON, for those who ran it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "hca/engine.hpp"

namespace loom::hca {

namespace {

// As a string of JSON; what would need more than a plain character becomes a question mark.
std::string program_name() {
    std::string text = "\"";
    for (const char* at = program_invocation_short_name; *at != '\0'; ++at)
        text += *at < ' ' || *at > '~' || *at == '"' || *at == '\\' ? '?' : *at;
    return text + '"';
}

}  // namespace

void Engine::write_stats() {
    const std::string& file = config.stats_file;
    if (file.empty()) return;
    std::string text = "{\"pid\":" + std::to_string(getpid()) + ",\"program\":" + program_name() + ",\"hcas\":[";
    bool first = true;
    for (const HcaConfig& hca : config.hcas) {
        const PortCounters& c = home.directory->counters[hca.index];
        const auto put = [&](const char* name, const std::atomic<std::uint64_t>& value) {
            text += ",\"" + std::string(name) + "\":" + std::to_string(value.load(std::memory_order_relaxed));
        };
        const auto by_way = [&](const char* name, const std::atomic<std::uint64_t>(&values)[ways]) {
            constexpr const char* names[ways] = {"store", "direct", "target", "roce"};
            text += ",\"" + std::string(name) + "\":{";
            for (std::size_t way = 0; way < ways; ++way)
                text += (way == 0 ? "\"" : ",\"") + std::string(names[way]) +
                        "\":" + std::to_string(values[way].load(std::memory_order_relaxed));
            text += "}";
        };
        text += std::string(first ? "" : ",") + "{\"name\":\"" + hca.name + "\"";
        first = false;
        by_way("sent_bytes", c.sent_bytes);
        by_way("received_bytes", c.received_bytes);
        put("sent_packets", c.sent_packets);
        put("received_packets", c.received_packets);
        put("retransmitted", c.retransmitted);
        put("timeouts", c.timeouts);
        put("rnr_naks", c.rnr_naks);
        put("sequence_naks", c.sequence_naks);
        put("dropped", c.dropped);
        put("bad_packets", c.bad_packets);
        put("cnp_sent", c.cnp_sent);
        put("cnp_received", c.cnp_received);
        put("completion_errors", c.completion_errors);
        text += "}";
    }
    text += "]}\n";
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    // One write: lines of several processes do not mix.
    if (fd < 0 || ::write(fd, text.data(), text.size()) < 0)
        std::fprintf(stderr, "loom-verbs: cannot write the counters to %s: %s\n", file.c_str(), strerror(errno));
    if (fd >= 0) ::close(fd);
}

}  // namespace loom::hca
