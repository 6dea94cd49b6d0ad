// The operations that programs call through an open device's tables. Traced or not is decided here, once, at open.
#include "hca/abi/operations.hpp"

#include <cstdio>

#include "hca/abi/device.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"

namespace loom::hca::abi {

namespace {

const char* opcode_name(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_RDMA_WRITE:
            return "RDMA_WRITE";
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return "RDMA_WRITE_WITH_IMM";
        case IBV_WR_SEND:
            return "SEND";
        case IBV_WR_SEND_WITH_IMM:
            return "SEND_WITH_IMM";
        case IBV_WR_RDMA_READ:
            return "RDMA_READ";
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            return "ATOMIC_CMP_AND_SWP";
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            return "ATOMIC_FETCH_AND_ADD";
        default:
            return "an opcode that is not emulated";
    }
}

const char* opcode_name(ibv_wc_opcode opcode) {
    switch (opcode) {
        case IBV_WC_SEND:
            return "SEND";
        case IBV_WC_RDMA_WRITE:
            return "RDMA_WRITE";
        case IBV_WC_RDMA_READ:
            return "RDMA_READ";
        case IBV_WC_COMP_SWAP:
            return "COMP_SWAP";
        case IBV_WC_FETCH_ADD:
            return "FETCH_ADD";
        case IBV_WC_RECV:
            return "RECV";
        case IBV_WC_RECV_RDMA_WITH_IMM:
            return "RECV_RDMA_WITH_IMM";
        default:
            return "an opcode that is not emulated";
    }
}

std::uint64_t bytes_of(const ibv_sge* sges, int count) {
    std::uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += sges[i].length;
    return bytes;
}

bool is_atomic(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool has_remote(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_RDMA_READ ||
           is_atomic(opcode);
}

void trace_send(const char* call, const ibv_qp* qp, const ibv_send_wr& wr, const char* result) {
    char remote[96] = "";
    if (is_atomic(wr.opcode))
        std::snprintf(remote, sizeof remote, ", remote=0x%llx, rkey=0x%x",
                      static_cast<unsigned long long>(wr.wr.atomic.remote_addr), wr.wr.atomic.rkey);
    else if (has_remote(wr.opcode))
        std::snprintf(remote, sizeof remote, ", remote=0x%llx, rkey=0x%x",
                      static_cast<unsigned long long>(wr.wr.rdma.remote_addr), wr.wr.rdma.rkey);
    else if (qp->qp_type == IBV_QPT_UD)
        std::snprintf(remote, sizeof remote, ", ah=%p, qpn=0x%x", static_cast<void*>(wr.wr.ud.ah), wr.wr.ud.remote_qpn);
    trace_line("%s(qp=0x%x, %s, wr_id=0x%llx, %llu bytes in %d%s%s%s%s%s) = %s", call, qp->qp_num,
               opcode_name(wr.opcode), static_cast<unsigned long long>(wr.wr_id),
               static_cast<unsigned long long>(bytes_of(wr.sg_list, wr.num_sge)), wr.num_sge, remote,
               (wr.send_flags & IBV_SEND_SIGNALED) != 0 ? ", signaled" : "",
               (wr.send_flags & IBV_SEND_INLINE) != 0 ? ", inline" : "",
               (wr.send_flags & IBV_SEND_SOLICITED) != 0 ? ", solicited" : "",
               (wr.send_flags & IBV_SEND_FENCE) != 0 ? ", fence" : "", result);
}

// What posting a list came to for each of its requests: those before the bad one are posted, those after are not.
template <class Request, class Say>
void trace_list(Request* first, Request* bad, int error, const Say& say) {
    for (Request* wr = first; wr != nullptr; wr = wr->next) {
        const bool failed = error != 0 && wr == bad;
        say(*wr, failed ? error_name(error) : "0");
        if (failed) return;
    }
}

int traced_post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    const int error = api::post_send(qp, wr, bad);
    trace_list(wr, error == 0 ? nullptr : *bad, error,
               [&](const ibv_send_wr& one, const char* result) { trace_send("ibv_post_send", qp, one, result); });
    return error;
}

template <class Say>
void trace_receives(ibv_recv_wr* wr, ibv_recv_wr** bad, int error, const Say& say) {
    trace_list(wr, error == 0 ? nullptr : *bad, error, say);
}

int traced_post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    const int error = api::post_recv(qp, wr, bad);
    trace_receives(wr, bad, error, [&](const ibv_recv_wr& one, const char* result) {
        trace_line("ibv_post_recv(qp=0x%x, wr_id=0x%llx, %llu bytes in %d) = %s", qp->qp_num,
                   static_cast<unsigned long long>(one.wr_id),
                   static_cast<unsigned long long>(bytes_of(one.sg_list, one.num_sge)), one.num_sge, result);
    });
    return error;
}

