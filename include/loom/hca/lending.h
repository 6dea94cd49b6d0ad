/* What libloom-verbs.so has beyond libibverbs, for programs that look for it (dlsym). */
#pragma once

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Advice: the peer of a connected queue pair will soon read these bytes, which are registered, by one RDMA read that
   begins at the same address and is at least as long. Inside a host, in memory that is not shared, that read then costs
   the reader half, and both together two thirds. Costs 0.5 us and 40 ns for each page. The bytes must not change until
   they are read or taken back, and must stay where they are. Returns a name for loom_take_back, or 0 when it would not
   help: the read is right either way. */
uint32_t loom_lend(struct ibv_qp* qp, const void* memory, size_t bytes);
/* Ends it. Each loan must be ended once, when the peer has read or will not read any more. */
void loom_take_back(struct ibv_qp* qp, uint32_t loan);

/* Advice, in the send_flags of an RDMA read or write: nobody will look at the bytes soon, they are more than the caches
   hold, or whoever looks has a cache far from ours. Inside a host, between memory of which one is shared, they are then
   stored past the caches. */
#define LOOM_SEND_PAST_CACHES (1u << 30)

#ifdef __cplusplus
}
#endif
