// One end of a measurement: an RC queue pair on one HCA, its memory, and a socket to the other end's process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/verbs/functions.hpp"

namespace loom::verbs {

// Everything throws loom::Error; what the other end does not answer within seconds is an error too.
class Side {
public:
    // Device number `device` of the list, `bytes` of registered memory.
    Side(const Functions& verbs, std::size_t device, std::size_t bytes, int socket);
    ~Side();
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    void connect();  // both sides call it

    [[nodiscard]] std::span<std::uint8_t> memory() { return memory_; }
    [[nodiscard]] const std::string& device() const { return device_; }

    void post_receive(std::size_t length);
    // The immediate value goes to the other side's receive.
    void post_send(std::size_t length, std::uint32_t immediate);
    // Between the beginnings of both sides' memory.
    void post_rdma(ibv_wr_opcode opcode, std::size_t length);
    // Waits for one completion.
    ibv_wc wait();

    // A byte each way: both sides have come here.
    void meet();
    void tell(std::uint64_t value);
    std::uint64_t hear();

private:
    struct Address {
        std::uint32_t qpn, lid, rkey, mtu;
        std::uint64_t memory;
        ibv_gid gid;
    };
    void open(std::size_t device);
    void modify(ibv_qp_attr& attr, ibv_qp_state state, int mask);

    const Functions& verbs_;
    int socket_;
    std::string device_;
    std::vector<std::uint8_t> memory_;
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    Address own_{}, other_{};
    bool ethernet_ = false;
};

}  // namespace loom::verbs
