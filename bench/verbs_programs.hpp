// Pairs of programs, a server and a client, that measure something between them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/network/namespaces.hpp"

namespace loom::bench {

enum class Column : unsigned char { latency, bandwidth, rate };

struct Measurement {
    std::optional<double> value;                  // none: `notes` says why
    std::map<std::string, double> bytes_by_path;  // of our HCA: store, direct, target, roce
    std::string notes;
};

// One way to measure. `alone` programs fork their other side themselves.
struct Program {
    std::vector<std::string> server, client;  // without address; PORT stands for the port
    std::vector<std::pair<std::string, std::string>> environment;
    std::function<std::optional<double>(const std::string& output)> read;  // from what the client printed
    bool alone = false;
    bool hca = false;        // runs on the software HCA, whose counters are read
    bool datagrams = false;  // the server listens to UDP
    bool mapped = false;     // perftest: the buffers are sealed memfds, one on either side
};

// perftest on the software HCA, on one host or (roce) between two.
[[nodiscard]] Program perftest(std::vector<std::string> arguments, Column column, bool roce = false);
[[nodiscard]] Program ucx(std::vector<std::string> arguments, Column column);
[[nodiscard]] Program bare(std::vector<std::string> arguments);          // both sides in one
[[nodiscard]] Program bare_sockets(std::vector<std::string> arguments);  // server and client

// Runs server and client, each on a processor of its own where there are two; between the hosts when given.
[[nodiscard]] Measurement measure(const Program& program, const test::TwoHosts* hosts);

}  // namespace loom::bench
