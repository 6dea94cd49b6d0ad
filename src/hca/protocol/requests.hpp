// What kind of request is in a send queue.
#pragma once

#include "hca/objects/objects.hpp"
#include "hca/wire/path.hpp"

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

constexpr std::uint32_t read_chunk = 128 * 1024;  // bytes that one request asks for over RoCE
inline std::uint32_t chunk_of(const Qp& qp) {
    return qp.path->kind == Path::Kind::roce ? read_chunk : ~0u;
}

}  // namespace loom::hca
