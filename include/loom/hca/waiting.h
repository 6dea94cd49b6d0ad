/* What libloom-verbs.so has beyond libibverbs for threads that sleep until something comes (dlsym). */
#pragma once

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
