#include "transport/verbs/device.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

namespace loom::transport {

namespace {

constexpr int queue_entries = 8192;

std::string reason() {
    return std::string(": ") + std::strerror(errno);
}

template <class Pointer>
void demand(const Pointer& pointer, const char* what) {
    if (pointer == nullptr) throw Error(std::string("verbs: cannot ") + what + reason());
}

void demand(int error, const char* what) {
    if (error == 0) return;
    errno = error < 0 ? errno : error;
    throw Error(std::string("verbs: cannot ") + what + reason());
}

ibv_port_attr query_port(const verbs::Functions& functions, ibv_context* context) {
    ibv_port_attr port{};
    if (functions.query_port(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(&port)) != 0)
        port.state = IBV_PORT_NOP;
    return port;
}

// An address that routers know, if there is one: mapped IPv4 before others, others before link-local.
std::uint8_t choose_gid(const verbs::Functions& functions, ibv_context* context, int count) {
    if (const auto asked = settings::read(Setting::gid_index)) {
        char* end = nullptr;
        const long index = std::strtol(asked->c_str(), &end, 10);
        if (*end != '\0' || index < 0 || index >= count)
            settings::refuse(Setting::gid_index, *asked, "0 to " + std::to_string(count - 1));
        return static_cast<std::uint8_t>(index);
    }
    int best = 0, merit = -1;
    for (int i = 0; i < std::min(count, 256); ++i) {
        ibv_gid gid{};
        if (functions.query_gid(context, 1, i, &gid) != 0) continue;
        const bool empty = std::all_of(std::begin(gid.raw), std::end(gid.raw), [](std::uint8_t b) { return b == 0; });
        if (empty) continue;
        const bool mapped = std::all_of(gid.raw, gid.raw + 10, [](std::uint8_t b) { return b == 0; }) &&
                            gid.raw[10] == 0xff && gid.raw[11] == 0xff;
        const bool local = gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
        const int value = mapped ? 2 : local ? 0 : 1;
        if (value > merit) merit = value, best = i;
    }
    return static_cast<std::uint8_t>(best);
}

}  // namespace

Device::Device() : adapter(verbs::adapter()) {
    const verbs::Functions& f = adapter.functions;
    const auto wanted = settings::read(Setting::device);
    int count = 0;
    ibv_device** list = f.get_device_list(&count);
    demand(list, "list devices");
    ibv_port_attr port{};
    for (int i = 0; i < count && context == nullptr; ++i) {
        const std::string candidate = f.get_device_name(list[i]);
        if (wanted && candidate != *wanted) continue;
        ContextPtr opened(f.open_device(list[i]));
        if (opened == nullptr) continue;
        port = query_port(f, opened.get());
        if (port.state != IBV_PORT_ACTIVE) continue;
        context = std::move(opened);
        name = candidate;
    }
    f.free_device_list(list);
    if (context == nullptr)
        throw Error(wanted ? "LOOM_DEVICE='" + *wanted + "': no active device of that name"
                           : "verbs: no device with an active port 1 (" + adapter.library + ")");
    ibv_device_attr able{};
    atomics = f.query_device(context.get(), &able) == 0 && able.atomic_cap != IBV_ATOMIC_NONE;
    pd.reset(f.alloc_pd(context.get()));
    demand(pd, "allocate a protection domain");
    channel.reset(f.create_comp_channel(context.get()));
    demand(channel, "create a completion channel");
    demand(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), "make a channel non-blocking");
    sent.reset(f.create_cq(context.get(), queue_entries, nullptr, channel.get(), 0));
    demand(sent, "create a completion queue");
    received.reset(f.create_cq(context.get(), queue_entries, nullptr, channel.get(), 0));
    demand(received, "create a completion queue");
    ibv_srq_init_attr shared{};
    shared.attr = {receive_requests, 1, 0};
    srq.reset(f.create_srq(pd.get(), &shared));
    demand(srq, "create a shared receive queue");
    post_receives(receive_requests);

    address.lid = port.lid;
    address.mtu = static_cast<std::uint8_t>(port.active_mtu);
    address.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
    gid_index = choose_gid(f, context.get(), port.gid_tbl_len);
    ibv_gid gid{};
    if (f.query_gid(context.get(), 1, gid_index, &gid) == 0) std::memcpy(address.gid, gid.raw, sizeof address.gid);
}

QpPtr Device::create_qp(std::uint32_t requests, std::uint32_t inline_bytes) const {
    ibv_qp_init_attr init{};
    init.send_cq = sent.get();
    init.recv_cq = received.get();
    init.srq = srq.get();
    init.cap = {requests, 0, 3, 0, inline_bytes};
    init.qp_type = IBV_QPT_RC;
    QpPtr qp(adapter.functions.create_qp(pd.get(), &init));
    demand(qp, "create a queue pair");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (atomics) attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    demand(adapter.functions.modify_qp(qp.get(), &attr,
                                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
           "initialise a queue pair");
    return qp;
}

void Device::connect(ibv_qp& qp, const Address& peer, std::uint32_t peer_number) const {
    if (peer.ethernet != address.ethernet) throw Error("verbs: one rank is on Ethernet, another on InfiniBand");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = static_cast<ibv_mtu>(std::clamp<int>(std::min(peer.mtu, address.mtu), IBV_MTU_256, IBV_MTU_4096));
    attr.dest_qp_num = peer_number;
    attr.rq_psn = attr.sq_psn = 0;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
    attr.min_rnr_timer = 1;
    attr.ah_attr.port_num = 1;
    if (address.ethernet != 0) {
        attr.ah_attr.is_global = 1;
        std::memcpy(attr.ah_attr.grh.dgid.raw, peer.gid, sizeof peer.gid);
        attr.ah_attr.grh.sgid_index = gid_index;
        attr.ah_attr.grh.hop_limit = 64;
    } else {
        attr.ah_attr.dlid = peer.lid;
    }
    demand(adapter.functions.modify_qp(&qp, &attr,
                                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
           "connect a queue pair");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout =
        16;  // 268 ms, seven times: a lost peer is known within two seconds, a busy one is not taken for lost
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    demand(adapter.functions.modify_qp(&qp, &attr,
                                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
           "make a queue pair ready");
}

void Device::post_receives(std::uint32_t count) const {
    ibv_recv_wr request{}, *bad = nullptr;
    for (std::uint32_t i = 0; i < count; ++i) demand(ibv_post_srq_recv(srq.get(), &request, &bad), "post a receive");
}

}  // namespace loom::transport