int traced_post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    const int error = api::post_srq_recv(srq, wr, bad);
    trace_receives(wr, bad, error, [&](const ibv_recv_wr& one, const char* result) {
        trace_line("ibv_post_srq_recv(srq=%p, wr_id=0x%llx, %llu bytes in %d) = %s", static_cast<void*>(srq),
                   static_cast<unsigned long long>(one.wr_id),
                   static_cast<unsigned long long>(bytes_of(one.sg_list, one.num_sge)), one.num_sge, result);
    });
    return error;
}

int traced_poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
    const int found = api::poll_cq(cq, count, wc);
    trace_completions("ibv_poll_cq", cq, found, wc);
    return found;
}

int traced_req_notify(ibv_cq* cq, int solicited_only) {
    const int error = api::req_notify(cq, solicited_only);
    trace_line("ibv_req_notify_cq(cq=%p, %s) = %s", static_cast<void*>(cq),
               solicited_only != 0 ? "solicited only" : "any", error_name(error));
    return error;
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
    *number = Srq::of(srq).number;
    trace("ibv_get_srq_num(%p) = %u", static_cast<void*>(srq), *number);
    return 0;
}

ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* attr) {
    constexpr std::uint32_t known = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
    const bool basic = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || attr->srq_type == IBV_SRQT_BASIC;
    if ((attr->comp_mask & ~known) != 0 || !basic) {  // XRC and tag matching
        trace("ibv_create_srq_ex(comp_mask=0x%x) = NULL EOPNOTSUPP", attr->comp_mask);
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
        errno = EINVAL;
        return nullptr;
    }
    return ibv_create_srq(attr->pd, reinterpret_cast<ibv_srq_init_attr*>(attr));
}

}  // namespace

void trace_completions(const char* call, const ibv_cq* cq, int found, const ibv_wc* wc) {
    // Programs poll in vain millions of times: those calls are counted and told with the next one that finds anything.
    static thread_local unsigned long empty = 0;
    if (found == 0) {
        ++empty;
        return;
    }
    if (empty != 0)
        trace_line("%s(cq=%p) = %d after %lu empty polls", call, static_cast<const void*>(cq), found, empty);
    else
        trace_line("%s(cq=%p) = %d", call, static_cast<const void*>(cq), found);
    empty = 0;
    for (int i = 0; i < found; ++i)
        trace_line("  wc wr_id=0x%llx qp=0x%x %s, %u bytes: %s", static_cast<unsigned long long>(wc[i].wr_id),
                   wc[i].qp_num, opcode_name(wc[i].opcode), wc[i].byte_len, ibv_wc_status_str(wc[i].status));
}

void trace_work_requests(const char* call, const ibv_qp* qp, ibv_send_wr* first, int error) {
    for (const ibv_send_wr* wr = first; wr != nullptr; wr = wr->next) trace_send(call, qp, *wr, error_name(error));
}

void set_operations(verbs_context& verbs) {
    ibv_context_ops& ops = verbs.context.ops;
    ops.poll_cq = tracing() ? traced_poll_cq : api::poll_cq;
    ops.req_notify_cq = tracing() ? traced_req_notify : api::req_notify;
    ops.post_send = tracing() ? traced_post_send : api::post_send;
    ops.post_recv = tracing() ? traced_post_recv : api::post_recv;
    ops.post_srq_recv = tracing() ? traced_post_srq_recv : api::post_srq_recv;
    verbs.get_srq_num = get_srq_num;
    verbs.create_srq_ex = create_srq_ex;
    verbs.create_cq_ex = create_cq_ex;
    verbs.create_qp_ex = create_qp_ex;
    set_query_operations(verbs);
    // What is not emulated stays out of the tables: the inline functions of verbs.h then answer EOPNOTSUPP. That is
    // memory windows, XRC, flow steering, work queues, thread and parent domains, device memory, counters, null and
    // advised regions, CQ moderation, rate limits.
}

}  // namespace loom::hca::abi
