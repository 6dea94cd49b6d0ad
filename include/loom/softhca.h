/* What libloom-verbs.so, the software HCA, has beyond libibverbs. Programs look for these functions at run time (dlsym):
   with an adapter's library they are missing, and a program does without. */
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

/* Bits of what loom_wait returns. */
#define LOOM_WAIT_EVENT 1
#define LOOM_WAIT_OTHER 2

/* Sleeps until the channel has an event, `other` (a descriptor) can be read, or `most_ns` nanoseconds have passed;
   returns what of these is so, 0 for the last, or -1 with errno. Meanwhile the caller does the work of the HCA's own
   thread, which otherwise would be woken first, only to wake the caller: a switch less for every message. Events are
   taken and acknowledged, all that there are. One that another thread's ibv_req_notify_cq overtakes is withdrawn: as
   ever, who asks for an event looks at the queue once more. One thread of a process waits so at a time, others as with
   poll(2). */
int loom_wait(struct ibv_comp_channel* channel, int other, uint64_t most_ns);

/* on != 0: until the same call with 0, packets from other hosts wake no thread of this process, because the caller is
   busy with the HCA and would only be interrupted by a thread that then waits for it. What has come is heard of then.
   Calls may be nested, and must be paired. Costs a system call. */
void loom_hush(struct ibv_context* context, int on);

/* Where this process reaches `bytes` bytes at `address` of the peer of a connected queue pair, registered there under
   `rkey` with the right to write, by plain loads and stores. Only memory in a memfd that is sealed against shrinking,
   of a process of this host to which the connection is up: else null. The mapping is the caller's, until loom_unmap with
   the same length; neither deregistration nor the peer's end takes it away. Costs some system calls. */
void* loom_map(struct ibv_qp* qp, uint32_t rkey, uint64_t address, size_t bytes);
void loom_unmap(void* mapped, size_t bytes);

#ifdef __cplusplus
}
#endif
