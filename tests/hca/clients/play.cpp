#include "hca/clients/play.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "loom/base/error.hpp"

namespace loom::test {
namespace {

// As the process's own network namespace has it.
bool listens(pid_t process, std::uint16_t port) {
    char wanted[8];
    std::snprintf(wanted, sizeof wanted, ":%04X", unsigned{port});
    for (const char* file : {"/net/tcp", "/net/tcp6"}) {
        std::ifstream table("/proc/" + std::to_string(process) + file);
        for (std::string line; std::getline(table, line);) {
            std::istringstream words(line);
            std::string number, local, remote, state;
            words >> number >> local >> remote >> state;
            if (state == "0A" && local.ends_with(wanted)) return true;
        }
    }
    return false;
}

nlohmann::json read_counters(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line)) return {};
    const nlohmann::json whole = nlohmann::json::parse(line, nullptr, false);
    if (whole.is_discarded() || whole["hcas"].empty()) return {};
    return whole["hcas"][0];
}

Played play_with(const Words& program, std::uint16_t port, const Words& client_words, const Side& server,
                 const Side& client, const Words& launcher, peer::Seconds limit) {
    const peer::TemporaryFolder folder;
    // Programs of another user write there too.
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    Words server_words = launcher;
    server_words.insert(server_words.end(), program.begin(), program.end());
    Words all_client_words = server_words;
    all_client_words.insert(all_client_words.end(), client_words.begin(), client_words.end());

    Played played;
    {
        peer::Background waiting(command_for(server_words, server, folder.path(), "server", limit));
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!listens(waiting.id(), port) && waiting.alive() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        played.client.outcome = peer::run(command_for(all_client_words, client, folder.path(), "client", limit));
        played.server.outcome = waiting.wait();
    }
    played.server.counters = read_counters(folder.path() / "server.counters");
    played.client.counters = read_counters(folder.path() / "client.counters");
    return played;
}

std::filesystem::path where_it_lies(const std::filesystem::path& built, const std::filesystem::path& copies) {
    return copies.empty() ? built : copies / built.filename();
}

std::string tail(const std::string& text) {
    constexpr std::size_t most = 1500;
    return text.size() > most ? "..." + text.substr(text.size() - most) : text;
}

}  // namespace

Words split(const std::string& line) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

Bytes Ended::sent() const {
    if (!counters.is_object()) return {};
    const nlohmann::json& bytes = counters.at("sent_bytes");
    return {bytes.at("store"), bytes.at("direct"), bytes.at("target"), bytes.at("roce")};
}

std::uint64_t Ended::counter(const char* name) const {
    return counters.is_object() ? counters.at(name).get<std::uint64_t>() : 0;
}

nlohmann::json Ended::answer() const {
    nlohmann::json result = nlohmann::json::parse(outcome.output, nullptr, false);
    return result.is_discarded() ? nlohmann::json{} : result;
}

Bytes Played::sent() const {
    const Bytes a = server.sent();
    const Bytes b = client.sent();
    return {a.store + b.store, a.direct + b.direct, a.target + b.target, a.roce + b.roce};
}

std::string Played::said() const {
    std::string text;
    for (const auto& [name, side] : {std::pair{"server", &server}, std::pair{"client", &client}})
        text += std::string("\n--- ") + name + (side->outcome.timed_out ? " (ran out of time)" : "") + " left with " +
                std::to_string(side->outcome.status) + "\n" + tail(side->outcome.output) + tail(side->outcome.errors) +
                side->counters.dump();
    return text;
}

std::uint16_t fresh_port() {
    static std::uint16_t used = 0;
    // 1,500 processes apart, 20 ports each; below the range that the kernel gives to clients.
    return static_cast<std::uint16_t>(2000 + getpid() % 1500 * 20 + used++ % 20);
}

peer::Command command_for(const Words& program, const Side& side, const std::filesystem::path& folder,
                          const std::string& name, peer::Seconds limit) {
    peer::Command command;
    command.arguments = side.before;
    // The library goes into the program alone, not into what runs it. A sanitized one is linked with the checker.
    const std::filesystem::path built = LOOM_VERBS_LIBRARY_PATH;
#ifndef LOOM_SANITIZED
    if (program.front() != LOOM_PROGRAM)
        command.arguments.insert(command.arguments.end(),
                                 {"env", "LD_PRELOAD=" + where_it_lies(built, side.copies).string()});
#endif
    command.arguments.push_back(where_it_lies(program.front(), side.copies));
    command.arguments.insert(command.arguments.end(), program.begin() + 1, program.end());
    command.environment = side.environment;
#ifdef LOOM_SANITIZED
    if (!side.copies.empty()) command.environment.emplace_back("LD_LIBRARY_PATH", side.copies.string());
#endif
    command.environment.emplace_back("LOOM_VERBS_STATS", (folder / (name + ".counters")).string());
    command.directory = folder;
    command.output = folder / (name + ".out");
    command.timeout = limit;
    if (side.network != nullptr) command.network = side.network->descriptor();
    return command;
}

Played play(const Words& program, std::uint16_t port, const Words& client_words, const Side& server, const Side& client,
            peer::Seconds limit) {
    return play_with(program, port, client_words, server, client, {}, limit);
}

Played play_by_command(const Words& program, std::uint16_t port, const Words& client_words, peer::Seconds limit) {
    return play_with(program, port, client_words, {}, {}, {LOOM_PROGRAM, "verbs", "run", "--"}, limit);
}

Played check(const Words& options, const Side& server, const Side& client, const std::string& server_address,
             peer::Seconds limit) {
    const std::uint16_t port = fresh_port();
    Words program = {VERBS_CHECKER, "--port", std::to_string(port), "--bind", server_address};
    program.insert(program.end(), options.begin(), options.end());
    return play(program, port, {server_address}, server, client, limit);
}

}  // namespace loom::test
