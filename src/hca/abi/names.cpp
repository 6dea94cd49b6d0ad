// Names of node types, states, events and completion statuses, as programs print them; rates.
#include <array>

#include "hca/abi/exports.hpp"

namespace {

template <std::size_t count>
const char* name_of(const std::array<const char*, count>& names, int value) {
    const bool known =
        value >= 0 && value < static_cast<int>(count) && names[static_cast<std::size_t>(value)] != nullptr;
    return known ? names[static_cast<std::size_t>(value)] : "unknown";
}

constexpr std::array<const char*, 8> node_types{nullptr,
                                                "InfiniBand channel adapter",
                                                "InfiniBand switch",
                                                "InfiniBand router",
                                                "iWARP NIC",
                                                "usNIC",
                                                "usNIC UDP",
                                                "unspecified"};

constexpr std::array port_states{"no state change (NOP)", "down", "init", "armed", "active", "active defer"};

constexpr std::array events{
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr std::array completion_statuses{
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

struct Rate {
    ibv_rate rate;
    int multiple;  // of 2.5 Gbit/s; 0: none that libibverbs names
    int mbps;
};

constexpr std::array rates{
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},     Rate{IBV_RATE_5_GBPS, 2, 5000},         Rate{IBV_RATE_10_GBPS, 4, 10000},
    Rate{IBV_RATE_14_GBPS, 0, 14062},     Rate{IBV_RATE_20_GBPS, 8, 20000},       Rate{IBV_RATE_25_GBPS, 0, 25781},
    Rate{IBV_RATE_28_GBPS, 11, 28125},    Rate{IBV_RATE_30_GBPS, 12, 30000},      Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_50_GBPS, 20, 53125},    Rate{IBV_RATE_56_GBPS, 0, 56250},       Rate{IBV_RATE_60_GBPS, 24, 60000},
    Rate{IBV_RATE_80_GBPS, 32, 80000},    Rate{IBV_RATE_100_GBPS, 0, 103125},     Rate{IBV_RATE_112_GBPS, 0, 112500},
    Rate{IBV_RATE_120_GBPS, 48, 120000},  Rate{IBV_RATE_168_GBPS, 0, 168750},     Rate{IBV_RATE_200_GBPS, 0, 206250},
    Rate{IBV_RATE_300_GBPS, 0, 309375},   Rate{IBV_RATE_400_GBPS, 160, 425000},   Rate{IBV_RATE_600_GBPS, 240, 637500},
    Rate{IBV_RATE_800_GBPS, 320, 850000}, Rate{IBV_RATE_1200_GBPS, 480, 1275000},
};

}  // namespace

const char* ibv_node_type_str(ibv_node_type node_type) {
    return name_of(node_types, static_cast<int>(node_type));
}

const char* ibv_port_state_str(ibv_port_state state) {
    return name_of(port_states, static_cast<int>(state));
}

const char* ibv_event_type_str(ibv_event_type event) {
    return name_of(events, static_cast<int>(event));
}

const char* ibv_wc_status_str(ibv_wc_status status) {
    return name_of(completion_statuses, static_cast<int>(status));
}

int ibv_rate_to_mult(ibv_rate rate) {
    for (const Rate& known : rates)
        if (known.rate == rate && known.multiple != 0) return known.multiple;
    return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
    for (const Rate& known : rates)
        if (known.multiple == multiple && multiple != 0) return known.rate;
    return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
    for (const Rate& known : rates)
        if (known.rate == rate) return known.mbps;
    return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
    for (const Rate& known : rates)
        if (known.mbps == mbps) return known.rate;
    return IBV_RATE_MAX;
}
