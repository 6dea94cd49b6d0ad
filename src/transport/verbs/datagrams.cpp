#include "transport/verbs/datagrams.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"

namespace loom::transport {

namespace {

constexpr std::uint32_t receives = 256, sends = 64;
constexpr std::size_t routing_header = 40;  // in front of every datagram that arrives
constexpr std::uint32_t queue_key = 0x10054;

struct Label {
    std::uint64_t job, tag;
    std::uint32_t from, fragment;
};

[[noreturn]] void fail(const char* what) {
    throw Error(std::string("verbs: cannot ") + what + ": " + std::strerror(errno));
}

}  // namespace

Datagrams::Datagrams(const Device& device, Rank me, std::uint64_t job)
    : device_(device), me_(me), job_(job), mtu_(std::size_t{128} << device.address.mtu) {
    const verbs::Functions& f = device_.adapter.functions;
    received_.reset(f.create_cq(device_.context.get(), receives, nullptr, nullptr, 0));
    sent_.reset(f.create_cq(device_.context.get(), sends, nullptr, nullptr, 0));
    if (received_ == nullptr || sent_ == nullptr) fail("create a completion queue");
    ibv_qp_init_attr init{};
    init.send_cq = sent_.get();
    init.recv_cq = received_.get();
    init.cap = {sends, receives, 1, 1, 0};
    init.qp_type = IBV_QPT_UD;
    qp_.reset(f.create_qp(device_.pd.get(), &init));
    if (qp_ == nullptr) fail("create a datagram queue pair");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = queue_key;
    if (f.modify_qp(qp_.get(), &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
        fail("initialise a datagram queue pair");
    attr.qp_state = IBV_QPS_RTR;
    if (f.modify_qp(qp_.get(), &attr, IBV_QP_STATE) != 0) fail("make a datagram queue pair ready");
    attr.qp_state = IBV_QPS_RTS;
    if (f.modify_qp(qp_.get(), &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) fail("make a datagram queue pair ready");
    memory_ = std::make_unique<SharedMemory>(device_, (receives + sends) * (mtu_ + routing_header));
    for (std::uint64_t slot = 0; slot < receives; ++slot) post_receive(slot);

    // A group of our own: transient, link-local scope on InfiniBand, an IPv4 group (239.x) on Ethernet.
    if (device_.address.ethernet != 0) {
        group_.raw[10] = group_.raw[11] = 0xff;
        group_.raw[12] = 239;
        std::memcpy(&group_.raw[13], &job_, 3);
    } else {
        group_.raw[0] = 0xff;
        group_.raw[1] = 0x12;
        std::memcpy(&group_.raw[8], &job_, 8);
    }
    const std::uint16_t lid = static_cast<std::uint16_t>(0xc000 | (job_ & 0x3fff));
    if (const int error = f.attach_mcast(qp_.get(), &group_, lid); error != 0) {
        errno = error;
        fail("join a multicast group");
    }
    ibv_ah_attr where{};
    where.is_global = 1;
    where.grh.dgid = group_;
    where.grh.sgid_index = device_.gid_index;
    where.grh.hop_limit = 1;
    where.dlid = lid;
    where.port_num = 1;
    to_all_.reset(f.create_ah(device_.pd.get(), &where));
    if (to_all_ == nullptr) fail("address a multicast group");
}

Datagrams::~Datagrams() {
    const std::uint16_t lid = static_cast<std::uint16_t>(0xc000 | (job_ & 0x3fff));
    device_.adapter.functions.detach_mcast(qp_.get(), &group_, lid);
}

std::size_t Datagrams::largest() const {
    return mtu_ - sizeof(Label);
}

void Datagrams::listen(Heard heard, void* owner) {
    heard_ = heard;
    owner_ = owner;
}

void Datagrams::post_receive(std::uint64_t slot) {
    std::byte* const room = memory_->bytes().data() + slot * (mtu_ + routing_header);
    ibv_sge piece{reinterpret_cast<std::uint64_t>(room), static_cast<std::uint32_t>(mtu_ + routing_header),
                  memory_->mr().lkey};
    ibv_recv_wr request{}, *bad = nullptr;
    request.wr_id = slot;
    request.sg_list = &piece;
    request.num_sge = 1;
    if (ibv_post_recv(qp_.get(), &request, &bad) != 0) fail("post a receive");
}

void Datagrams::send(Tag tag, std::uint32_t fragment, std::span<const std::byte> data) {
    if (data.size() > largest())
        throw UsageError("a datagram of " + std::to_string(data.size()) + " bytes is too long");
    ibv_wc done[sends];
    while (next_send_ - sends_done_ >= sends) {
        const int count = ibv_poll_cq(sent_.get(), sends, done);
        if (count < 0) throw Error("verbs: the completion queue of datagrams is broken");
        if (count > 0) sends_done_ += static_cast<std::uint64_t>(count);
    }
    std::byte* const room = memory_->bytes().data() + (receives + next_send_ % sends) * (mtu_ + routing_header);
    ++next_send_;
    const Label label{job_, tag.value, me_.value, fragment};
    std::memcpy(room, &label, sizeof label);
    if (!data.empty()) std::memcpy(room + sizeof label, data.data(), data.size());
    ibv_sge piece{reinterpret_cast<std::uint64_t>(room), static_cast<std::uint32_t>(sizeof label + data.size()),
                  memory_->mr().lkey};
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud.ah = to_all_.get();
    request.wr.ud.remote_qpn = 0xffffff;
    request.wr.ud.remote_qkey = queue_key;
    if (ibv_post_send(qp_.get(), &request, &bad) != 0) fail("send a datagram");
}

bool Datagrams::progress() {
    ibv_wc arrived[16];
    const int count = ibv_poll_cq(received_.get(), 16, arrived);
    for (int i = 0; i < count; ++i) {
        const std::uint64_t slot = arrived[i].wr_id;
        const std::byte* const room = memory_->bytes().data() + slot * (mtu_ + routing_header) + routing_header;
        if (arrived[i].status == IBV_WC_SUCCESS && arrived[i].byte_len >= routing_header + sizeof(Label)) {
            Label label;
            std::memcpy(&label, room, sizeof label);
            if (label.job == job_ && label.from != me_.value && heard_ != nullptr)
                heard_(owner_, Rank{label.from}, Tag{label.tag}, label.fragment,
                       {room + sizeof label, arrived[i].byte_len - routing_header - sizeof label});
        }
        if (arrived[i].status == IBV_WC_SUCCESS) post_receive(slot);
    }
    return count > 0;
}

}  // namespace loom::transport
