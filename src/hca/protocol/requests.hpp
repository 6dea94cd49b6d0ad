// What kind of request is in a send queue.
#pragma once

#include "hca/objects/objects.hpp"

namespace loom::hca {

inline bool is_read(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_READ;
}
inline bool is_atomic(const SendWqe& w) {
    return w.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
inline bool is_write(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_WRITE || w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
inline bool is_signalled(const Qp& qp, const SendWqe& w) {
    return qp.init.sq_sig_all != 0 || (w.flags & IBV_SEND_SIGNALED) != 0;
}
inline bool has_imm(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || w.opcode == IBV_WR_SEND_WITH_IMM;
}
inline bool waits_for_answer(const SendWqe& w) {
    return is_read(w) || is_atomic(w);
}

}  // namespace loom::hca
