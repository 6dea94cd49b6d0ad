#include "verbs_programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "loom/base/error.hpp"
#include "peer/harness/process.hpp"

namespace loom::bench {
namespace {

std::vector<std::string> words(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

std::optional<double> number(const std::vector<std::string>& row, std::size_t column) {
    if (row.size() <= column) return {};
    char* end = nullptr;
    const double value = std::strtod(row[column].c_str(), &end);
    if (end == row[column].c_str() || value <= 0) return {};
    return value;
}

// The last line that `is` recognises, in words.
template <class Is>
std::vector<std::string> last_row(const std::string& text, Is is) {
    std::istringstream in(text);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);)
        if (const auto row = words(line); !row.empty() && is(row)) found = row;
    return found;
}

// Whether somebody listens to `port` where process `pid` lives: the kernel's tables show ports in hexadecimal.
bool listens(pid_t pid, unsigned port, bool datagrams) {
    const std::string wanted = fmt::format(":{:04X}", port);
    for (const char* table : {"tcp", "tcp6", "udp", "udp6"}) {
        if ((table[0] == 'u') != datagrams) continue;
        std::istringstream in(peer::content_or_empty(fmt::format("/proc/{}/net/{}", pid, table)));
        for (std::string line; std::getline(in, line);) {
            const auto row = words(line);
            if (row.size() > 3 && row[1].ends_with(wanted) && (datagrams || row[3] == "0A")) return true;
        }
    }
    return false;
}

// Adds up what processes of the HCA wrote when they ended: one JSON object a line, the paths' names anywhere in it.
void add_paths(const nlohmann::json& object, std::map<std::string, double>& bytes) {
    for (const auto& [key, value] : object.items()) {
        const bool path = key == "store" || key == "direct" || key == "target" || key == "roce";
        if (path && value.is_number())
            bytes[key] += value.get<double>();
        else if (value.is_structured())
            add_paths(value, bytes);
    }
}

std::map<std::string, double> read_paths(const std::string& text) {
    std::map<std::string, double> bytes;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const auto object = nlohmann::json::parse(line, nullptr, false);
        if (object.is_structured()) add_paths(object, bytes);
    }
    return bytes;
}

// Ports that repeated and parallel runs do not share.
unsigned next_port() {
    static unsigned count = 0;
    return 20000 + (static_cast<unsigned>(getpid()) * 61 + count++) % 12000;
}

std::vector<std::string> placed(std::vector<std::string> arguments, unsigned processor, unsigned port) {
    for (std::string& argument : arguments)
        if (argument == "PORT") argument = std::to_string(port);
    if (std::thread::hardware_concurrency() < 2) return arguments;
    std::vector<std::string> out{"taskset", "-c", std::to_string(processor)};
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return {};
    const auto begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin));
}

