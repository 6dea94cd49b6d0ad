#include "hca/conformance/bed.hpp"

#include <arpa/inet.h>
#include <poll.h>

#include <cstring>

namespace loom::conformance {

ibv_qp_state Node::state() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &init), 0);
    return attributes.qp_state;
}

Work::Work(ibv_wr_opcode opcode, std::uint64_t id, std::vector<ibv_sge> pieces) : list(std::move(pieces)) {
    request.opcode = opcode;
    request.wr_id = id;
    request.send_flags = IBV_SEND_SIGNALED;
}

Work& Work::to(std::uint64_t address, std::uint32_t rkey) {
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    return *this;
}

Work& Work::to(const Buffer& target, std::size_t offset) {
    return to(target.address(offset), target.mr->rkey);
}

Work& Work::atomic(std::uint64_t address, std::uint32_t rkey, std::uint64_t compare_add, std::uint64_t swap) {
    request.wr.atomic.remote_addr = address;
    request.wr.atomic.rkey = rkey;
    request.wr.atomic.compare_add = compare_add;
    request.wr.atomic.swap = swap;
    return *this;
}

Work& Work::immediate(std::uint32_t value) {
    request.imm_data = htonl(value);
    return *this;
}

Work& Work::datagram(ibv_ah* ah, std::uint32_t qpn, std::uint32_t key) {
    request.wr.ud.ah = ah;
    request.wr.ud.remote_qpn = qpn;
    request.wr.ud.remote_qkey = key;
    return *this;
}

Work& Work::flags(unsigned flags) {
    request.send_flags = flags;
    return *this;
}

int Work::post(const Node& node) {
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_send_wr* bad = nullptr;
    const int result = ibv_post_send(node.qp.get(), &request, &bad);
    EXPECT_TRUE(result == 0 || bad == &request) << "the refused request is named";
    return result;
}

Bed::Bed() {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    if (list == nullptr || count == 0) throw std::runtime_error("no verbs device");
    context.reset(ibv_open_device(list[0]));
    ibv_free_device_list(list);
    if (!context) throw std::runtime_error("the device does not open");
    pd.reset(ibv_alloc_pd(context.get()));
    if (!pd || ibv_query_device(context.get(), &device) != 0 || ibv_query_port(context.get(), port_number, &port) != 0)
        throw std::runtime_error("the device does not answer");
}

Buffer make_buffer(ibv_pd* pd, std::size_t size, std::uint8_t value, int access) {
    Buffer result;
    result.bytes.assign(size, value);
    result.mr.reset(ibv_reg_mr(pd, result.bytes.data(), size, access));
    if (!result.mr) throw std::runtime_error(std::string("ibv_reg_mr: ") + std::strerror(errno));
    return result;
}

Node make_node(ibv_pd* pd, const NodeOptions& options, std::uint32_t psn) {
    Node result;
    result.send_cq.reset(ibv_create_cq(pd->context, options.cqe, nullptr, options.channel, 0));
    result.recv_cq.reset(ibv_create_cq(pd->context, options.cqe, nullptr, options.channel, 0));
    ibv_qp_init_attr attributes{};
    attributes.qp_type = options.type;
    attributes.send_cq = result.send_cq.get();
    attributes.recv_cq = result.recv_cq.get();
    attributes.srq = options.srq;
    attributes.sq_sig_all = options.signal_all ? 1 : 0;
    attributes.cap = {options.send_wr, options.srq != nullptr ? 0 : options.recv_wr, options.sge, options.sge,
                      options.inline_data};
    result.qp.reset(ibv_create_qp(pd, &attributes));
    if (!result.qp) throw std::runtime_error(std::string("ibv_create_qp: ") + std::strerror(errno));
    result.cap = attributes.cap;
    result.psn = psn & 0xffffff;
    return result;
}

Buffer Bed::buffer(std::size_t size, std::uint8_t value, int access, ibv_pd* of) {
    return make_buffer(of != nullptr ? of : pd.get(), size, value, access);
}

Node Bed::node(const NodeOptions& options) {
    return make_node(options.pd != nullptr ? options.pd : pd.get(), options, next_psn_++);
}

