// Shared receive queues, queue pairs, address handles and multicast groups: checks, traces and hands on.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "hca/abi/device.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"
#include "hca/roce/gid.hpp"

namespace loom::hca::abi {

namespace {

const char* type_name(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC:
            return "RC";
        case IBV_QPT_UC:
            return "UC";
        case IBV_QPT_UD:
            return "UD";
        default:
            return "not emulated";
    }
}

const char* state_name(ibv_qp_state state) {
    switch (state) {
        case IBV_QPS_RESET:
            return "RESET";
        case IBV_QPS_INIT:
            return "INIT";
        case IBV_QPS_RTR:
            return "RTR";
        case IBV_QPS_RTS:
            return "RTS";
        case IBV_QPS_SQD:
            return "SQD";
        case IBV_QPS_SQE:
            return "SQE";
        case IBV_QPS_ERR:
            return "ERR";
        default:
            return "unknown";
    }
}

// The header before a datagram: of IPv6 form, or an IPv4 header in its last 20 bytes (RoCEv2).
struct Route {
    Gid from{}, to{};
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;
};

Route route_of(const ibv_grh& grh) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&grh);
    Route route;
    if (bytes[0] >> 4 == 6) {
        std::memcpy(route.from.data(), grh.sgid.raw, 16);
        std::memcpy(route.to.data(), grh.dgid.raw, 16);
        const std::uint32_t word = ntohl(grh.version_tclass_flow);
        route.flow_label = word & 0xfffff;
        route.traffic_class = static_cast<std::uint8_t>(word >> 20);
    } else {
        const std::uint8_t* ipv4 = bytes + 20;
        route.from = roce::mapped(ipv4 + 12);
        route.to = roce::mapped(ipv4 + 16);
        route.traffic_class = ipv4[1];
    }
    return route;
}

// -1 when it is none of ours. An answer to a multicast goes out from the first address.
int index_of(const HcaConfig& hca, const Gid& gid) {
    for (std::size_t i = 0; i < hca.gids.size(); ++i)
        if (hca.gids[i].gid == gid) return static_cast<int>(i);
    return roce::is_multicast(gid) ? 0 : -1;
}

int check_ah(const HcaConfig& hca, const ibv_ah_attr& attr) {
    if (attr.port_num != 1) return EINVAL;
    if (attr.is_global == 0) return hca.link == LinkLayer::ethernet ? EINVAL : 0;
    return attr.grh.sgid_index < hca.gids.size() ? 0 : EINVAL;
}

}  // namespace

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
    ibv_srq* srq = api::create_srq(pd, attr);
    trace("ibv_create_srq(max_wr=%u, max_sge=%u, limit=%u) = %p%s%s", attr->attr.max_wr, attr->attr.max_sge,
          attr->attr.srq_limit, static_cast<void*>(srq), srq == nullptr ? " " : "",
          srq == nullptr ? error_name(errno) : "");
    return srq;
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
    const int error = api::modify_srq(srq, attr, mask);
    trace("ibv_modify_srq(%p, mask=0x%x, limit=%u) = %s", static_cast<void*>(srq), mask, attr->srq_limit,
          error_name(error));
    return error;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
    const int error = api::query_srq(srq, attr);
    trace("ibv_query_srq(%p) = %s", static_cast<void*>(srq), error_name(error));
    return error;
}

