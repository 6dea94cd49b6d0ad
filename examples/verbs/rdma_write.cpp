// One side writes into the other's memory, and the other learns of it by the immediate value alone. Both sides are
// queue pairs of this process, so that the whole of it fits one page; between processes, addresses travel by a socket
// first.
#include <arpa/inet.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"
#include "loom/verbs/functions.hpp"

namespace {

using loom::verbs::Functions;

// What each side has to make, in this order, before it can be connected.
struct Side {
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_mr* mr = nullptr;
    ibv_cq* cq = nullptr;
    ibv_qp* qp = nullptr;
    ibv_port_attr port{};
    ibv_gid gid{};
    std::array<char, 64> memory{};
};

template <class Object>
Object* made(Object* object, const char* what) {
    if (object == nullptr) throw loom::Error(std::string("cannot make a ") + what);
    return object;
}

void expect(bool holds, const char* what) {
    if (!holds) throw loom::Error(std::string("cannot ") + what);
}

void open(const Functions& verbs, Side& side) {
    int devices = 0;
    ibv_device** const list = verbs.get_device_list(&devices);
    expect(list != nullptr && devices > 0, "find a device");
    side.context = verbs.open_device(list[0]);
    verbs.free_device_list(list);
    expect(side.context != nullptr, "open the device");
    expect(verbs.query_port(side.context, 1, reinterpret_cast<_compat_ibv_port_attr*>(&side.port)) == 0 &&
               verbs.query_gid(side.context, 1, 0, &side.gid) == 0,
           "query the port");
    side.pd = made(verbs.alloc_pd(side.context), "protection domain");
    side.mr = made(verbs.reg_mr(side.pd, side.memory.data(), side.memory.size(),
                                reinterpret_cast<std::uintptr_t>(side.memory.data()),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                   "memory region");
    side.cq = made(verbs.create_cq(side.context, 8, nullptr, nullptr, 0), "completion queue");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = side.cq;
    wanted.cap = {8, 8, 1, 1, 32};
    wanted.qp_type = IBV_QPT_RC;
    side.qp = made(verbs.create_qp(side.pd, &wanted), "queue pair");
}

// INIT: which port and rights. RTR: whom to hear, and how. RTS: how often to try again.
void connect(const Functions& verbs, Side& side, const Side& other) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    expect(verbs.modify_qp(side.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
           "initialise");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = other.port.active_mtu;
    attr.dest_qp_num = other.qp->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.dlid = other.port.lid;
    attr.ah_attr.is_global = other.port.link_layer == IBV_LINK_LAYER_ETHERNET;
    attr.ah_attr.grh.dgid = other.gid;
    attr.ah_attr.grh.hop_limit = 64;
    expect(verbs.modify_qp(side.qp, &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
           "get ready to receive");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    expect(verbs.modify_qp(side.qp, &attr,
                           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                               IBV_QP_MAX_QP_RD_ATOMIC) == 0,
           "get ready to send");
}

ibv_wc completion(const Side& side) {
    ibv_wc wc{};
    while (ibv_poll_cq(side.cq, 1, &wc) == 0) {
    }
    return wc;
}

void write(const Side& from, const Side& to, const char* text, std::uint32_t key, std::uint32_t immediate) {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(text), static_cast<std::uint32_t>(std::strlen(text) + 1), 0};
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;  // inline: `text` need not be registered
    request.imm_data = htonl(immediate);
    request.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.memory.data());
    request.wr.rdma.rkey = key;
    expect(ibv_post_send(from.qp, &request, &bad) == 0, "post a write");
}

void close(const Functions& verbs, const Side& side) {
    verbs.destroy_qp(side.qp);
    verbs.destroy_cq(side.cq);
    verbs.dereg_mr(side.mr);
    verbs.dealloc_pd(side.pd);
    verbs.close_device(side.context);
}

}  // namespace

int main() try {
    const Functions& verbs = loom::verbs::adapter().functions;
    Side writer, target;
    open(verbs, writer);
    open(verbs, target);
    connect(verbs, writer, target);
    connect(verbs, target, writer);

    // An immediate value takes a receive, though the data goes elsewhere.
    ibv_recv_wr second{}, first{.wr_id = 1, .next = &second, .sg_list = nullptr, .num_sge = 0}, *bad = nullptr;
    expect(ibv_post_recv(target.qp, &first, &bad) == 0, "post receives");
    write(writer, target, "written by the other side", target.mr->rkey, 7);
    std::printf("writer: %s\n", verbs.wc_status_str(completion(writer).status));
    const ibv_wc arrived = completion(target);
    std::printf("target: %s, %u bytes, immediate %u: %s\n", verbs.wc_status_str(arrived.status), arrived.byte_len,
                ntohl(arrived.imm_data), target.memory.data());

    // A key that nobody has: the target's memory stays as it is, and the queue pair ends in an error.
    write(writer, target, "never seen", target.mr->rkey + 1, 8);
    std::printf("writer: %s\n", verbs.wc_status_str(completion(writer).status));
    std::printf("target still has: %s\n", target.memory.data());
    close(verbs, writer);
    close(verbs, target);
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