// Shared memory that cannot shrink under a peer that maps it. Programs started while it lives inherit it, and find it
// under its path.
class SealedMemory {
public:
    SealedMemory() : descriptor_(memfd_create("loom_bench", MFD_ALLOW_SEALING)) {
        if (descriptor_ < 0 || ftruncate(descriptor_, 1 << 20) != 0 ||
            fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
            throw Error("cannot make shared memory");
    }
    SealedMemory(const SealedMemory&) = delete;
    SealedMemory& operator=(const SealedMemory&) = delete;
    ~SealedMemory() { close(descriptor_); }
    [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

private:
    int descriptor_;
};

constexpr double mebi_to_mega = 1.048576;

}  // namespace

Program perftest(std::vector<std::string> arguments, Column column, bool roce) {
    Program program;
    for (const char* more : {"-F", "-d", "loom0", "-p", "PORT"}) arguments.emplace_back(more);
    if (roce)
        for (const char* more : {"-x", "0"}) arguments.emplace_back(more);
    program.server = program.client = std::move(arguments);
    program.hca = true;
    program.environment = {{"LD_PRELOAD", LOOM_VERBS_LIBRARY}};
    program.read = [column](const std::string& output) -> std::optional<double> {
        const auto row = last_row(output, [](const auto& r) {
            return r.size() >= 5 &&
                   std::all_of(r[0].begin(), r[0].end(), [](unsigned char c) { return std::isdigit(c); });
        });
        switch (column) {
            case Column::latency:
                return number(row, 4);  // t_typical
            case Column::bandwidth: {
                const auto mebi = number(row, 3);
                return mebi ? std::optional(*mebi * mebi_to_mega) : mebi;
            }
            case Column::rate:
                return number(row, 4);
        }
        return {};
    };
    return program;
}

Program ucx(std::vector<std::string> arguments, Column column) {
    Program program;
    arguments.insert(arguments.begin(), "ucx_perftest");
    for (const char* more : {"-p", "PORT"}) arguments.emplace_back(more);
    program.server = program.client = std::move(arguments);
    program.environment = {{"UCX_TLS", "posix,cma,self"}};
    program.read = [column](const std::string& output) -> std::optional<double> {
        const auto row = last_row(output, [](const auto& r) { return r[0] == "Final:"; });
        switch (column) {
            case Column::latency:
                return number(row, 2);
            case Column::bandwidth: {
                const auto mebi = number(row, 6);
                return mebi ? std::optional(*mebi * mebi_to_mega) : mebi;
            }
            case Column::rate: {
                const auto rate = number(row, 8);
                return rate ? std::optional(*rate / 1e6) : rate;
            }
        }
        return {};
    };
    return program;
}

namespace {

std::optional<double> one_number(const std::string& output) {
    return number(words(output), 0);
}

}  // namespace

Program bare(std::vector<std::string> arguments) {
    Program program;
    arguments.insert(arguments.begin(), LOOM_BARE_PROGRAM);
    program.client = std::move(arguments);
    program.read = one_number;
    program.alone = true;
    return program;
}

Program bare_sockets(std::vector<std::string> arguments) {
    Program program;
    program.datagrams = arguments.front() == "udp-lat";
    arguments.insert(arguments.begin(), LOOM_BARE_PROGRAM);
    program.server = program.client = std::move(arguments);
    program.server.insert(program.server.end(), {"serve", "PORT"});
    program.client.insert(program.client.end(), {"ADDRESS", "PORT"});
    program.read = one_number;
    return program;
}

Measurement measure(const Program& program, const test::TwoHosts* hosts) {
    const peer::TemporaryFolder folder;
    const unsigned port = next_port();
    const std::string stats = folder.path() / "stats";
    std::optional<SealedMemory> memory[2];
    if (program.mapped)
        for (auto& side : memory) side.emplace();
    const char* address = hosts ? test::TwoHosts::left_address : "127.0.0.1";
    const auto command = [&](bool server) {
        peer::Command c;
        auto arguments = server ? program.server : program.client;
        if (program.mapped) arguments.push_back("--mmap=" + memory[server ? 1 : 0]->path());
        if (!server && !program.alone) {
            const auto at = std::find(arguments.begin(), arguments.end(), "ADDRESS");
            if (at == arguments.end())
                arguments.emplace_back(address);
            else
                *at = address;
        }
        c.arguments = program.alone ? arguments : placed(std::move(arguments), server ? 0 : 1, port);
        c.environment = program.environment;
        if (program.hca) {
            c.environment.emplace_back("LOOM_VERBS_STATS", stats);
            if (hosts)
                c.environment.emplace_back("LOOM_VERBS_HCAS",
                                           std::string("roce:") + (server ? address : test::TwoHosts::right_address));
        }
        c.directory = folder.path();
        c.output = folder.path() / (server ? "server" : "client");
        c.timeout = peer::Seconds{60};
        if (hosts) c.network = (server ? hosts->left : hosts->right).descriptor();
        return c;
    };
    Measurement measurement;
    const auto take = [&](const peer::Outcome& client) {
        measurement.value = client.ok() ? program.read(client.output) : std::nullopt;
        if (!measurement.value) {
            const std::string said = last_line(client.errors.empty() ? client.output : client.errors);
            measurement.notes =
                fmt::format("{} {}: {}", program.client[0],
                            client.timed_out ? "did not end" : fmt::format("ended with {}", client.status), said);
        }
    };
    if (program.alone) {
        take(peer::run(command(false)));
        return measurement;
    }
    peer::Background server(command(true));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!listens(server.id(), port, program.datagrams) && std::chrono::steady_clock::now() < limit && server.alive())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto client = peer::run(command(false));
    take(client);
    if (!measurement.value) return measurement;
    const auto served = server.wait();
    if (!served.ok()) {
        measurement.value.reset();
        measurement.notes = fmt::format("the server of {} ended with {}: {}", program.server[0], served.status,
                                        last_line(served.errors));
    }
    measurement.bytes_by_path = read_paths(peer::content_or_empty(stats));
    return measurement;
}

}  // namespace loom::bench
