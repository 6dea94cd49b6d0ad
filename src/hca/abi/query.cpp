// What a device, its port, its GIDs and its partition keys are.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "hca/abi/device.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"

namespace loom::hca::abi {

namespace {

constexpr std::uint16_t default_pkey = 0xffff;

ibv_mtu mtu_code(std::uint32_t bytes) {
    int code = IBV_MTU_256;
    while (code < IBV_MTU_4096 && (256u << (code - IBV_MTU_256)) < bytes) ++code;
    return static_cast<ibv_mtu>(code);
}

const HcaConfig& hca_of(ibv_context* context) {
    return *Device::of(context->device).hca;
}

std::uint32_t gid_type(const GidEntry& entry) {
    return entry.type == GidType::ib ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
}

ibv_gid_entry public_entry(const HcaConfig& hca, std::size_t index) {
    ibv_gid_entry entry{};
    std::memcpy(entry.gid.raw, hca.gids[index].gid.data(), sizeof entry.gid.raw);
    entry.gid_index = static_cast<std::uint32_t>(index);
    entry.port_num = 1;
    entry.gid_type = gid_type(hca.gids[index]);
    entry.ndev_ifindex = hca.interface;
    return entry;
}

// Programs were built with structs of other ages: fills as much as theirs has, and zeroes what ours has not.
void copy_out(void* to, std::size_t to_size, const void* from, std::size_t from_size) {
    std::memcpy(to, from, std::min(to_size, from_size));
    if (to_size > from_size) std::memset(static_cast<char*>(to) + from_size, 0, to_size - from_size);
}

}  // namespace

ibv_device_attr device_attributes(const HcaConfig& hca) {
    ibv_device_attr attr{};
    std::strncpy(attr.fw_ver, firmware_version(), sizeof attr.fw_ver - 1);
    attr.node_guid = __builtin_bswap64(hca.guid);
    attr.sys_image_guid = attr.node_guid;
    attr.max_mr_size = std::uint64_t{1} << 47;
    attr.page_size_cap = ~std::uint64_t{0xfff};
    attr.vendor_id = 0x024c00;  // like the GUIDs locally administered, and no vendor's
    attr.vendor_part_id = 1;
    attr.hw_ver = 1;
    attr.max_qp = static_cast<int>(api::max_qp);
    attr.max_qp_wr = static_cast<int>(api::max_qp_wr);
    attr.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_RC_RNR_NAK_GEN;
    attr.max_sge = attr.max_sge_rd = static_cast<int>(api::max_sge);
    attr.max_cq = static_cast<int>(api::max_cq);
    attr.max_cqe = static_cast<int>(api::max_cqe);
    attr.max_mr = static_cast<int>(api::max_mr);
    attr.max_pd = static_cast<int>(api::max_pd);
    attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = static_cast<int>(api::max_rd_atomic);
    attr.max_res_rd_atom = static_cast<int>(api::max_rd_atomic * api::max_qp);
    attr.atomic_cap = IBV_ATOMIC_HCA;
    attr.max_mcast_grp = 256;
    attr.max_mcast_qp_attach = static_cast<int>(api::max_qp);
    attr.max_total_mcast_qp_attach = attr.max_mcast_qp_attach;
    attr.max_ah = 65535;
    attr.max_srq = static_cast<int>(api::max_qp);
    attr.max_srq_wr = static_cast<int>(api::max_srq_wr);
    attr.max_srq_sge = static_cast<int>(api::max_sge);
    attr.max_pkeys = 1;
    attr.local_ca_ack_delay = 15;
    attr.phys_port_cnt = 1;
    return attr;
}

ibv_port_attr port_attributes(const HcaConfig& hca) {
    const bool ethernet = hca.link == LinkLayer::ethernet;
    ibv_port_attr attr{};
    attr.state = IBV_PORT_ACTIVE;
    attr.max_mtu = ethernet ? mtu_code(hca.mtu) : IBV_MTU_4096;
    attr.active_mtu = mtu_code(hca.mtu);
    attr.gid_tbl_len = static_cast<int>(hca.gids.size());
    attr.port_cap_flags = IBV_PORT_CM_SUP | (ethernet ? IBV_PORT_IP_BASED_GIDS : IBV_PORT_SYS_IMAGE_GUID_SUP);
    attr.max_msg_sz = static_cast<std::uint32_t>(api::max_message);
    attr.pkey_tbl_len = 1;
    attr.lid = hca.lid;
    attr.sm_lid = ethernet ? 0 : 1;
    attr.max_vl_num = 1;
    attr.subnet_timeout = ethernet ? 0 : 18;
    attr.active_width = 2;   // 4X
    attr.active_speed = 32;  // 25 Gbit/s a lane, about what one core copies
    attr.phys_state = 5;     // link up
    attr.link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    attr.flags = ethernet ? IBV_QPF_GRH_REQUIRED : 0;
    return attr;
}

namespace {

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size) {
    const int error = port == 1 ? 0 : EINVAL;
    if (error == 0) {
        const ibv_port_attr known = port_attributes(hca_of(context));
        copy_out(attr, size, &known, sizeof known);
    }
    trace("ibv_query_port(%s, %u) = %s", context->device->name, port, error_name(error));
    return error;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t size) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    if (size < offsetof(ibv_device_attr_ex, comp_mask) + sizeof attr->comp_mask) return EINVAL;
    ibv_device_attr_ex known{};
    known.orig_attr = device_attributes(hca_of(context));
    known.completion_timestamp_mask = ~std::uint64_t{0};
    known.hca_core_clock = 1000000;  // kHz: time stamps are in nanoseconds
    known.device_cap_flags_ex = known.orig_attr.device_cap_flags;
    known.phys_port_cnt_ex = 1;
    copy_out(attr, size, &known, sizeof known);
    trace("ibv_query_device_ex(%s) = 0", context->device->name);
    return 0;
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) {
    trace("ibv_query_rt_values_ex(%s) = 0", context->device->name);
    const std::uint32_t wanted = values->comp_mask;
    values->comp_mask = 0;
    if ((wanted & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
        clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
        values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    }
    return 0;
}

}  // namespace