int ibv_destroy_srq(ibv_srq* srq) {
    const int error = api::destroy_srq(srq);
    trace("ibv_destroy_srq(%p) = %s", static_cast<void*>(srq), error_name(error));
    return error;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
    Qp* qp = api::create_qp(pd, attr);
    const char* type = type_name(attr->qp_type);
    if (qp == nullptr) {
        trace("ibv_create_qp(type=%s, send_wr=%u, recv_wr=%u, send_sge=%u, inline=%u) = NULL %s", type,
              attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->cap.max_send_sge, attr->cap.max_inline_data,
              error_name(errno));
        return nullptr;
    }
    trace("ibv_create_qp(type=%s, send_wr=%u, recv_wr=%u, send_sge=%u, inline=%u) = qp 0x%x", type,
          attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->cap.max_send_sge, attr->cap.max_inline_data,
          qp->abi.qp_base.qp_num);
    return &qp->abi.qp_base;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
    const int error = api::modify_qp(qp, attr, mask);
    if ((mask & IBV_QP_STATE) != 0)
        trace("ibv_modify_qp(qp=0x%x, state=%s, mask=0x%x) = %s", qp->qp_num, state_name(attr->qp_state), mask,
              error_name(error));
    else
        trace("ibv_modify_qp(qp=0x%x, mask=0x%x) = %s", qp->qp_num, mask, error_name(error));
    return error;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
    const int error = api::query_qp(qp, attr, mask, init);
    trace("ibv_query_qp(qp=0x%x, mask=0x%x) = %s", qp->qp_num, mask, error_name(error));
    return error;
}

int ibv_destroy_qp(ibv_qp* qp) {
    const std::uint32_t number = qp->qp_num;
    const int error = api::destroy_qp(qp);
    trace("ibv_destroy_qp(qp=0x%x) = %s", number, error_name(error));
    return error;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
    return Qp::of(qp).extended ? &Qp::of(qp).abi : nullptr;
}

// Writes land in any order but for their last bytes: no promise that a program could build on.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
    return 0;
}

// Enhanced connection establishment: vendors' options, of which there are none.
int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
    trace("ibv_query_ece(qp=0x%x) = EOPNOTSUPP", qp->qp_num);
    *ece = {};
    return EOPNOTSUPP;
}

int ibv_set_ece(ibv_qp* qp, ibv_ece*) {
    trace("ibv_set_ece(qp=0x%x) = EOPNOTSUPP", qp->qp_num);
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
    const int error = check_ah(*Device::of(pd->context->device).hca, *attr);
    ibv_ah* ah = nullptr;
    if (error == 0)
        ah = api::create_ah(pd, attr);
    else
        errno = error;
    trace("ibv_create_ah(lid=%u, global=%u) = %p%s%s", attr->dlid, attr->is_global, static_cast<void*>(ah),
          ah == nullptr ? " " : "", ah == nullptr ? error_name(errno) : "");
    return ah;
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
    *attr = {};
    attr->dlid = wc->slid;
    attr->sl = wc->sl;
    attr->src_path_bits = wc->dlid_path_bits;
    attr->port_num = port;
    if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
    const Route route = route_of(*grh);
    const int index = index_of(*Device::of(context->device).hca, route.to);
    if (index < 0) {
        errno = EINVAL;
        return -1;
    }
    attr->is_global = 1;
    std::memcpy(attr->grh.dgid.raw, route.from.data(), 16);
    attr->grh.sgid_index = static_cast<std::uint8_t>(index);
    attr->grh.flow_label = route.flow_label;
    attr->grh.traffic_class = route.traffic_class;
    attr->grh.hop_limit = 0xff;
    return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
    ibv_ah_attr attr;
    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
    return ibv_create_ah(pd, &attr);
}

int ibv_destroy_ah(ibv_ah* ah) {
    const int error = api::destroy_ah(ah);
    trace("ibv_destroy_ah(%p) = %s", static_cast<void*>(ah), error_name(error));
    return error;
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
    const int error = api::attach_mcast(qp, gid, lid);
    trace("ibv_attach_mcast(qp=0x%x, lid=0x%x) = %s", qp->qp_num, lid, error_name(error));
    return error;
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
    const int error = api::detach_mcast(qp, gid, lid);
    trace("ibv_detach_mcast(qp=0x%x, lid=0x%x) = %s", qp->qp_num, lid, error_name(error));
    return error;
}

// For drivers that build Ethernet headers themselves; here the kernel's UDP does.
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, uint8_t*, uint16_t*) {
    return EOPNOTSUPP;
}
