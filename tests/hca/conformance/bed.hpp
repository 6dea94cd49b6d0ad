// What the conformance cases stand on: a device, queue pairs joined to each other, memory, work and completions.
// Everything goes through the verbs ABI. Helpers that cannot do their part fail the test and go on.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "hca/kit/owned.hpp"

namespace loom::conformance {

using Context = kit::Owned<ibv_context, ibv_close_device>;
using Pd = kit::Owned<ibv_pd, ibv_dealloc_pd>;
using Mr = kit::Owned<ibv_mr, ibv_dereg_mr>;
using Channel = kit::Owned<ibv_comp_channel, ibv_destroy_comp_channel>;
using Cq = kit::Owned<ibv_cq, ibv_destroy_cq>;
using Srq = kit::Owned<ibv_srq, ibv_destroy_srq>;
using Qp = kit::Owned<ibv_qp, ibv_destroy_qp>;
using Ah = kit::Owned<ibv_ah, ibv_destroy_ah>;

constexpr std::uint8_t port_number = 1;
constexpr std::uint32_t qkey = 0x1234;
constexpr int every_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::chrono::seconds patience{10};

// Registered bytes, all of one value at first.
struct Buffer {
    std::vector<std::uint8_t> bytes;
    Mr mr;

    [[nodiscard]] std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uint64_t>(bytes.data()) + offset;
    }
    [[nodiscard]] ibv_sge piece(std::size_t offset, std::size_t length) const {
        return {address(offset), static_cast<std::uint32_t>(length), mr->lkey};
    }
    [[nodiscard]] ibv_sge all() const { return piece(0, bytes.size()); }
};

struct NodeOptions {
    ibv_qp_type type = IBV_QPT_RC;
    std::uint32_t send_wr = 16, recv_wr = 16, sge = 4, inline_data = 64;
    int cqe = 64;
    bool signal_all = false;
    ibv_srq* srq = nullptr;
    ibv_pd* pd = nullptr;  // of the bed, unless given
    ibv_comp_channel* channel = nullptr;
};

// A queue pair with completion queues of its own.
struct Node {
    Cq send_cq, recv_cq;
    Qp qp;
    std::uint32_t psn = 0;
    ibv_qp_cap cap{};

    [[nodiscard]] ibv_qp_state state() const;
};

// What differs between connections.
struct Tuning {
    unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    ibv_mtu mtu = IBV_MTU_1024;
    std::uint8_t timeout = 8;  // 1 ms
    std::uint8_t retry = 2;
    std::uint8_t rnr_retry = 7;
    std::uint8_t rnr_timer = 1;  // 0.01 ms
    std::uint8_t reads = 4;
    std::uint8_t reads_served = 4;
};

// One send request. Signalled unless told otherwise.
struct Work {
    std::vector<ibv_sge> list;
    ibv_send_wr request{};

    Work(ibv_wr_opcode opcode, std::uint64_t id, std::vector<ibv_sge> pieces = {});
    Work& to(std::uint64_t address, std::uint32_t rkey);
    Work& to(const Buffer& target, std::size_t offset = 0);
    Work& atomic(std::uint64_t address, std::uint32_t rkey, std::uint64_t compare_add, std::uint64_t swap = 0);
    Work& immediate(std::uint32_t value);
    Work& datagram(ibv_ah* ah, std::uint32_t qpn, std::uint32_t key = qkey);
    Work& flags(unsigned flags);  // in place of signalled

    // 0 or an errno.
    [[nodiscard]] int post(const Node& node);
};

// Both throw where the device refuses.
[[nodiscard]] Buffer make_buffer(ibv_pd* pd, std::size_t size, std::uint8_t value, int access);
[[nodiscard]] Node make_node(ibv_pd* pd, const NodeOptions& options, std::uint32_t psn);

class Bed : public testing::Test {
protected:
    Bed();

    [[nodiscard]] Buffer buffer(std::size_t size, std::uint8_t value = 0, int access = every_access,
                                ibv_pd* pd = nullptr);
    [[nodiscard]] Node node(const NodeOptions& options = {});
    // INIT, RTR and RTS of both, each being the other's peer.
    void connect(Node& a, Node& b, const Tuning& tuning = {});
    // UD: INIT, RTR, RTS.
    void ready(Node& node);
    [[nodiscard]] ibv_ah_attr path() const;  // to this port
    [[nodiscard]] Ah address_handle();

    Context context;
    Pd pd;
    ibv_device_attr device{};
    ibv_port_attr port{};
    std::uint32_t next_psn_ = 0xfffffa;  // so that numbers wrap around early
};

// One transition at a time, for cases that stop half way. 0 or an errno.
[[nodiscard]] int to_init(const Node& node, ibv_qp_type type, unsigned access = Tuning{}.access);
[[nodiscard]] int to_rtr(const Node& node, ibv_qp_type type, const ibv_ah_attr& path, std::uint32_t dest_qpn,
                         std::uint32_t psn, const Tuning& tuning = {});
[[nodiscard]] int to_rts(const Node& node, ibv_qp_type type, const Tuning& tuning = {});
[[nodiscard]] int to_state(const Node& node, ibv_qp_state state);

[[nodiscard]] int post_receive(const Node& node, std::uint64_t id, std::vector<ibv_sge> list);
[[nodiscard]] int post_receive(ibv_srq* srq, std::uint64_t id, std::vector<ibv_sge> list);

// The next completion; fails the test when none comes in time (its wr_id is then ~0).
[[nodiscard]] ibv_wc next(const Cq& cq);
// Just what is there now.
[[nodiscard]] bool poll(const Cq& cq, ibv_wc& wc);
// Nothing comes for 20 ms: a fault may go unseen on a busy machine, but nothing right is ever called wrong.
[[nodiscard]] bool stays_empty(const Cq& cq);
// The next asynchronous event, acknowledged; fails the test when none comes.
[[nodiscard]] ibv_async_event next_event(const Context& context);
// Whether one is waiting within the time.
[[nodiscard]] bool has_event(int descriptor, std::chrono::milliseconds limit);

[[nodiscard]] std::string name(ibv_qp_type type);

}  // namespace loom::conformance

// Prints words, not numbers.
#define EXPECT_STATUS(wc, expected) EXPECT_STREQ(ibv_wc_status_str((wc).status), ibv_wc_status_str(expected))
