#include "hca/device/sysfs.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "hca/device/counters.hpp"

namespace loom::hca {

namespace {

using Kind = SysfsNode::Kind;

bool take(std::string_view& path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return false;
    path.remove_prefix(prefix.size());
    return true;
}

// The number at the beginning, as the kernel writes it: no sign, no leading zeros.
bool take_number(std::string_view& path, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    if (error != std::errc{} || (path.front() == '0' && end != path.data() + 1)) return false;
    path.remove_prefix(static_cast<std::size_t>(end - path.data()));
    return true;
}

SysfsNode file(std::string text) {
    return {Kind::file, std::move(text) + '\n', 0};
}

SysfsNode folder() {
    return {Kind::folder, {}, 0};
}

std::string hex(const char* format, unsigned value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

// Groups of four digits with colons between them, as GUIDs and GIDs are shown.
std::string groups(const std::uint8_t* bytes, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; i += 2) {
        if (i != 0) text += ':';
        text += hex("%04x", static_cast<unsigned>(bytes[i]) << 8 | bytes[i + 1]);
    }
    return text;
}

std::string guid_text(std::uint64_t guid) {
    return groups(link_local_gid(guid).data() + 8, 8);
}

// InfiniBand's counters of a port, and all of ours under the names that they have in statistics.
SysfsNode counter_node(const HcaConfig& hca, std::string_view name) {
    const bool standard = take(name, "counters/");
    if (!standard && !take(name, "hw_counters/")) return {};
    std::uint64_t sent = 0, received = 0;
    for (const Counter& counter : own_counters(hca.index)) {
        if (counter.name == name && !standard) return file(std::to_string(counter.value));
        if (counter.name.starts_with("sent_bytes")) sent += counter.value;
        if (counter.name.starts_with("received_bytes")) received += counter.value;
        const bool packets = (name == "port_xmit_packets" && counter.name == "sent_packets") ||
                             (name == "port_rcv_packets" && counter.name == "received_packets");
        if (standard && packets) return file(std::to_string(counter.value));
    }
    if (standard && name == "port_xmit_data") return file(std::to_string(sent / 4));  // words, as the standard has it
    if (standard && name == "port_rcv_data") return file(std::to_string(received / 4));
    return {};
}

SysfsNode port_node(const HcaConfig& hca, std::string_view name) {
    const bool ethernet = hca.link == LinkLayer::ethernet;
    if (name == "state") return file("4: ACTIVE");
    if (name == "phys_state") return file("5: LinkUp");
    if (name == "lid") return file(hex("0x%x", hca.lid));
    if (name == "lid_mask_count") return file("0");
    if (name == "sm_lid") return file(hex("0x%x", ethernet ? 0 : 1));
    if (name == "sm_sl") return file("0");
    if (name == "rate") return file("100 Gb/sec (4X EDR)");
    if (name == "link_layer") return file(ethernet ? "Ethernet" : "InfiniBand");
    if (name == "pkeys/0") return file("0xffff");
    if (name == "gids" || name == "gid_attrs" || name == "gid_attrs/types" || name == "gid_attrs/ndevs" ||
        name == "pkeys" || name == "counters" || name == "hw_counters")
        return folder();
    if (const SysfsNode counter = counter_node(hca, name); counter.kind != Kind::none) return counter;
    std::uint32_t index = 0;
    const bool is_type = take(name, "gid_attrs/types/");
    const bool is_device = !is_type && take(name, "gid_attrs/ndevs/");
    if (!is_type && !is_device && !take(name, "gids/")) return {};
    if (!take_number(name, index) || !name.empty() || index >= hca.gids.size()) return {};
    const GidEntry& entry = hca.gids[index];
    if (is_type) return file(entry.type == GidType::roce_v2 ? "RoCE v2" : "IB/RoCE v1");
    if (is_device) return hca.interface_name.empty() ? SysfsNode{} : file(hca.interface_name);
    return file(groups(entry.gid.data(), entry.gid.size()));
}

SysfsNode class_node(const HcaConfig& hca, std::string_view name) {
    if (name.empty() || name == "ports" || name == "ports/1") return folder();
    if (name == "node_type") return file("1: CA");
    if (name == "node_guid" || name == "sys_image_guid") return file(guid_text(hca.guid));
    if (name == "node_desc") return file("Loomband " + hca.name);
    if (name == "fw_ver") return file(firmware_version());
    if (name == "hw_rev") return file("1");
    if (name == "hca_type") return file("Loomband software HCA");
    return take(name, "ports/1/") ? port_node(hca, name) : SysfsNode{};
}

SysfsNode verbs_node(const HcaConfig& hca, std::string_view name) {
    if (name.empty()) return folder();
    if (name == "ibdev") return file(hca.name);
    if (name == "abi_version") return file("1");
    if (name == "dev") return file("231:" + std::to_string(192 + hca.index));
    return {};
}

}  // namespace

bool may_be_sysfs(const char* path) {
    return path != nullptr && (std::strncmp(path, "/sys/class/infiniband", 21) == 0 ||
                               std::strncmp(path, "/dev/infiniband/uverbs", 22) == 0);
}

SysfsNode sysfs_node(const Config& config, std::string_view path) {
    if (path.ends_with('/')) path.remove_suffix(1);
    const bool is_class = take(path, "/sys/class/infiniband/loom");
    const bool is_verbs = !is_class && take(path, "/sys/class/infiniband_verbs/uverbs");
    if (!is_class && !is_verbs && !take(path, "/dev/infiniband/uverbs")) return {};
    std::uint32_t index = 0;
    if (path.empty() || !take_number(path, index) || index >= config.hcas.size()) return {};
    const HcaConfig& hca = config.hcas[index];
    if (!path.empty() && !take(path, "/")) return {};
    if (is_class) return class_node(hca, path);
    if (is_verbs) return verbs_node(hca, path);
    return path.empty() ? SysfsNode{Kind::device, {}, 192 + index} : SysfsNode{};
}

}  // namespace loom::hca
