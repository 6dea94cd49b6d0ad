// The ibv_wr_* interface: requests are put together call by call and posted as one list by ibv_wr_complete.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "hca/abi/operations.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"

namespace loom::hca::abi {

namespace {

// Held from ibv_wr_start to ibv_wr_complete or ibv_wr_abort, as the interface demands. Contended only when threads
// share a queue pair, and then for a fraction of a microsecond.
class Spin {
public:
    void lock() {
        while (taken_.exchange(true, std::memory_order_acquire)) sched_yield();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_{false};
};

class SendBuilder {
public:
    SendBuilder(std::uint32_t max_sge, std::uint32_t max_inline)
        : max_sge_(max_sge), max_inline_(max_inline), requests_(16), sges_(16 * stride()), bytes_(16 * max_inline_) {}

    void start() {
        lock_.lock();
        count_ = 0;
        error_ = 0;
    }

    // A new request, with what the program has left in wr_id and wr_flags.
    ibv_send_wr& add(const ibv_qp_ex& qp, ibv_wr_opcode opcode) {
        if (count_ < requests_.size() || grow())
            ++count_;
        else
            fail(ENOMEM);  // nothing will be posted: the last one may be written over
        ibv_send_wr& wr = last();
        wr.wr_id = qp.wr_id;
        wr.next = nullptr;
        wr.sg_list = nullptr;
        wr.num_sge = 0;
        wr.opcode = opcode;
        wr.send_flags = qp.wr_flags & ~unsigned{IBV_SEND_INLINE};  // set with the data
        return wr;
    }

    void set_list(std::size_t count, const ibv_sge* list) {
        if (count > max_sge_) return fail(EINVAL);
        if (count_ == 0) return fail(EINVAL);
        last().num_sge = static_cast<int>(count);
        std::copy(list, list + count, &sges_[(count_ - 1) * stride()]);
    }

    // Copies at once: the program may change its buffer before ibv_wr_complete.
    void set_inline(std::size_t count, const ibv_data_buf* list) {
        if (count_ == 0) return fail(EINVAL);
        std::uint8_t* const begin = &bytes_[(count_ - 1) * max_inline_];
        std::size_t length = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (list[i].length > max_inline_ - length) return fail(EINVAL);
            std::memcpy(begin + length, list[i].addr, list[i].length);
            length += list[i].length;
        }
        last().send_flags |= IBV_SEND_INLINE;
        last().num_sge = 1;
        sges_[(count_ - 1) * stride()] = {reinterpret_cast<std::uintptr_t>(begin), static_cast<std::uint32_t>(length),
                                          0};
    }

    void set_datagram(ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
        if (count_ == 0) return fail(EINVAL);
        last().wr.ud = {ah, qpn, qkey};
    }

    void fail(int error) {
        if (error_ == 0) error_ = error;
    }

    int complete(ibv_qp_ex& qp) {
        if (error_ == 0 && count_ != 0) {
            link();
            ibv_send_wr* bad = nullptr;
            error_ = api::post_send_list(&qp.qp_base, requests_.data(), &bad, static_cast<std::uint32_t>(count_));
        }
        const int error = error_;
        if (tracing() && count_ != 0) {
            link();
            trace_work_requests("ibv_wr_complete", &qp.qp_base, requests_.data(), error);
        }
        lock_.unlock();
        return error;
    }

    void abort() { lock_.unlock(); }

private:
    [[nodiscard]] ibv_send_wr& last() { return requests_[count_ - 1]; }
    [[nodiscard]] std::size_t stride() const { return max_sge_ > 0 ? max_sge_ : 1; }  // inline data is one entry

    // Addresses in the lists may move when they grow, and are put in at the end.
    void link() {
        for (std::size_t i = 0; i < count_; ++i) {
            ibv_send_wr& wr = requests_[i];
            wr.sg_list = &sges_[i * stride()];
            if ((wr.send_flags & IBV_SEND_INLINE) != 0)
                wr.sg_list->addr = reinterpret_cast<std::uintptr_t>(&bytes_[i * max_inline_]);
            wr.next = i + 1 < count_ ? &requests_[i + 1] : nullptr;
        }
    }

    bool grow() try {
        const std::size_t wanted = requests_.size() * 2;
        sges_.resize(wanted * stride());
        bytes_.resize(wanted * max_inline_);
        requests_.resize(wanted);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }

