#include "hca/kit/endpoint.hpp"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hca/kit/pattern.hpp"
#include "loom/base/error.hpp"

namespace loom::kit {
namespace {

constexpr std::uint8_t port_number = 1;
constexpr std::uint32_t qkey = 0x11111111;

[[noreturn]] void refuse(const std::string& what, int why = errno) {
    throw Error(what + ": " + std::strerror(why));
}

template <class Pointer>
Pointer got(Pointer pointer, const char* what) {
    if (!pointer) refuse(what);
    return pointer;
}

ibv_qp_type type_of(Transport transport) {
    return transport == Transport::rc ? IBV_QPT_RC : transport == Transport::uc ? IBV_QPT_UC : IBV_QPT_UD;
}

ibv_wr_opcode opcode_of(Operation operation) {
    switch (operation) {
        case Operation::send:
            return IBV_WR_SEND;
        case Operation::send_imm:
            return IBV_WR_SEND_WITH_IMM;
        case Operation::write:
            return IBV_WR_RDMA_WRITE;
        case Operation::write_imm:
            return IBV_WR_RDMA_WRITE_WITH_IMM;
        case Operation::read:
            return IBV_WR_RDMA_READ;
        case Operation::cas:
            return IBV_WR_ATOMIC_CMP_AND_SWP;
        case Operation::fadd:
            return IBV_WR_ATOMIC_FETCH_AND_ADD;
    }
    return IBV_WR_SEND;
}

}  // namespace

std::string Address::text() const {
    char line[256];
    int at = std::snprintf(line, sizeof line, "%u %u %u %llu %u ", unsigned{lid}, qpn, psn,
                           static_cast<unsigned long long>(base), rkey);
    for (const std::uint8_t byte : gid.raw)
        at += std::snprintf(line + at, sizeof line - static_cast<std::size_t>(at), "%02x", byte);
    return line;
}

Address Address::parse(const std::string& text) {
    Address address;
    unsigned lid = 0;
    unsigned long long base = 0;
    char gid[33] = {};
    if (std::sscanf(text.c_str(), "%u %u %u %llu %u %32s", &lid, &address.qpn, &address.psn, &base, &address.rkey,
                    gid) != 6 ||
        std::strlen(gid) != 32)
        throw Error("expected the other side's address, not '" + text + "'");
    address.lid = static_cast<std::uint16_t>(lid);
    address.base = base;
    for (std::size_t i = 0; i < 16; ++i)
        address.gid.raw[i] = static_cast<std::uint8_t>(std::stoul(std::string(gid + 2 * i, 2), nullptr, 16));
    return address;
}

Endpoint::Endpoint(const Options& options) : options_(options) {
    open(options.device);
    if (const int why = ibv_query_port(context_.get(), port_number, &port_)) refuse("ibv_query_port", why);
    if (options.gid_index >= 0 && ibv_query_gid(context_.get(), port_number, options.gid_index, &gid_) != 0)
        refuse("ibv_query_gid");
    mtu_ = port_.active_mtu;
    while (mtu_ > IBV_MTU_256 && mtu_bytes() > static_cast<std::size_t>(options.mtu))
        mtu_ = static_cast<ibv_mtu>(mtu_ - 1);
    pd_.reset(got(ibv_alloc_pd(context_.get()), "ibv_alloc_pd"));
    const int entries = static_cast<int>(options.depth) + 1;
    send_ = make_queue(entries);
    receive_ = make_queue(entries);
    if (options.srq) {
        ibv_srq_init_attr attributes{};
        attributes.attr.max_wr = static_cast<std::uint32_t>(options.depth);
        attributes.attr.max_sge = static_cast<std::uint32_t>(options.sge);
        srq_.reset(got(ibv_create_srq(pd_.get(), &attributes), "ibv_create_srq"));
    }
    make_qp();
    psn_ = static_cast<std::uint32_t>(mixed(options.seed ^ qp_->qp_num)) & 0xffffff;
}

void Endpoint::open(const std::string& name) {
    int count = 0;
    ibv_device** list = got(ibv_get_device_list(&count), "ibv_get_device_list");
    for (int i = 0; i < count && !context_; ++i)
        if (name.empty() || name == ibv_get_device_name(list[i])) context_.reset(ibv_open_device(list[i]));
    ibv_free_device_list(list);
    if (!context_) throw Error(name.empty() ? "there is no verbs device" : "there is no verbs device " + name);
}

Endpoint::Completions Endpoint::make_queue(int entries) const {
    Completions queue;
    if (options_.events) queue.channel.reset(got(ibv_create_comp_channel(context_.get()), "ibv_create_comp_channel"));
    if (options_.extended) {
        ibv_cq_init_attr_ex attributes{};
        attributes.cqe = static_cast<std::uint32_t>(entries);
        attributes.channel = queue.channel.get();
        attributes.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM;
        queue.extended = got(ibv_create_cq_ex(context_.get(), &attributes), "ibv_create_cq_ex");
        queue.cq.reset(ibv_cq_ex_to_cq(queue.extended));
    } else {
        queue.cq.reset(got(ibv_create_cq(context_.get(), entries, nullptr, queue.channel.get(), 0), "ibv_create_cq"));
    }
    return queue;
}

void Endpoint::make_qp() {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = type_of(options_.transport);
    attributes.send_cq = send_.cq.get();
    attributes.recv_cq = receive_.cq.get();
    attributes.srq = srq_.get();
    attributes.cap.max_send_wr = static_cast<std::uint32_t>(options_.depth);
    attributes.cap.max_recv_wr = srq_ ? 0 : static_cast<std::uint32_t>(options_.depth);
    attributes.cap.max_send_sge = static_cast<std::uint32_t>(options_.sge);
    attributes.cap.max_recv_sge = static_cast<std::uint32_t>(options_.sge);
    attributes.cap.max_inline_data = options_.inline_data ? 64 : 0;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd_.get();
    if (options_.extended) {
        attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
        if (options_.transport != Transport::ud)
            attributes.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
        if (options_.transport == Transport::rc)
            attributes.send_ops_flags |=
                IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
        qp_.reset(got(ibv_create_qp_ex(context_.get(), &attributes), "ibv_create_qp_ex"));
        max_inline_ = attributes.cap.max_inline_data;
    } else {
        ibv_qp_init_attr plain{};
        plain.qp_type = attributes.qp_type;
        plain.send_cq = attributes.send_cq;
        plain.recv_cq = attributes.recv_cq;
        plain.srq = attributes.srq;
        plain.cap = attributes.cap;
        qp_.reset(got(ibv_create_qp(pd_.get(), &plain), "ibv_create_qp"));
        max_inline_ = plain.cap.max_inline_data;
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = port_number;
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (options_.transport == Transport::ud) {
        attr.qkey = qkey;
        mask |= IBV_QP_QKEY;
    } else {
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        if (options_.transport == Transport::rc)
            attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    modify(attr, mask, "INIT");
}

Memory Endpoint::register_memory(std::span<std::uint8_t> bytes, int access) {
    return Memory(got(ibv_reg_mr(pd_.get(), bytes.data(), bytes.size(), access), "ibv_reg_mr"));
}

Address Endpoint::address() const {
    Address result;
    result.lid = port_.lid;
    result.qpn = qp_->qp_num;
    result.psn = psn_;
    result.gid = gid_;
    return result;
}

ibv_ah_attr Endpoint::path_to(const Address& peer) const {
    ibv_ah_attr path{};
    path.port_num = port_number;
    path.dlid = peer.lid;
    if (options_.gid_index >= 0) {
        path.is_global = 1;
        path.grh.dgid = peer.gid;
        path.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
        path.grh.hop_limit = 64;
    }
    return path;
}

void Endpoint::modify(ibv_qp_attr attributes, int mask, const char* to) const {
    if (const int why = ibv_modify_qp(qp_.get(), &attributes, mask)) refuse(std::string("ibv_modify_qp to ") + to, why);
}

void Endpoint::connect(const Address& peer) {
    remote_qpn_ = peer.qpn;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    int mask = IBV_QP_STATE;
    if (options_.transport == Transport::ud) {
        ibv_ah_attr path = path_to(peer);
        ah_.reset(got(ibv_create_ah(pd_.get(), &path), "ibv_create_ah"));
    } else {
        attr.path_mtu = mtu_;
        attr.dest_qp_num = peer.qpn;
        attr.rq_psn = peer.psn;
        attr.ah_attr = path_to(peer);
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (options_.transport == Transport::rc) {
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = 6;  // 0.08 ms
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    modify(attr, mask, "RTR");
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = psn_;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (options_.transport == Transport::rc) {
        attr.timeout = static_cast<std::uint8_t>(options_.timeout);
        attr.retry_cnt = 7;
        attr.rnr_retry = 7;
        attr.max_rd_atomic = 4;
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    modify(attr, mask, "RTS");
}

void Endpoint::post_receive(std::uint64_t id, std::span<ibv_sge> list) {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    const int why = srq_ ? ibv_post_srq_recv(srq_.get(), &request, &bad) : ibv_post_recv(qp_.get(), &request, &bad);
    if (why != 0) refuse("posting a receive", why);
}

void Endpoint::post(const Request& request) {
    if (options_.extended)
        post_extended(request);
    else
        post_plain(request);
}

void Endpoint::post_plain(const Request& request) {
    ibv_send_wr work{};
    work.wr_id = request.id;
    work.sg_list = request.list.data();
    work.num_sge = static_cast<int>(request.list.size());
    work.opcode = opcode_of(request.operation);
    work.send_flags = (request.signalled ? unsigned{IBV_SEND_SIGNALED} : 0u) |
                      (request.inline_data ? unsigned{IBV_SEND_INLINE} : 0u) | unsigned{IBV_SEND_SOLICITED};
    work.imm_data = htonl(request.imm);
    if (options_.transport == Transport::ud) {
        work.wr.ud.ah = ah_.get();
        work.wr.ud.remote_qpn = remote_qpn_;
        work.wr.ud.remote_qkey = qkey;
    } else if (request.operation == Operation::cas || request.operation == Operation::fadd) {
        work.wr.atomic.remote_addr = request.remote;
        work.wr.atomic.rkey = request.rkey;
        work.wr.atomic.compare_add = request.compare_or_add;
        work.wr.atomic.swap = request.swap;
    } else {
        work.wr.rdma.remote_addr = request.remote;
        work.wr.rdma.rkey = request.rkey;
    }
    ibv_send_wr* bad = nullptr;
    if (const int why = ibv_post_send(qp_.get(), &work, &bad)) refuse("ibv_post_send", why);
}

void Endpoint::post_extended(const Request& request) {
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(qp_.get());
    ibv_wr_start(qp);
    qp->wr_id = request.id;
    qp->wr_flags = (request.signalled ? unsigned{IBV_SEND_SIGNALED} : 0u) | unsigned{IBV_SEND_SOLICITED} |
                   (request.inline_data ? unsigned{IBV_SEND_INLINE} : 0u);
    switch (request.operation) {
        case Operation::send:
            ibv_wr_send(qp);
            break;
        case Operation::send_imm:
            ibv_wr_send_imm(qp, htonl(request.imm));
            break;
        case Operation::write:
            ibv_wr_rdma_write(qp, request.rkey, request.remote);
            break;
        case Operation::write_imm:
            ibv_wr_rdma_write_imm(qp, request.rkey, request.remote, htonl(request.imm));
            break;
        case Operation::read:
            ibv_wr_rdma_read(qp, request.rkey, request.remote);
            break;
        case Operation::cas:
            ibv_wr_atomic_cmp_swp(qp, request.rkey, request.remote, request.compare_or_add, request.swap);
            break;
        case Operation::fadd:
            ibv_wr_atomic_fetch_add(qp, request.rkey, request.remote, request.compare_or_add);
            break;
    }
    if (options_.transport == Transport::ud) ibv_wr_set_ud_addr(qp, ah_.get(), remote_qpn_, qkey);
    if (request.inline_data) {
        std::vector<ibv_data_buf> buffers;
        for (const ibv_sge& piece : request.list)
            buffers.push_back({reinterpret_cast<void*>(piece.addr), piece.length});
        if (buffers.size() == 1)
            ibv_wr_set_inline_data(qp, buffers[0].addr, buffers[0].length);
        else
            ibv_wr_set_inline_data_list(qp, buffers.size(), buffers.data());
    } else if (request.list.size() == 1) {
        ibv_wr_set_sge(qp, request.list[0].lkey, request.list[0].addr, request.list[0].length);
    } else {
        ibv_wr_set_sge_list(qp, request.list.size(), request.list.data());
    }
    if (const int why = ibv_wr_complete(qp)) refuse("ibv_wr_complete", why);
}

bool Endpoint::poll(Completions& queue) const {
    const std::size_t before = queue.waiting.size();
    if (queue.extended != nullptr) {
        ibv_poll_cq_attr attributes{};
        int result = ibv_start_poll(queue.extended, &attributes);
        if (result == ENOENT) return false;
        while (result == 0) {
            ibv_cq_ex* cq = queue.extended;
            Completion done;
            done.wr_id = cq->wr_id;
            done.status = cq->status;
            if (done.status == IBV_WC_SUCCESS) {
                done.opcode = ibv_wc_read_opcode(cq);
                done.byte_len = ibv_wc_read_byte_len(cq);
                done.flags = ibv_wc_read_wc_flags(cq);
                if ((done.flags & IBV_WC_WITH_IMM) != 0) done.imm = ntohl(ibv_wc_read_imm_data(cq));
            }
            done.qp_num = ibv_wc_read_qp_num(cq);
            queue.waiting.push_back(done);
            result = ibv_next_poll(cq);
        }
        ibv_end_poll(queue.extended);
        if (result != ENOENT) refuse("ibv_next_poll", result);
    } else {
        ibv_wc done[8];
        int count = 0;
        while ((count = ibv_poll_cq(queue.cq.get(), 8, done)) > 0)
            for (int i = 0; i < count; ++i)
                queue.waiting.push_back({done[i].wr_id, done[i].status, done[i].opcode, done[i].byte_len,
                                         ntohl(done[i].imm_data), done[i].wc_flags, done[i].qp_num});
        if (count < 0) refuse("ibv_poll_cq", -count);
    }
    return queue.waiting.size() > before;
}

std::vector<Completion> Endpoint::wait(Queue which, std::size_t count, std::chrono::duration<double> patience,
                                       Shortfall shortfall) {
    using Clock = std::chrono::steady_clock;
    Completions& queue = which == Queue::send ? send_ : receive_;
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
    while (queue.waiting.size() < count) {
        if (poll(queue)) continue;
        if (Clock::now() > deadline) {
            if (shortfall == Shortfall::is_returned) break;
            throw Error("only " + std::to_string(queue.waiting.size()) + " of " + std::to_string(count) +
                        (which == Queue::send ? " sends" : " receives") + " completed in time");
        }
        if (!queue.channel) continue;
        if (const int why = ibv_req_notify_cq(queue.cq.get(), 0)) refuse("ibv_req_notify_cq", why);
        if (poll(queue)) continue;
        pollfd event{queue.channel->fd, POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)) + 1) != 1) continue;
        ibv_cq* cq = nullptr;
        void* context = nullptr;
        if (ibv_get_cq_event(queue.channel.get(), &cq, &context) != 0) refuse("ibv_get_cq_event");
        if (cq != queue.cq.get()) throw Error("an event of another completion queue");
        ibv_ack_cq_events(cq, 1);
    }
    std::vector<Completion> result = std::move(queue.waiting);
    queue.waiting.clear();
    if (result.size() > count) throw Error("more completions than requests");
    return result;
}

}  // namespace loom::kit
