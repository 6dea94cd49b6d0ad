// The parts of the operations tables, and how they are traced.
#pragma once

#include "hca/abi/exports.hpp"

namespace loom::hca::abi {

void set_query_operations(verbs_context& verbs);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);

// Lines of the trace for what a poll found and for posted work requests. Only called when tracing.
void trace_completions(const char* call, const ibv_cq* cq, int found, const ibv_wc* wc);
void trace_work_requests(const char* call, const ibv_qp* qp, ibv_send_wr* first, int error);

}  // namespace loom::hca::abi