void Bed::connect(Node& a, Node& b, const Tuning& tuning) {
    const ibv_qp_type type = a.qp->qp_type;
    for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
        ASSERT_EQ(to_init(*one, type, tuning.access), 0);
        ASSERT_EQ(to_rtr(*one, type, path(), other->qp->qp_num, other->psn, tuning), 0);
        ASSERT_EQ(to_rts(*one, type, tuning), 0);
        if (one == other) break;
    }
}

void Bed::ready(Node& node) {
    ASSERT_EQ(to_init(node, IBV_QPT_UD), 0);
    ASSERT_EQ(to_state(node, IBV_QPS_RTR), 0);
    ASSERT_EQ(to_rts(node, IBV_QPT_UD), 0);
}

ibv_ah_attr Bed::path() const {
    ibv_ah_attr result{};
    result.dlid = port.lid;
    result.port_num = port_number;
    return result;
}

Ah Bed::address_handle() {
    ibv_ah_attr attributes = path();
    return Ah(ibv_create_ah(pd.get(), &attributes));
}

int to_init(const Node& node, ibv_qp_type type, unsigned access) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port_number;
    attributes.qp_access_flags = type == IBV_QPT_UC ? access & IBV_ACCESS_REMOTE_WRITE : access;
    attributes.qkey = qkey;
    return ibv_modify_qp(
        node.qp.get(), &attributes,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int to_rtr(const Node& node, ibv_qp_type type, const ibv_ah_attr& path, std::uint32_t dest_qpn, std::uint32_t psn,
           const Tuning& tuning) {
    if (type == IBV_QPT_UD) return to_state(node, IBV_QPS_RTR);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.ah_attr = path;
    attributes.path_mtu = tuning.mtu;
    attributes.dest_qp_num = dest_qpn;
    attributes.rq_psn = psn;
    attributes.max_dest_rd_atomic = tuning.reads_served;
    attributes.min_rnr_timer = tuning.rnr_timer;
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(node.qp.get(), &attributes, mask);
}

int to_rts(const Node& node, ibv_qp_type type, const Tuning& tuning) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = node.psn;
    attributes.timeout = tuning.timeout;
    attributes.retry_cnt = tuning.retry;
    attributes.rnr_retry = tuning.rnr_retry;
    attributes.max_rd_atomic = tuning.reads;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (type == IBV_QPT_RC) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(node.qp.get(), &attributes, mask);
}

int to_state(const Node& node, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    return ibv_modify_qp(node.qp.get(), &attributes, IBV_QP_STATE);
}

int post_receive(const Node& node, std::uint64_t id, std::vector<ibv_sge> list) {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(node.qp.get(), &request, &bad);
}

int post_receive(ibv_srq* srq, std::uint64_t id, std::vector<ibv_sge> list) {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(srq, &request, &bad);
}

bool poll(const Cq& cq, ibv_wc& wc) {
    const int count = ibv_poll_cq(cq.get(), 1, &wc);
    EXPECT_GE(count, 0);
    return count == 1;
}

ibv_wc next(const Cq& cq) {
    ibv_wc wc{};
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!poll(cq, wc)) {
        if (std::chrono::steady_clock::now() < deadline) continue;
        ADD_FAILURE() << "no completion";
        wc.wr_id = ~std::uint64_t{0};
        wc.status = IBV_WC_GENERAL_ERR;
        break;
    }
    return wc;
}

bool stays_empty(const Cq& cq) {
    ibv_wc wc{};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < deadline)
        if (poll(cq, wc)) return false;
    return true;
}

bool has_event(int descriptor, std::chrono::milliseconds limit) {
    pollfd waiting{descriptor, POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(limit.count())) == 1;
}

ibv_async_event next_event(const Context& context) {
    ibv_async_event event{};
    if (!has_event(context->async_fd, patience)) {
        ADD_FAILURE() << "no asynchronous event";
        return event;
    }
    EXPECT_EQ(ibv_get_async_event(context.get(), &event), 0);
    ibv_ack_async_event(&event);
    return event;
}

std::string name(ibv_qp_type type) {
    return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

}  // namespace loom::conformance
