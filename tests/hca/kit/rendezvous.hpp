// The checker's other channel: a TCP connection on which the two sides meet, a line at a time.
#pragma once

#include <cstdint>
#include <string>

namespace loom::kit {

class Rendezvous {
public:
    // Waits for the other side, or finds it, within `patience` seconds. Throws loom::Error.
    static Rendezvous as_server(const std::string& address, std::uint16_t port, double patience);
    static Rendezvous as_client(const std::string& address, std::uint16_t port, double patience);
    Rendezvous(Rendezvous&& other) noexcept;
    Rendezvous& operator=(Rendezvous&&) = delete;
    ~Rendezvous();

    // Sends a line and takes the other side's: both have then come to this point.
    std::string exchange(const std::string& line);
    // exchange, and both must have said the same.
    void meet(const std::string& where);

private:
    Rendezvous(int socket, double patience);

    int socket_;
    std::string received_;
};

}  // namespace loom::kit
