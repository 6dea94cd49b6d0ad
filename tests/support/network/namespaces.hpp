// Networks of a test's own: namespaces joined by veth pairs. They live in descriptors alone, without a name, so the
// kernel takes everything away with the test's process, however that ends. Needs root (CAP_SYS_ADMIN).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peer/harness/process.hpp"

namespace loom::test {

class NetworkNamespace {
public:
    NetworkNamespace();  // with its loopback up
    NetworkNamespace(const NetworkNamespace&) = delete;
    NetworkNamespace& operator=(const NetworkNamespace&) = delete;
    ~NetworkNamespace();

    // For peer::Command::network.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    // A path that other processes (`ip ... netns PATH`) can open while this object lives.
    [[nodiscard]] std::string path() const;

    // Runs `work` on a thread inside the namespace and waits; sockets it opens stay there. Exceptions come through.
    void inside(const std::function<void()>& work) const;
    // `ip ARGUMENTS` inside. Throws Error with what it said.
    void ip(const std::vector<std::string>& arguments) const;
    // What leaves by `interface` goes at this rate, "1gbit", as tc has it. What waits for the wire counts against its
    // sender's socket, and nothing is dropped. The burst is what the kernel hands to an adapter at once, 64 KiB: with
    // less it would cut that up before the wire, at the cost of the cores, and with more it would not be the wire.
    void shape(const std::string& interface, const std::string& rate) const;

private:
    void command(std::vector<std::string> words) const;
    int descriptor_ = -1;
};

// Segmentation, receive aggregation and checksums are done for every frame by the sender's kernel, so that packet
// sockets see what a real wire would carry. `interface` is one of the calling thread's namespace.
void switch_offloads_off(const std::string& interface);

enum class Offloads : unsigned char { on, off };

struct End {
    const NetworkNamespace& network;
    std::string interface;
};

// A veth pair between two namespaces, both ends up.
void cable(const End& a, const End& b, unsigned mtu = 1500, Offloads offloads = Offloads::on);

// Two hosts, left and right, and what joins them.
class TwoHosts {
public:
    // through_relay: the ends do not meet; relay_left and relay_right in `middle` are for a Relay to join.
    enum class Join : unsigned char { cable, through_relay };

    explicit TwoHosts(Join join = Join::cable, unsigned mtu = 1500, Offloads offloads = Offloads::off);

    static constexpr const char* left_address = "10.77.0.1";
    static constexpr const char* right_address = "10.77.0.2";
    static constexpr const char* left_address6 = "fd77::1";
    static constexpr const char* right_address6 = "fd77::2";
    static constexpr const char* interface = "wire0";  // on either host
    static constexpr const char* relay_left = "relay0";
    static constexpr const char* relay_right = "relay1";

    NetworkNamespace left;
    NetworkNamespace right;
    NetworkNamespace middle;  // empty when a cable joins the hosts
};

[[nodiscard]] bool may_make_namespaces();

}  // namespace loom::test
