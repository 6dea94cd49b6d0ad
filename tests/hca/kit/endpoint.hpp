// A verbs device, queue pair and queues as the checker uses them, by the plain or the extended interface.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hca/kit/options.hpp"
#include "hca/kit/owned.hpp"

namespace loom::kit {

struct Address {
    std::uint16_t lid = 0;
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    ibv_gid gid{};
    std::uint64_t base = 0;  // of the memory others may reach
    std::uint32_t rkey = 0;

    [[nodiscard]] std::string text() const;
    static Address parse(const std::string& text);
};

struct Completion {
    std::uint64_t wr_id = 0;
    ibv_wc_status status{};
    ibv_wc_opcode opcode{};
    std::uint32_t byte_len = 0;
    std::uint32_t imm = 0;  // host order
    unsigned flags = 0;
    std::uint32_t qp_num = 0;
};

struct Request {
    Operation operation = Operation::send;
    std::uint64_t id = 0;
    std::span<ibv_sge> list;
    bool signalled = true;
    bool inline_data = false;
    std::uint32_t imm = 0;
    std::uint64_t remote = 0;
    std::uint32_t rkey = 0;
    std::uint64_t compare_or_add = 0;
    std::uint64_t swap = 0;
};

using Memory = Owned<ibv_mr, ibv_dereg_mr>;

enum class Queue : unsigned char { send, receive };

// Every refusal of the device is a loom::Error that names the call.
class Endpoint {
public:
    explicit Endpoint(const Options& options);

    [[nodiscard]] Memory register_memory(std::span<std::uint8_t> bytes, int access);
    [[nodiscard]] Address address() const;
    [[nodiscard]] std::uint32_t max_inline() const { return max_inline_; }
    [[nodiscard]] std::uint32_t qpn() const { return qp_->qp_num; }
    [[nodiscard]] std::size_t mtu_bytes() const { return std::size_t{128} << mtu_; }

    void connect(const Address& peer);
    void post_receive(std::uint64_t id, std::span<ibv_sge> list);
    void post(const Request& request);

    // Waits for exactly `count` completions; with may_be_fewer for as many as come before the deadline.
    enum class Shortfall : unsigned char { is_an_error, is_returned };
    [[nodiscard]] std::vector<Completion> wait(Queue queue, std::size_t count, std::chrono::duration<double> patience,
                                               Shortfall shortfall = Shortfall::is_an_error);

private:
    struct Completions {
        Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel;
        Owned<ibv_cq, ibv_destroy_cq> cq;
        ibv_cq_ex* extended = nullptr;
        std::vector<Completion> waiting;
    };

    void open(const std::string& name);
    Completions make_queue(int entries) const;
    void make_qp();
    void post_plain(const Request& request);
    void post_extended(const Request& request);
    // Takes what is there into `waiting`; true when something was.
    bool poll(Completions& queue) const;
    void modify(ibv_qp_attr attributes, int mask, const char* to) const;
    [[nodiscard]] ibv_ah_attr path_to(const Address& peer) const;

    Options options_;
    Owned<ibv_context, ibv_close_device> context_;
    Owned<ibv_pd, ibv_dealloc_pd> pd_;
    Completions send_;
    Completions receive_;
    Owned<ibv_srq, ibv_destroy_srq> srq_;
    Owned<ibv_qp, ibv_destroy_qp> qp_;
    Owned<ibv_ah, ibv_destroy_ah> ah_;
    ibv_port_attr port_{};
    ibv_gid gid_{};
    ibv_mtu mtu_ = IBV_MTU_1024;
    std::uint32_t psn_ = 0;
    std::uint32_t max_inline_ = 0;
    std::uint32_t remote_qpn_ = 0;
};

}  // namespace loom::kit
