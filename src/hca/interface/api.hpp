// What the exported functions call. Results are 0 or an errno, pointers are null with errno set. Every function takes
// the engine's mutex itself; none may be called with it held. `Context&` must be open.
#pragma once

#include <infiniband/verbs.h>

#include "hca/objects/objects.hpp"

namespace loom::hca::api {

// Limits that the device answers with (ibv_query_device).
constexpr std::uint32_t max_qp_wr = 16384, max_sge = 32, max_inline = 1024, max_cqe = 1u << 22, max_srq_wr = 16384;
constexpr std::uint32_t max_qp = 8192, max_mr = 65535, max_cq = 65535, max_pd = 65535, max_rd_atomic = 16;
// With the smallest MTU its packet numbers are a quarter of the circle: before and after stay apart.
constexpr std::uint64_t max_message = 1ull << 30;

// Opens the engine for this process with the first context, closes it with the last. Fills in context->hca and the
// event descriptor; the operations tables are the caller's.
int open(Context& context, const HcaConfig& hca);
int close(Context& context);  // the objects that still stand on it are taken down

ibv_pd* alloc_pd(Context& context);
int dealloc_pd(ibv_pd* pd);

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, std::uint32_t access);
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access);
int dereg_mr(ibv_mr* mr);

ibv_comp_channel* create_channel(Context& context);
int destroy_channel(ibv_comp_channel* channel);
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);  // 0 or -1 with errno, as the ABI has it
void ack_cq_events(ibv_cq* cq, unsigned count);
int get_async_event(Context& context, ibv_async_event* event);  // 0 or -1 with errno
void ack_async_event(ibv_async_event* event);

// cqe: at least 1. The extended interface's function pointers are the caller's to fill in.
Cq* create_cq(Context& context, int cqe, void* cq_context, ibv_comp_channel* channel, int vector);
int resize_cq(ibv_cq* cq, int cqe);
int destroy_cq(ibv_cq* cq);  // waits until the events given out are acknowledged
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
// Takes one completion into cq.current: 0 or ENOENT.
int poll_one(Cq& cq);
int req_notify(ibv_cq* cq, int solicited_only);

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr);
int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask);
int query_srq(ibv_srq* srq, ibv_srq_attr* attr);
int destroy_srq(ibv_srq* srq);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);

// attr->cap is rounded up to what was given.
Qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init);
int destroy_qp(ibv_qp* qp);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
// Nothing is posted when there is no room for all `count` of the list.
int post_send_list(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad, std::uint32_t count);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

// As loom/softhca.h has them.
int wait(ibv_comp_channel* channel, int other, std::uint64_t most_ns);
void hush(ibv_context* context, bool on);
[[nodiscard]] bool anybody_serves();  // some wait() has not let go of the engine yet
void nobody_serves();                 // after a fork: they stayed behind

// As loom/softhca.h has them.
std::uint32_t lend(ibv_qp* qp, const void* memory, std::size_t bytes);
void take_back(ibv_qp* qp, std::uint32_t loan);
void* map(ibv_qp* qp, std::uint32_t rkey, std::uint64_t address, std::size_t bytes);
void unmap(void* mapped, std::size_t bytes);

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr);
int destroy_ah(ibv_ah* ah);
int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);

// In the child of a fork: the objects inherited are the parent's, calls on them fail, opening anew works.
void forked();

}  // namespace loom::hca::api
