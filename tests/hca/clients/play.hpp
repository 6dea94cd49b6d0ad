// Runs a pair of verbs programs, server and client, on software HCAs and tells what they said and which way their bytes
// took.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "peer/harness/process.hpp"
#include "support/network/namespaces.hpp"

namespace loom::test {

using Words = std::vector<std::string>;

// Where and how one of the two runs.
struct Side {
    const NetworkNamespace* network = nullptr;                     // null: ours
    std::vector<std::pair<std::string, std::string>> environment;  // beside the library's own
    Words before;                                                  // a program that runs the program (setpriv, ...)
    std::filesystem::path copies;  // of the program and the library, for users who may not enter our build folder
};

struct Bytes {
    std::uint64_t store = 0, direct = 0, target = 0, roce = 0;

    [[nodiscard]] std::uint64_t inside() const { return store + direct + target; }
};

struct Ended {
    peer::Outcome outcome;
    nlohmann::json counters;  // of the first HCA; null when the process wrote none

    [[nodiscard]] Bytes sent() const;
    [[nodiscard]] std::uint64_t counter(const char* name) const;
    // The checker's line; null when there is none.
    [[nodiscard]] nlohmann::json answer() const;
};

struct Played {
    Ended server;
    Ended client;

    // Both left with 0; otherwise all they said.
    [[nodiscard]] bool ok() const { return server.outcome.ok() && client.outcome.ok(); }
    [[nodiscard]] std::string said() const;
    // Sent by either.
    [[nodiscard]] Bytes sent() const;
};

// A TCP port that no other test process uses, a new one at each call.
[[nodiscard]] std::uint16_t fresh_port();

// The client starts when the server listens on the TCP port, and is told `client_words` behind the server's words.
[[nodiscard]] Played play(const Words& program, std::uint16_t port, const Words& client_words, const Side& server = {},
                          const Side& client = {}, peer::Seconds limit = peer::Seconds{60});

// The same through `loom verbs run --`, the way users do it.
[[nodiscard]] Played play_by_command(const Words& program, std::uint16_t port, const Words& client_words,
                                     peer::Seconds limit = peer::Seconds{60});

// The checker on both sides with these options.
[[nodiscard]] Played check(const Words& options, const Side& server = {}, const Side& client = {},
                           const std::string& server_address = "127.0.0.1", peer::Seconds limit = peer::Seconds{60});

// Words of a line.
[[nodiscard]] Words split(const std::string& line);

// Starts one program with the library under it; the counters go to `statistics`.
[[nodiscard]] peer::Command command_for(const Words& program, const Side& side, const std::filesystem::path& folder,
                                        const std::string& name, peer::Seconds limit);

}  // namespace loom::test
