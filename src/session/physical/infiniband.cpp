#include "session/physical/infiniband.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "loom/base/error.hpp"

namespace loom::session {

namespace {

constexpr std::uint8_t port_number = 1;
constexpr std::uint64_t receive_bit = std::uint64_t{1} << 32;  // in the id of a request, beside its block

[[noreturn]] void refuse(const std::string& what, int error) {
    throw Error(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

template <class Object>
Object* made(const char* what, Object* object) {
    if (object == nullptr) refuse(what, errno);
    return object;
}

}  // namespace

Adapter::Adapter(const BlockPlan& plan)
    : verbs_(verbs::adapter().functions),
      plan_(plan),
      region_(std::size_t{2} * plan.count * plan.bytes),
      blocks_(plan.count) {
    try {
        make(plan);
    } catch (...) {
        release();
        throw;
    }
}

Adapter::~Adapter() {
    release();
}

void Adapter::make(const BlockPlan& plan) {
    open_device();
    domain_ = made("make a protection domain", verbs_.alloc_pd(context_));
    registration_ = made("register memory",
                         verbs_.reg_mr(domain_, region_.data(), region_.size(),
                                       reinterpret_cast<std::uintptr_t>(region_.data()), IBV_ACCESS_LOCAL_WRITE));
    channel_ = made("make a completion channel", verbs_.create_comp_channel(context_));
    if (fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0)
        refuse("set up a completion channel", errno);
    const int entries = static_cast<int>(2 * plan.count + 16);  // every block, and the two last requests
    queue_ = made("make a completion queue", verbs_.create_cq(context_, entries, nullptr, channel_, 0));
    ibv_srq_init_attr shared{};
    shared.attr = {plan.count, 1, 0};
    receives_ = made("make a receive queue", verbs_.create_srq(domain_, &shared));
    reliable_ = make_queue_pair(IBV_QPT_RC);
    unreliable_ = make_queue_pair(IBV_QPT_UC);
    own_.reliable = reliable_->qp_num;
    own_.unreliable = unreliable_->qp_num;
    own_.reliable_psn = random_number() & 0xffffff;
    own_.unreliable_psn = random_number() & 0xffffff;
    own_.block_bytes = plan.bytes;
    own_.rkey = registration_->rkey;
    for (std::uint32_t block = 0; block < plan.count; ++block) post_receive(plan.count + block);
}

void Adapter::open_device() {
    int count = 0;
    ibv_device** const list = made("list devices", verbs_.get_device_list(&count));
    std::string why = "there is no InfiniBand device";
    for (int i = 0; i < count && context_ == nullptr; ++i) {
        ibv_context* const context = verbs_.open_device(list[i]);
        if (context == nullptr) continue;
        ibv_port_attr port{};
        ibv_gid gid{};
        if (verbs_get_ctx(context)->query_port(context, port_number, &port, sizeof port) == 0 &&
            port.state == IBV_PORT_ACTIVE && verbs_.query_gid(context, port_number, 0, &gid) == 0) {
            context_ = context;
            device_ = list[i]->name;
            own_.lid = port.lid;
            own_.mtu = static_cast<std::uint8_t>(port.active_mtu);
            own_.link = port.link_layer == IBV_LINK_LAYER_ETHERNET ? Link::ethernet
                        : verbs::adapter().soft                    ? Link::host
                                                                   : Link::infiniband;
            std::memcpy(own_.gid.data(), gid.raw, own_.gid.size());
        } else {
            verbs_.close_device(context);
            why = "no InfiniBand device has an active port";
        }
    }
    verbs_.free_device_list(list);
    if (context_ == nullptr) throw Error(why);
}

ibv_qp* Adapter::make_queue_pair(ibv_qp_type type) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = queue_;
    attr.srq = receives_;
    attr.cap = {plan_.count, 0, 1, 0, 0};
    attr.qp_type = type;
    attr.sq_sig_all = 1;
    return made("make a queue pair", verbs_.create_qp(domain_, &attr));
}

void Adapter::release() {
    if (reliable_ != nullptr) verbs_.destroy_qp(reliable_);
    if (unreliable_ != nullptr) verbs_.destroy_qp(unreliable_);
    if (receives_ != nullptr) verbs_.destroy_srq(receives_);
    if (queue_ != nullptr) verbs_.destroy_cq(queue_);
    if (channel_ != nullptr) verbs_.destroy_comp_channel(channel_);
    if (registration_ != nullptr) verbs_.dereg_mr(registration_);
    if (domain_ != nullptr) verbs_.dealloc_pd(domain_);
    if (context_ != nullptr) verbs_.close_device(context_);
}

void Adapter::connect(const QueuePairs& peer) {
    connect(reliable_, IBV_QPT_RC, peer.reliable, own_.reliable_psn, peer.reliable_psn, peer);
    connect(unreliable_, IBV_QPT_UC, peer.unreliable, own_.unreliable_psn, peer.unreliable_psn, peer);
}

void Adapter::connect(ibv_qp* pair, ibv_qp_type type, std::uint32_t peer, std::uint32_t own_psn, std::uint32_t peer_psn,
                      const QueuePairs& other) {
    const auto modify = [&](ibv_qp_attr& attr, ibv_qp_state state, int mask) {
        attr.qp_state = state;
        const int error = verbs_.modify_qp(pair, &attr, mask | IBV_QP_STATE);
        if (error != 0) refuse("connect a queue pair", error);
    };
    const bool reliable = type == IBV_QPT_RC;
    ibv_qp_attr attr{};
    attr.port_num = port_number;
    modify(attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = {};
    attr.path_mtu = static_cast<ibv_mtu>(std::clamp<int>(std::min(own_.mtu, other.mtu), IBV_MTU_256, IBV_MTU_4096));
    attr.dest_qp_num = peer;
    attr.rq_psn = peer_psn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.port_num = port_number;
    attr.ah_attr.dlid = other.lid;
    attr.ah_attr.is_global = own_.link == Link::ethernet ? 1 : 0;
    std::memcpy(attr.ah_attr.grh.dgid.raw, other.gid.data(), other.gid.size());
    attr.ah_attr.grh.hop_limit = 64;
    modify(attr, IBV_QPS_RTR,
           IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    attr = {};
    attr.sq_psn = own_psn;
    attr.timeout = 12;  // 17 ms, eight times
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    modify(attr, IBV_QPS_RTS,
           IBV_QP_SQ_PSN |
               (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

void Adapter::post_receive(std::uint32_t block) {
    ibv_sge part{reinterpret_cast<std::uintptr_t>(memory(block)), plan_.bytes, registration_->lkey};
    ibv_recv_wr request{}, *bad = nullptr;
    request.wr_id = receive_bit | block;
    request.sg_list = &part;
    request.num_sge = 1;
    if (const int error = ibv_post_srq_recv(receives_, &request, &bad); error != 0)
        fail(fmt::format("a receive cannot be posted: {}", std::strerror(error)));
}

std::span<std::byte> Adapter::block() {
    if (!failure_.empty()) return {};
    if (!blocks_.any()) take_completions();
    if (!blocks_.any()) return {};
    return {memory(blocks_.head()), plan_.bytes};
}

void Adapter::push(std::size_t bytes, Scheme scheme) {
    const std::uint32_t block = blocks_.head();
    ibv_sge part{reinterpret_cast<std::uintptr_t>(memory(block)), static_cast<std::uint32_t>(bytes),
                 registration_->lkey};
    ibv_send_wr request{}, *bad = nullptr;
    request.wr_id = block;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    const int error = ibv_post_send(scheme == Scheme::synchronous ? reliable_ : unreliable_, &request, &bad);
    if (error != 0) return fail(fmt::format("a send cannot be posted: {}", std::strerror(error)));
    blocks_.take();
}

void Adapter::take_completions() {
    std::array<ibv_wc, 32> completions;
    for (;;) {
        const int count = ibv_poll_cq(queue_, static_cast<int>(completions.size()), completions.data());
        if (count < 0) return fail("the completion queue cannot be read");
        for (int i = 0; i < count; ++i) {
            const ibv_wc& each = completions[static_cast<std::size_t>(i)];
            const auto block = static_cast<std::uint32_t>(each.wr_id);
            if (each.status != IBV_WC_SUCCESS) {
                fail(fmt::format("a request on {} has failed: {}", device_, verbs_.wc_status_str(each.status)));
                return;
            }
            if ((each.wr_id & receive_bit) != 0)
                arrived_.push_back({block, each.byte_len});
            else
                blocks_.put(block);
        }
        if (count < static_cast<int>(completions.size())) return;
    }
}

std::span<std::byte> Adapter::pop() {
    if (in_hand_) post_receive(*std::exchange(in_hand_, std::nullopt));
    if (arrived_.empty() && failure_.empty()) take_completions();
    if (arrived_.empty()) return {};
    const Arrived next = arrived_.front();
    arrived_.pop_front();
    in_hand_ = next.block;
    return {memory(next.block), next.bytes};
}

void Adapter::fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
}

void Adapter::arm() {
    if (failure_.empty() && ibv_req_notify_cq(queue_, 0) != 0) fail("the completion queue cannot be armed");
}

void Adapter::drain_events() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    unsigned events = 0;
    while (verbs_.get_cq_event(channel_, &queue, &context) == 0) ++events;
    if (events > 0) verbs_.ack_cq_events(queue_, events);
}

void InfiniBand::remake() {
    adapter_.reset();
    adapter_ = std::make_unique<Adapter>(plan_);
    own_ = adapter_->own();
    given_up_ = "the queue pairs are not connected";
}

void InfiniBand::connect(const QueuePairs& peer) {
    if (!adapter_) throw Error("there is no adapter");
    adapter_->connect(peer);
    given_up_.clear();
}

void InfiniBand::give_up(const std::string& why) {
    given_up_ = failure().empty() ? why : failure();
    adapter_.reset();
}

}  // namespace loom::session
