// Traffic of every kind between two processes, one of which may die or misbehave at any moment.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "hca/properties/stage.hpp"
#include "loom/base/random.hpp"

namespace loom::hostile {

using namespace properties;

// Registered memory in the middle of memory that nobody may touch.
class Island {
public:
    static constexpr std::size_t shore = 64 * 1024, land = 256 * 1024;

    explicit Island(Host& host) : bytes_(shore + land + shore, water) {
        mr_.reset(ibv_reg_mr(host.pd.get(), bytes_.data() + shore, land, every_access));
        if (!mr_) throw std::runtime_error("ibv_reg_mr");
    }
    [[nodiscard]] std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uint64_t>(bytes_.data()) + shore + offset;
    }
    [[nodiscard]] std::uint32_t rkey() const { return mr_->rkey; }
    [[nodiscard]] ibv_sge piece(std::size_t offset, std::size_t length) const {
        return {address(offset), static_cast<std::uint32_t>(length), mr_->lkey};
    }
    [[nodiscard]] bool shores_are_dry() const {
        const auto clean = [this](std::size_t begin) {
            for (std::size_t i = begin; i < begin + shore; ++i)
                if (bytes_[i] != water) return false;
            return true;
        };
        return clean(0) && clean(shore + land);
    }

private:
    static constexpr std::uint8_t water = 0xa7;
    std::vector<std::uint8_t> bytes_;
    Mr mr_;
};

// 17 ms, 7 times: requests to a process that was never there fail within an eighth of a second.
inline const Tuning brisk = [] {
    Tuning tuning = patient;
    tuning.timeout = 12;
    return tuning;
}();

// As far as the other lets us: it may have broken the connection while we make it.
inline void try_to_join(const Host& host, const Node& node, const Address& other) {
    if (conformance::to_init(node, IBV_QPT_RC, brisk.access) != 0 ||
        conformance::to_rtr(node, IBV_QPT_RC, host.path(other), other.qpn, other.psn, brisk) != 0)
        throw std::runtime_error("a queue pair does not become ready to receive");
    const int result = conformance::to_rts(node, IBV_QPT_RC, brisk);
    if (result != 0 && node.state() != IBV_QPS_ERR)
        throw std::runtime_error("a queue pair does not become ready to send");
}

// Keeps requests of all kinds under way on one queue pair, and receives posted.
class Traffic {
public:
    static constexpr std::uint32_t depth = 8, receives = 16;

    Traffic(Node node, const Island& island, std::uint64_t seed)
        : node_(std::move(node)), island_(island), random_(seed) {}

    static NodeOptions options() {
        NodeOptions result;
        result.send_wr = depth + 1;
        result.recv_wr = receives;
        result.cqe = 64;
        return result;
    }

    [[nodiscard]] const Node& node() const { return node_; }
    [[nodiscard]] std::uint64_t outstanding() const { return posted_ - completed_; }
    [[nodiscard]] std::uint64_t succeeded() const { return succeeded_; }
    [[nodiscard]] std::uint64_t failed() const { return failed_; }
    // Completions with a status that the death of a peer does not explain, and the last of them in words.
    [[nodiscard]] std::uint64_t strange() const { return strange_; }
    [[nodiscard]] const std::string& last_strange() const { return last_strange_; }

    void post_receives() {
        while (waiting_receives_ < receives && post_receive(node_, waiting_receives_, {island_.piece(0, longest)}) == 0)
            ++waiting_receives_;
    }

    // Posts one more request, of any kind; false when the queue pair takes none.
    bool post(const Address& other) {
        static constexpr std::array<std::size_t, 6> lengths = {0, 8, 100, 3000, 20'000, longest};
        const std::size_t length = lengths[random_.below(lengths.size())];
        const std::size_t near = random_.below(Island::land - longest) & ~7u;
        const std::size_t far = random_.below(Island::land - longest) & ~7u;
        switch (random_.below(6)) {
            case 0:
                return count(Work(IBV_WR_SEND, posted_, {island_.piece(near, length)}));
            case 1:
                return count(
                    Work(IBV_WR_RDMA_WRITE, posted_, {island_.piece(near, length)}).to(other.memory + far, other.rkey));
            case 2:
                return count(Work(IBV_WR_RDMA_WRITE_WITH_IMM, posted_, {island_.piece(near, length)})
                                 .to(other.memory + far, other.rkey));
            case 3:
                return count(
                    Work(IBV_WR_RDMA_READ, posted_, {island_.piece(near, length)}).to(other.memory + far, other.rkey));
            case 4:
                return count(Work(IBV_WR_ATOMIC_FETCH_AND_ADD, posted_, {island_.piece(near, 8)})
                                 .atomic(aligned(other.memory) + far, other.rkey, 1));
            default:
                return count(Work(IBV_WR_ATOMIC_CMP_AND_SWP, posted_, {island_.piece(near, 8)})
                                 .atomic(aligned(other.memory) + far, other.rkey, 1, 2));
        }
    }

    // Takes what has completed.
    void reap() {
        ibv_wc done[16];
        for (int n = 0; (n = ibv_poll_cq(node_.send_cq.get(), 16, done)) > 0;)
            for (int i = 0; i < n; ++i) note(done[i], true);
        for (int n = 0; (n = ibv_poll_cq(node_.recv_cq.get(), 16, done)) > 0;)
            for (int i = 0; i < n; ++i) note(done[i], false);
    }

    void run_once(const Address& other) {
        if (outstanding() < depth) post(other);
        reap();
        post_receives();
    }

private:
    static constexpr std::size_t longest = 100'000;

    static std::uint64_t aligned(std::uint64_t address) { return (address + 7) & ~std::uint64_t{7}; }

    bool count(Work&& work) { return count(work); }
    bool count(Work& work) {
        if (work.post(node_) != 0) return false;
        ++posted_;
        return true;
    }

    void note(const ibv_wc& wc, bool sent) {
        if (sent)
            ++completed_;
        else
            --waiting_receives_;
        if (wc.status == IBV_WC_SUCCESS)
            ++succeeded_;
        else if (wc.status == IBV_WC_WR_FLUSH_ERR || (sent && wc.status == IBV_WC_RETRY_EXC_ERR))
            ++failed_;
        else {
            ++strange_;
            last_strange_ = std::string(sent ? "request: " : "receive: ") + ibv_wc_status_str(wc.status);
        }
    }

    Node node_;
    const Island& island_;
    Random random_;
    std::uint64_t posted_ = 0, completed_ = 0, succeeded_ = 0, failed_ = 0, strange_ = 0;
    std::uint32_t waiting_receives_ = 0;
    std::string last_strange_;
};

// What two processes that meet round by round share. A round's number is written behind what belongs to it.
struct Rounds {
    Address survivor, victim;
    std::atomic<std::uint32_t> survivor_ready{0}, victim_ready{0}, killed{0}, settled{0};
    std::atomic<std::uint64_t> succeeded{0}, failed{0}, strange{0}, connected{0};
    std::atomic<std::int64_t> longest_us{0};
    std::atomic<std::uint64_t> descriptors_at_first{0}, descriptors_at_last{0};
    std::atomic<bool> over{false};
};

}  // namespace loom::hostile