void set_query_operations(verbs_context& verbs) {
    verbs.query_port = query_port;
    verbs.query_device_ex = query_device_ex;
    verbs.query_rt_values = query_rt_values;
}

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
    *attr = device_attributes(hca_of(context));
    trace("ibv_query_device(%s) = 0", context->device->name);
    return 0;
}

int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attr) {
    // Programs older than the last field have a struct that ends before it.
    return abi::query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr),
                           offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
    const HcaConfig& hca = hca_of(context);
    const bool known = port == 1 && index >= 0 && static_cast<std::size_t>(index) < hca.gids.size();
    trace("ibv_query_gid(%s, %u, %d) = %d", context->device->name, port, index, known ? 0 : -1);
    if (!known) {
        errno = EINVAL;
        return -1;
    }
    std::memcpy(gid->raw, hca.gids[static_cast<std::size_t>(index)].gid.data(), sizeof gid->raw);
    return 0;
}

int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry, uint32_t flags,
                      size_t entry_size) {
    const HcaConfig& hca = hca_of(context);
    int error = 0;
    if (flags != 0)
        error = EOPNOTSUPP;
    else if (port != 1 || index >= hca.gids.size())
        error = EINVAL;
    else {
        const ibv_gid_entry known = public_entry(hca, index);
        copy_out(entry, entry_size, &known, sizeof known);
    }
    trace("ibv_query_gid_ex(%s, %u, %u) = %s", context->device->name, port, index, error_name(error));
    return error;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries, uint32_t flags,
                             size_t entry_size) {
    const HcaConfig& hca = hca_of(context);
    if (flags != 0) return -EOPNOTSUPP;
    if (max_entries < hca.gids.size() || entry_size == 0) return -EINVAL;
    for (std::size_t i = 0; i < hca.gids.size(); ++i) {
        const ibv_gid_entry known = public_entry(hca, i);
        copy_out(reinterpret_cast<char*>(entries) + i * entry_size, entry_size, &known, sizeof known);
    }
    trace("ibv_query_gid_table(%s) = %zu", context->device->name, hca.gids.size());
    return static_cast<ssize_t>(hca.gids.size());
}

// A function private to rdma-core's own programs: 0 is InfiniBand or RoCEv1, 1 is RoCEv2.
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index, int* type) {
    const HcaConfig& hca = hca_of(context);
    if (port != 1 || index >= hca.gids.size()) {
        errno = EINVAL;
        return -1;
    }
    *type = hca.gids[index].type == GidType::roce_v2 ? 1 : 0;
    return 0;
}

int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* pkey) {
    const bool known = port == 1 && index == 0;
    trace("ibv_query_pkey(%s, %u, %d) = %d", context->device->name, port, index, known ? 0 : -1);
    if (!known) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htons(default_pkey);
    return 0;
}

int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
    const bool known = port == 1 && pkey == htons(default_pkey);
    trace("ibv_get_pkey_index(%s, %u, 0x%04x) = %d", context->device->name, port, ntohs(pkey), known ? 0 : -1);
    if (known) return 0;
    errno = EINVAL;
    return -1;
}
