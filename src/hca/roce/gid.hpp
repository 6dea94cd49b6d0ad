// GIDs and the IP addresses that they stand for, and what this network namespace knows of them.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hca/roce/address.hpp"

namespace loom::hca::roce {

// "10.9.0.1", "fd00::1", "fe80::1%eth0"; nothing if it is none of these. The port is the default.
std::optional<Address> parse_address(std::string_view text);
std::string to_string(const Gid& gid);  // "10.9.0.1" for a mapped address, else IPv6

// Between an address and the kernel's form; the family is AF_INET exactly for mapped addresses.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};
SocketAddress to_socket_address(const Address& address);
Address from_socket_address(const sockaddr_storage& storage);

// ::ffff:a.b.c.d from the four bytes of an IPv4 address in network order.
Gid mapped(const void* ipv4);
bool is_link_local(const Gid& gid);
bool is_multicast(const Gid& gid);

// The IP address on which an endpoint of that family carries a multicast group: the group itself if it is of the
// family. Else 239.x.y.z of an IPv6 group's last three bytes, or ff0e::ffff:a.b.c.d; groups may then share an address.
Gid multicast_ip(const Gid& group, Family endpoint);

// One address of an interface.
struct Interface {
    Gid ip{};
    std::uint32_t index = 0;
    std::size_t mtu = 0;  // of the interface, in bytes
    bool loopback = false;
    std::string name;
};

constexpr std::size_t smallest_mtu = 256;
// The largest InfiniBand MTU (256, 512, ... 4096) whose packets fit into `bytes` with IP, UDP and all headers; 0: none
// does.
std::size_t infiniband_mtu(std::size_t bytes, Family family);

// The addresses of the interfaces of this network namespace that are up. Read again when asked and older than `age`:
// a look costs some ten nanoseconds, reading some ten microseconds. Not thread-safe.
class LocalAddresses {
public:
    explicit LocalAddresses(std::chrono::milliseconds age = std::chrono::milliseconds(1000)) : age_(age) {}

    // Mapped addresses of 127.0.0.0/8 are local too.
    bool contains(const Gid& gid);
    std::optional<Interface> find(const Gid& gid);
    // In the order of the kernel: for a list of an HCA's GIDs.
    const std::vector<Interface>& all();
    void refresh();

private:
    std::chrono::milliseconds age_;
    std::chrono::steady_clock::time_point read_{};
    bool known_ = false;
    std::vector<Interface> interfaces_;
};

}  // namespace loom::hca::roce
