// What the environment asks of the software HCAs. Read once, when a program first asks for devices: never in a
// constructor. Everything here is plain data; nothing is opened or started.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hca/roce/address.hpp"
#include "loom/base/settings.hpp"

namespace loom::hca {

using roce::Gid;

enum class LinkLayer : std::uint8_t { infiniband, ethernet };
enum class GidType : std::uint8_t { ib, roce_v2 };

struct GidEntry {
    Gid gid{};
    GidType type = GidType::ib;
};

// One adapter with one port.
struct HcaConfig {
    std::string name;         // loomN
    std::uint32_t index = 0;  // N; its device node is uverbsN
    std::uint64_t guid = 0;   // host order; the same for every process of a host and network namespace
    LinkLayer link = LinkLayer::infiniband;
    std::uint16_t lid = 0;       // N + 1; 0 on Ethernet
    std::vector<GidEntry> gids;  // InfiniBand: fe80::guid; Ethernet: the address, mapped when it is IPv4
    unsigned interface = 0;      // the network interface that has the address (Ethernet), or 0
    std::string interface_name;  // its name, or empty
    std::uint32_t mtu = 4096;    // payload bytes of a packet: 256, 512, 1024, 2048 or 4096
};

// Faults to inject; all off unless asked for.
struct FaultConfig {
    std::uint64_t seed = 1;
    double drop = 0;                   // probability that a packet is not sent
    double datagrams = 0;              // the same for those of UD alone, to each of a group's members by itself
    std::chrono::nanoseconds delay{};  // for which completions are held back
    double error = 0;                  // probability that a send completes with an error
    [[nodiscard]] bool any() const { return drop > 0 || datagrams > 0 || delay.count() > 0 || error > 0; }
};

struct Config {
    std::vector<HcaConfig> hcas;
    bool trace = false;
    std::string trace_file;  // empty: standard error
    FaultConfig faults;
    std::uint16_t roce_port = 4791;
    bool shared_memory = true;  // off: even processes of this host talk RoCE, on Ethernet HCAs
    bool gso = true;            // UDP segmentation offload
    bool realtime = false;      // the service thread asks for a real-time priority
    bool ptracer = true;        // let processes of this user copy from and to this one under Yama
    std::string stats_file;     // one JSON line at exit; empty: none
};

// Like settings::read.
using Environment = std::function<std::optional<std::string>(Setting)>;

// Throws loom::UsageError, one line with the variable, its value and what was expected.
[[nodiscard]] Config read_config(const Environment& environment);

// The configuration of this process, read at the first call. A bad value is said in one line on standard error, once,
// and leaves no HCAs. Safe from any thread; never throws.
[[nodiscard]] const Config& config() noexcept;

// fe80::guid
[[nodiscard]] Gid link_local_gid(std::uint64_t guid);

// The GUID of HCA number index of this host and network namespace. Locally administered (bit 1 of the first byte).
[[nodiscard]] std::uint64_t local_guid(std::uint32_t index);

// What the adapters say that their firmware is: Loomband's version.
[[nodiscard]] const char* firmware_version();

// "50us", "2ms": a number and ns, us, ms or s. False when it is none, or beyond an hour.
[[nodiscard]] bool parse_duration(const std::string& text, std::chrono::nanoseconds& duration);

}  // namespace loom::hca
