// What the checker is asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loom::kit {

enum class Transport { rc, uc, ud };
enum class Operation { send, send_imm, write, write_imm, read, cas, fadd };

struct Options {
    std::string server;  // empty: be the server
    std::string bind_address = "127.0.0.1";
    std::uint16_t port = 18515;
    std::string device;  // empty: the first
    int gid_index = -1;  // below 0: addressed by LID
    Transport transport = Transport::rc;
    Operation operation = Operation::send;
    std::vector<std::size_t> sizes;
    std::size_t iterations = 64;  // messages of each size
    std::size_t depth = 16;       // messages under way
    std::size_t sge = 1;          // pieces of each buffer
    std::size_t unsignalled = 1;  // every n-th request asks for a completion
    bool events = false;
    bool srq = false;
    bool inline_data = false;
    bool extended = false;
    bool bidirectional = false;
    bool late_receives = false;  // the receiver posts after the sender began: RNR on RC
    bool may_lose = false;       // UC and UD over a wire that drops
    bool memfd = false;          // target memory is a shared mapping
    int mtu = 4096;
    int timeout = 14;      // 4.096 us * 2^timeout until a packet is sent again
    double patience = 30;  // seconds without anything happening
    std::uint64_t seed = 1;
};

// Exits the process on --help; throws loom::UsageError.
[[nodiscard]] Options parse_options(int argc, char** argv);

[[nodiscard]] const char* name(Transport transport);
[[nodiscard]] const char* name(Operation operation);

}  // namespace loom::kit