    Spin lock_;
    std::uint32_t max_sge_, max_inline_;
    std::size_t count_ = 0;
    int error_ = 0;
    std::vector<ibv_send_wr> requests_;
    std::vector<ibv_sge> sges_;        // stride() for each
    std::vector<std::uint8_t> bytes_;  // max_inline_ for each
};

SendBuilder& builder(ibv_qp_ex* qp) {
    return *static_cast<SendBuilder*>(Qp::of(qp).extension.get());
}

void remote(ibv_send_wr& wr, std::uint64_t address, std::uint32_t rkey) {
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = rkey;
}

void atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare_add,
            std::uint64_t swap) {
    ibv_send_wr& wr = builder(qp).add(*qp, opcode);
    wr.wr.atomic.remote_addr = address;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
    wr.wr.atomic.rkey = rkey;
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
    const ibv_data_buf buffer{address, length};
    builder(qp).set_inline(1, &buffer);
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
    const ibv_sge sge{address, length, lkey};
    builder(qp).set_list(1, &sge);
}

// Only the operations that were asked for at creation are there, as with other adapters.
void set_operations(ibv_qp_ex& qp, std::uint64_t asked) {
    if ((asked & IBV_QP_EX_WITH_RDMA_WRITE) != 0)
        qp.wr_rdma_write = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t address) {
            remote(builder(of).add(*of, IBV_WR_RDMA_WRITE), address, rkey);
        };
    if ((asked & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0)
        qp.wr_rdma_write_imm = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
            ibv_send_wr& wr = builder(of).add(*of, IBV_WR_RDMA_WRITE_WITH_IMM);
            wr.imm_data = immediate;
            remote(wr, address, rkey);
        };
    if ((asked & IBV_QP_EX_WITH_SEND) != 0) qp.wr_send = [](ibv_qp_ex* of) { builder(of).add(*of, IBV_WR_SEND); };
    if ((asked & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0)
        qp.wr_send_imm = [](ibv_qp_ex* of, __be32 immediate) {
            builder(of).add(*of, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
        };
    if ((asked & IBV_QP_EX_WITH_RDMA_READ) != 0)
        qp.wr_rdma_read = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t address) {
            remote(builder(of).add(*of, IBV_WR_RDMA_READ), address, rkey);
        };
    if ((asked & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0)
        qp.wr_atomic_cmp_swp = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                                  std::uint64_t swap) {
            atomic(of, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
        };
    if ((asked & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0)
        qp.wr_atomic_fetch_add = [](ibv_qp_ex* of, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
            atomic(of, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, add, 0);
        };
    qp.wr_set_ud_addr = [](ibv_qp_ex* of, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
        builder(of).set_datagram(ah, qpn, qkey);
    };
    qp.wr_set_inline_data = wr_set_inline_data;
    qp.wr_set_inline_data_list = [](ibv_qp_ex* of, std::size_t count, const ibv_data_buf* list) {
        builder(of).set_inline(count, list);
    };
    qp.wr_set_sge = wr_set_sge;
    qp.wr_set_sge_list = [](ibv_qp_ex* of, std::size_t count, const ibv_sge* list) {
        builder(of).set_list(count, list);
    };
    qp.wr_start = [](ibv_qp_ex* of) { builder(of).start(); };
    qp.wr_complete = [](ibv_qp_ex* of) { return builder(of).complete(*of); };
    qp.wr_abort = [](ibv_qp_ex* of) { builder(of).abort(); };
}

// What a transport can do; an adapter refuses a queue pair that asks for more.
std::uint64_t possible_operations(ibv_qp_type type) {
    constexpr std::uint64_t send = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    constexpr std::uint64_t write = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    constexpr std::uint64_t read =
        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    return type == IBV_QPT_RC ? send | write | read : type == IBV_QPT_UC ? send | write : send;
}

int check_extended(const ibv_qp_init_attr_ex& attr) {
    constexpr std::uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if ((attr.comp_mask & ~known) != 0) return EOPNOTSUPP;
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return EINVAL;
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr.create_flags != 0) return EOPNOTSUPP;
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
        (attr.send_ops_flags & ~possible_operations(attr.qp_type)) != 0)
        return EOPNOTSUPP;
    return 0;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attr) {
    if (const int error = check_extended(*attr); error != 0) {
        trace("ibv_create_qp_ex(type=%d, comp_mask=0x%x, send_ops=0x%llx) = NULL %s", static_cast<int>(attr->qp_type),
              attr->comp_mask, static_cast<unsigned long long>(attr->send_ops_flags), error_name(error));
        errno = error;
        return nullptr;
    }
    ibv_qp* abi = ibv_create_qp(attr->pd, reinterpret_cast<ibv_qp_init_attr*>(attr));
    if (abi == nullptr || (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) == 0) return abi;
    Qp& qp = Qp::of(abi);
    try {
        qp.extension = std::make_shared<SendBuilder>(qp.init.cap.max_send_sge, qp.init.cap.max_inline_data);
    } catch (const std::exception& thrown) {
        ibv_destroy_qp(abi);
        errno = errno_of(thrown);
        return nullptr;
    }
    qp.extended = true;
    set_operations(qp.abi, attr->send_ops_flags);
    return abi;
}

}  // namespace loom::hca::abi
