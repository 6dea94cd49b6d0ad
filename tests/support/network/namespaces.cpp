#include "support/network/namespaces.hpp"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "loom/base/error.hpp"

namespace loom::test {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(what + ": " + std::strerror(errno));
}

// Work on a thread of its own: a thread that has changed its namespace is never used again.
void on_thread(const std::function<void()>& work) {
    std::exception_ptr failure;
    std::thread([&] {
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
}

// The second of two hosts' link-layer addresses is fixed, so that neighbours need no discovery: on a bad wire a lost
// ARP request would cost a second.
std::string link_address(bool right) {
    return right ? "02:00:00:00:77:02" : "02:00:00:00:77:01";
}

void configure(const NetworkNamespace& host, bool right) {
    const std::string device = TwoHosts::interface;
    const auto own = right ? std::pair{TwoHosts::right_address, TwoHosts::right_address6}
                           : std::pair{TwoHosts::left_address, TwoHosts::left_address6};
    const auto other = right ? std::pair{TwoHosts::left_address, TwoHosts::left_address6}
                             : std::pair{TwoHosts::right_address, TwoHosts::right_address6};
    host.ip({"link", "set", device, "address", link_address(right)});
    host.ip({"address", "add", std::string(own.first) + "/24", "dev", device});
    host.ip({"-6", "address", "add", std::string(own.second) + "/64", "dev", device, "nodad"});
    for (const char* address : {other.first, other.second})
        host.ip({"neighbour", "replace", address, "lladdr", link_address(!right), "nud", "permanent", "dev", device});
}

}  // namespace

NetworkNamespace::NetworkNamespace() {
    on_thread([this] {
        if (unshare(CLONE_NEWNET) != 0) refuse("cannot make a network namespace");
        descriptor_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        if (descriptor_ < 0) refuse("cannot open a network namespace");
    });
    ip({"link", "set", "lo", "up"});
}

NetworkNamespace::~NetworkNamespace() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::string NetworkNamespace::path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

void NetworkNamespace::inside(const std::function<void()>& work) const {
    on_thread([&] {
        if (setns(descriptor_, CLONE_NEWNET) != 0) refuse("cannot enter a network namespace");
        work();
    });
}

void NetworkNamespace::command(std::vector<std::string> words) const {
    const peer::TemporaryFolder folder;
    peer::Command command;
    command.arguments = std::move(words);
    command.directory = folder.path();
    command.output = folder.path() / "out";
    command.timeout = peer::Seconds{10};
    command.network = descriptor_;
    const peer::Outcome outcome = peer::run(command);
    if (outcome.ok()) return;
    std::string line;
    for (const std::string& word : command.arguments) line += word + " ";
    throw Error(line + "failed: " + outcome.errors);
}

void NetworkNamespace::ip(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words{"ip"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    command(std::move(words));
}

void NetworkNamespace::shape(const std::string& interface, const std::string& rate) const {
    command({"tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", rate, "burst", "68kb", "limit", "8mb"});
}

void switch_offloads_off(const std::string& interface) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) refuse("cannot open a socket");
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    for (const auto what : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM}) {
        ethtool_value value{static_cast<std::uint32_t>(what), 0};
        request.ifr_data = reinterpret_cast<char*>(&value);
        if (ioctl(socket, SIOCETHTOOL, &request) != 0) {
            const int why = errno;
            close(socket);
            errno = why;
            refuse("cannot switch offloads of " + interface + " off");
        }
    }
    close(socket);
}

void cable(const End& a, const End& b, unsigned mtu, Offloads offloads) {
    const std::string bytes = std::to_string(mtu);
    a.network.ip({"link", "add", a.interface, "mtu", bytes, "type", "veth", "peer", "name", b.interface, "mtu", bytes,
                  "netns", b.network.path()});
    for (const End* end : {&a, &b}) {
        if (offloads == Offloads::off) end->network.inside([&] { switch_offloads_off(end->interface); });
        end->network.ip({"link", "set", end->interface, "up"});
    }
}

TwoHosts::TwoHosts(Join join, unsigned mtu, Offloads offloads) {
    if (join == Join::cable) {
        cable({left, interface}, {right, interface}, mtu, offloads);
    } else {
        cable({left, interface}, {middle, relay_left}, mtu, Offloads::off);
        cable({right, interface}, {middle, relay_right}, mtu, Offloads::off);
    }
    configure(left, false);
    configure(right, true);
}

bool may_make_namespaces() {
    return geteuid() == 0;
}

}  // namespace loom::test
