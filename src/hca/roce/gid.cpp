#include "hca/roce/gid.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace loom::hca::roce {
namespace {

std::size_t mtu_of(int socket, const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return ioctl(socket, SIOCGIFMTU, &request) == 0 ? static_cast<std::size_t>(request.ifr_mtu) : 0;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
    Address address;
    std::string ip(text);
    if (const std::size_t percent = ip.find('%'); percent != std::string::npos) {
        address.scope = if_nametoindex(ip.c_str() + percent + 1);
        if (address.scope == 0) return std::nullopt;
        ip.resize(percent);
    }
    in_addr ipv4{};
    if (address.scope == 0 && inet_pton(AF_INET, ip.c_str(), &ipv4) == 1) {
        address.ip = mapped(&ipv4);
        return address;
    }
    if (inet_pton(AF_INET6, ip.c_str(), address.ip.data()) != 1) return std::nullopt;
    return address;
}

std::string to_string(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (family(gid) == Family::ipv4)
        inet_ntop(AF_INET, gid.data() + 12, text.data(), text.size());
    else
        inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    return text.data();
}

SocketAddress to_socket_address(const Address& address) {
    SocketAddress result;
    if (family(address.ip) == Family::ipv4) {
        sockaddr_in ipv4{};
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = htons(address.port);
        std::memcpy(&ipv4.sin_addr, address.ip.data() + 12, 4);
        std::memcpy(&result.storage, &ipv4, sizeof ipv4);
        result.size = sizeof ipv4;
    } else {
        sockaddr_in6 ipv6{};
        ipv6.sin6_family = AF_INET6;
        ipv6.sin6_port = htons(address.port);
        ipv6.sin6_scope_id = address.scope;
        std::memcpy(&ipv6.sin6_addr, address.ip.data(), 16);
        std::memcpy(&result.storage, &ipv6, sizeof ipv6);
        result.size = sizeof ipv6;
    }
    return result;
}

Address from_socket_address(const sockaddr_storage& storage) {
    Address address;
    if (storage.ss_family == AF_INET) {
        sockaddr_in ipv4;
        std::memcpy(&ipv4, &storage, sizeof ipv4);
        address.ip = mapped(&ipv4.sin_addr);
        address.port = ntohs(ipv4.sin_port);
    } else {
        sockaddr_in6 ipv6;
        std::memcpy(&ipv6, &storage, sizeof ipv6);
        std::memcpy(address.ip.data(), &ipv6.sin6_addr, 16);
        address.port = ntohs(ipv6.sin6_port);
        address.scope = is_link_local(address.ip) ? ipv6.sin6_scope_id : 0;
    }
    return address;
}

Gid mapped(const void* ipv4) {
    Gid gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(gid.data() + 12, ipv4, 4);
    return gid;
}

bool is_link_local(const Gid& gid) {
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

bool is_multicast(const Gid& gid) {
    return family(gid) == Family::ipv4 ? (gid[12] & 0xf0) == 0xe0 : gid[0] == 0xff;
}

Gid multicast_ip(const Gid& group, Family endpoint) {
    if (family(group) == endpoint) return group;
    if (endpoint == Family::ipv4) {
        const std::array<std::uint8_t, 4> ip{239, group[13], group[14], group[15]};
        return mapped(ip.data());
    }
    Gid ip{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::copy(group.begin() + 12, group.end(), ip.begin() + 12);
    return ip;
}

std::size_t infiniband_mtu(std::size_t bytes, Family family) {
    // IP, UDP, BTH with RETH and immediate data (the longest headers before a payload), CRC.
    const std::size_t around = (family == Family::ipv4 ? 20u : 40u) + 8 + 32 + 4;
    for (std::size_t mtu = 4096; mtu >= smallest_mtu; mtu /= 2)
        if (mtu + around <= bytes) return mtu;
    return 0;
}

void LocalAddresses::refresh() {
    read_ = std::chrono::steady_clock::now();
    known_ = true;
    interfaces_.clear();
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        const int kind = entry->ifa_addr->sa_family;
        if (kind != AF_INET && kind != AF_INET6) continue;
        sockaddr_storage storage{};
        std::memcpy(&storage, entry->ifa_addr, kind == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        Interface found;
        found.ip = from_socket_address(storage).ip;
        found.index = if_nametoindex(entry->ifa_name);
        found.mtu = socket < 0 ? 0 : mtu_of(socket, entry->ifa_name);
        found.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        found.name = entry->ifa_name;
        interfaces_.push_back(std::move(found));
    }
    if (socket >= 0) close(socket);
}

const std::vector<Interface>& LocalAddresses::all() {
    if (!known_ || std::chrono::steady_clock::now() - read_ >= age_) refresh();
    return interfaces_;
}

std::optional<Interface> LocalAddresses::find(const Gid& gid) {
    const auto& interfaces = all();
    const auto at = std::find_if(interfaces.begin(), interfaces.end(), [&](const Interface& i) { return i.ip == gid; });
    if (at == interfaces.end()) return std::nullopt;
    return *at;
}

bool LocalAddresses::contains(const Gid& gid) {
    if (family(gid) == Family::ipv4 && gid[12] == 127) return true;
    const auto& interfaces = all();
    return std::any_of(interfaces.begin(), interfaces.end(), [&](const Interface& i) { return i.ip == gid; });
}

}  // namespace loom::hca::roce
