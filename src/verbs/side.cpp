#include "verbs/side.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "loom/base/error.hpp"
#include "loom/verbs/functions.hpp"

namespace loom::verbs {

namespace {

constexpr int depth = 128;
constexpr std::chrono::seconds patience{20};

[[noreturn]] void fail(const std::string& what, int error) {
    throw IoError(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

void check(const char* what, int error) {
    if (error != 0) fail(what, error);
}

template <class Object>
Object* made(const char* what, Object* object) {
    if (object == nullptr) fail(what, errno);
    return object;
}

void write_all(int fd, const void* data, std::size_t size) {
    if (write(fd, data, size) != static_cast<ssize_t>(size)) throw IoError("the other process is gone");
}

void read_all(int fd, void* data, std::size_t size) {
    for (auto* at = static_cast<char*>(data); size > 0;) {
        pollfd ready{fd, POLLIN, 0};
        const int limit = static_cast<int>(std::chrono::milliseconds(patience).count());
        if (::poll(&ready, 1, limit) == 0) throw IoError("the other process does not answer");
        const ssize_t got = read(fd, at, size);
        if (got <= 0) throw IoError("the other process is gone");
        at += got;
        size -= static_cast<std::size_t>(got);
    }
}

}  // namespace

Side::Side(const Functions& verbs, std::size_t device, std::size_t bytes, int socket)
    : verbs_(verbs), socket_(socket), memory_(bytes) {
    open(device);
    pd_ = made("make a protection domain", verbs_.alloc_pd(context_));
    constexpr unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    own_.memory = reinterpret_cast<std::uintptr_t>(memory_.data());
    mr_ = made("register memory", verbs_.reg_mr(pd_, memory_.data(), bytes, own_.memory, access));
    cq_ = made("make a completion queue", verbs_.create_cq(context_, 2 * depth, nullptr, nullptr, 0));
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq_;
    attr.cap = {depth, depth, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    qp_ = made("make a queue pair", verbs_.create_qp(pd_, &attr));
    own_.qpn = qp_->qp_num;
    own_.rkey = mr_->rkey;
}

Side::~Side() {
    if (qp_ != nullptr) verbs_.destroy_qp(qp_);
    if (cq_ != nullptr) verbs_.destroy_cq(cq_);
    if (mr_ != nullptr) verbs_.dereg_mr(mr_);
    if (pd_ != nullptr) verbs_.dealloc_pd(pd_);
    if (context_ != nullptr) verbs_.close_device(context_);
}

void Side::open(std::size_t device) {
    int count = 0;
    ibv_device** const list = made("list devices", verbs_.get_device_list(&count));
    if (device >= static_cast<std::size_t>(count)) throw UsageError("expected two HCAs or more, found fewer");
    device_ = list[device]->name;
    context_ = verbs_.open_device(list[device]);
    const int error = errno;
    verbs_.free_device_list(list);
    if (context_ == nullptr) fail("open " + device_, error);
    ibv_port_attr port{};
    check("query the port", verbs_get_ctx(context_)->query_port(context_, 1, &port, sizeof port));
    check("query the GID", verbs_.query_gid(context_, 1, 0, &own_.gid) == 0 ? 0 : errno);
    own_.lid = port.lid;
    own_.mtu = port.active_mtu;
    ethernet_ = port.link_layer == IBV_LINK_LAYER_ETHERNET;
}

void Side::modify(ibv_qp_attr& attr, ibv_qp_state state, int mask) {
    attr.qp_state = state;
    check("connect the queue pair", verbs_.modify_qp(qp_, &attr, mask | IBV_QP_STATE));
}

void Side::connect() {
    write_all(socket_, &own_, sizeof own_);
    read_all(socket_, &other_, sizeof other_);
    ibv_qp_attr attr{};
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    modify(attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.path_mtu = static_cast<ibv_mtu>(std::min(own_.mtu, other_.mtu));
    attr.dest_qp_num = other_.qpn;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 8;
    attr.min_rnr_timer = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.dlid = static_cast<std::uint16_t>(other_.lid);
    attr.ah_attr.is_global = ethernet_;
    attr.ah_attr.grh.dgid = other_.gid;
    attr.ah_attr.grh.hop_limit = 64;
    modify(attr, IBV_QPS_RTR,
           IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER);
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    modify(attr, IBV_QPS_RTS,
           IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    meet();
}

void Side::post_receive(std::size_t length) {
    ibv_sge sge{own_.memory, static_cast<std::uint32_t>(length), mr_->lkey};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    check("post a receive", ibv_post_recv(qp_, &wr, &bad));
}

void Side::post_send(std::size_t length, std::uint32_t immediate) {
    ibv_sge sge{own_.memory, static_cast<std::uint32_t>(length), mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data = htonl(immediate);
    check("post a send", ibv_post_send(qp_, &wr, &bad));
}

void Side::post_rdma(ibv_wr_opcode opcode, std::size_t length) {
    ibv_sge sge{own_.memory, static_cast<std::uint32_t>(length), mr_->lkey};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = other_.memory;
    wr.wr.rdma.rkey = other_.rkey;
    check("post a request", ibv_post_send(qp_, &wr, &bad));
}

ibv_wc Side::wait() {
    ibv_wc wc{};
    const auto limit = std::chrono::steady_clock::now() + patience;
    for (unsigned polls = 1; ibv_poll_cq(cq_, 1, &wc) == 0; ++polls) {
        if (polls % 64 != 0) continue;
        sched_yield();  // where cores are few, the other side needs this one
        if (std::chrono::steady_clock::now() > limit) throw IoError("no completion came");
    }
    if (wc.status != IBV_WC_SUCCESS)
        throw IoError(fmt::format("a work request failed: {}", verbs_.wc_status_str(wc.status)));
    return wc;
}

void Side::meet() {
    tell(0);
    (void)hear();
}

void Side::tell(std::uint64_t value) {
    write_all(socket_, &value, sizeof value);
}

std::uint64_t Side::hear() {
    std::uint64_t value = 0;
    read_all(socket_, &value, sizeof value);
    return value;
}

}  // namespace loom::verbs
