/* OpenSHMEM 1.5 on windows, for programs that loom run starts: what docs/window.md lists. C11 programs also have the
   type-generic names, C++ programs the same as overloads. Link libloom-shmem.so. Errors end the program with one line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "types.h"

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Loomband"
#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3
#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_LE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_GE 6
#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2
#define SHMEM_CTX_SERIALIZED (1l << 0)
#define SHMEM_CTX_PRIVATE (1l << 1)
#define SHMEM_CTX_NOSTORE (1l << 2)
#define SHMEM_TEAM_NUM_CONTEXTS (1l << 0)
#define SHMEM_MALLOC_ATOMICS_REMOTE (1l << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1l << 1)
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE 1
#define _SHMEM_BCAST_SYNC_SIZE 1
#define _SHMEM_COLLECT_SYNC_SIZE 1
#define _SHMEM_REDUCE_SYNC_SIZE 1
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_ALLTOALL_SYNC_SIZE 1
#define _SHMEM_ALLTOALLS_SYNC_SIZE 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct loom_shmem_ctx* shmem_ctx_t;
typedef struct loom_shmem_team* shmem_team_t;
typedef struct {
    int num_contexts;
} shmem_team_config_t;

extern shmem_ctx_t const loom_shmem_ctx_default;
extern shmem_team_t const loom_shmem_team_world, loom_shmem_team_shared;
#define SHMEM_CTX_DEFAULT loom_shmem_ctx_default
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_TEAM_WORLD loom_shmem_team_world
#define SHMEM_TEAM_SHARED loom_shmem_team_shared
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)

void shmem_init(void);
int shmem_init_thread(int requested, int* provided);
void shmem_query_thread(int* provided);
void shmem_finalize(void);
void shmem_global_exit(int status);
int shmem_my_pe(void);
int shmem_n_pes(void);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void* addr, int pe);
void* shmem_ptr(const void* dest, int pe);
void shmem_info_get_version(int* major, int* minor);
void shmem_info_get_name(char* name);
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);

void* shmem_malloc(size_t size);
void* shmem_malloc_with_hints(size_t size, long hints);
void* shmem_calloc(size_t count, size_t size);
void* shmem_align(size_t alignment, size_t size);
void* shmem_realloc(void* ptr, size_t size);
void shmem_free(void* ptr);

int shmem_ctx_create(long options, shmem_ctx_t* ctx);
void shmem_ctx_destroy(shmem_ctx_t ctx);
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team);
void shmem_fence(void);
void shmem_ctx_fence(shmem_ctx_t ctx);
void shmem_quiet(void);
void shmem_ctx_quiet(shmem_ctx_t ctx);

int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config);
int shmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to);
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t* config,
                             long mask, shmem_team_t* team);
int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t* xconfig, long xmask,
                        shmem_team_t* xteam, const shmem_team_config_t* yconfig, long ymask, shmem_team_t* yteam);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t* ctx);
void shmem_team_destroy(shmem_team_t team);
void* shmem_team_ptr(shmem_team_t team, const void* dest, int pe);

void shmem_barrier_all(void);
void shmem_barrier(int start, int log_stride, int size, long* psync);
void shmem_sync_all(void);
void shmem_sync_active_set(int start, int log_stride, int size, long* psync);
int shmem_team_sync(shmem_team_t team);

void shmem_set_lock(long* lock);
void shmem_clear_lock(long* lock);
int shmem_test_lock(long* lock);

/* Puts and gets. */
#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                                \
    void shmem_##NAME##_put(TYPE* dest, const TYPE* source, size_t nelems, int pe);                                   \
    void shmem_##NAME##_get(TYPE* dest, const TYPE* source, size_t nelems, int pe);                                   \
    void shmem_##NAME##_put_nbi(TYPE* dest, const TYPE* source, size_t nelems, int pe);                               \
    void shmem_##NAME##_get_nbi(TYPE* dest, const TYPE* source, size_t nelems, int pe);                               \
    void shmem_##NAME##_p(TYPE* dest, TYPE value, int pe);                                                            \
    TYPE shmem_##NAME##_g(const TYPE* source, int pe);                                                                \
    void shmem_##NAME##_iput(TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);    \
    void shmem_##NAME##_iget(TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);    \
    void shmem_##NAME##_put_signal(TYPE* dest, const TYPE* source, size_t nelems, uint64_t* sig, uint64_t signal,     \
                                   int op, int pe);                                                                   \
    void shmem_##NAME##_put_signal_nbi(TYPE* dest, const TYPE* source, size_t nelems, uint64_t* sig, uint64_t signal, \
                                       int op, int pe);                                                               \
    void shmem_ctx_##NAME##_put(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems, int pe);              \
    void shmem_ctx_##NAME##_get(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems, int pe);              \
    void shmem_ctx_##NAME##_put_nbi(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems, int pe);          \
    void shmem_ctx_##NAME##_get_nbi(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems, int pe);          \
    void shmem_ctx_##NAME##_p(shmem_ctx_t ctx, TYPE* dest, TYPE value, int pe);                                       \
    TYPE shmem_ctx_##NAME##_g(shmem_ctx_t ctx, const TYPE* source, int pe);                                           \
    void shmem_ctx_##NAME##_iput(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst,       \
                                 size_t nelems, int pe);                                                              \
    void shmem_ctx_##NAME##_iget(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst,       \
                                 size_t nelems, int pe);                                                              \
    void shmem_ctx_##NAME##_put_signal(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems, uint64_t* sig, \
                                       uint64_t signal, int op, int pe);                                              \
    void shmem_ctx_##NAME##_put_signal_nbi(shmem_ctx_t ctx, TYPE* dest, const TYPE* source, size_t nelems,            \
                                           uint64_t* sig, uint64_t signal, int op, int pe);
LOOM_SHMEM_RMA(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(NAME)                                                                                     \
    void shmem_put##NAME(void* dest, const void* source, size_t nelems, int pe);                                     \
    void shmem_get##NAME(void* dest, const void* source, size_t nelems, int pe);                                     \
    void shmem_put##NAME##_nbi(void* dest, const void* source, size_t nelems, int pe);                               \
    void shmem_get##NAME##_nbi(void* dest, const void* source, size_t nelems, int pe);                               \
    void shmem_put##NAME##_signal(void* dest, const void* source, size_t nelems, uint64_t* sig, uint64_t signal,     \
                                  int op, int pe);                                                                   \
    void shmem_put##NAME##_signal_nbi(void* dest, const void* source, size_t nelems, uint64_t* sig, uint64_t signal, \
                                      int op, int pe);                                                               \
    void shmem_ctx_put##NAME(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);                \
    void shmem_ctx_get##NAME(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);                \
    void shmem_ctx_put##NAME##_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);          \
    void shmem_ctx_get##NAME##_nbi(shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe);
LOOM_SHMEM_DECLARE(mem)
LOOM_SHMEM_DECLARE(8)
LOOM_SHMEM_DECLARE(16)
LOOM_SHMEM_DECLARE(32)
LOOM_SHMEM_DECLARE(64)
LOOM_SHMEM_DECLARE(128)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(BITS, BYTES)                                                                         \
    void shmem_iput##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe); \
    void shmem_iget##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe); \
    void shmem_ctx_iput##BITS(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,    \
                              size_t nelems, int pe);                                                           \
    void shmem_ctx_iget##BITS(shmem_ctx_t ctx, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,    \
                              size_t nelems, int pe);
LOOM_SHMEM_SIZES(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

uint64_t shmem_signal_fetch(const uint64_t* sig);
uint64_t shmem_signal_wait_until(uint64_t* sig, int cmp, uint64_t value);

/* Atomics. */
#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                  \
    TYPE shmem_##NAME##_atomic_fetch(const TYPE* source, int pe);                                       \
    void shmem_##NAME##_atomic_set(TYPE* dest, TYPE value, int pe);                                     \
    TYPE shmem_##NAME##_atomic_swap(TYPE* dest, TYPE value, int pe);                                    \
    void shmem_##NAME##_atomic_fetch_nbi(TYPE* fetch, const TYPE* source, int pe);                      \
    void shmem_##NAME##_atomic_swap_nbi(TYPE* fetch, TYPE* dest, TYPE value, int pe);                   \
    TYPE shmem_ctx_##NAME##_atomic_fetch(shmem_ctx_t ctx, const TYPE* source, int pe);                  \
    void shmem_ctx_##NAME##_atomic_set(shmem_ctx_t ctx, TYPE* dest, TYPE value, int pe);                \
    TYPE shmem_ctx_##NAME##_atomic_swap(shmem_ctx_t ctx, TYPE* dest, TYPE value, int pe);               \
    void shmem_ctx_##NAME##_atomic_fetch_nbi(shmem_ctx_t ctx, TYPE* fetch, const TYPE* source, int pe); \
    void shmem_ctx_##NAME##_atomic_swap_nbi(shmem_ctx_t ctx, TYPE* fetch, TYPE* dest, TYPE value, int pe);
LOOM_SHMEM_AMO(LOOM_SHMEM_DECLARE)
LOOM_SHMEM_AMO_FLOATS(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                       \
    TYPE shmem_##NAME##_atomic_compare_swap(TYPE* dest, TYPE cond, TYPE value, int pe);                      \
    TYPE shmem_##NAME##_atomic_fetch_add(TYPE* dest, TYPE value, int pe);                                    \
    TYPE shmem_##NAME##_atomic_fetch_inc(TYPE* dest, int pe);                                                \
    void shmem_##NAME##_atomic_add(TYPE* dest, TYPE value, int pe);                                          \
    void shmem_##NAME##_atomic_inc(TYPE* dest, int pe);                                                      \
    void shmem_##NAME##_atomic_compare_swap_nbi(TYPE* fetch, TYPE* dest, TYPE cond, TYPE value, int pe);     \
    void shmem_##NAME##_atomic_fetch_add_nbi(TYPE* fetch, TYPE* dest, TYPE value, int pe);                   \
    void shmem_##NAME##_atomic_fetch_inc_nbi(TYPE* fetch, TYPE* dest, int pe);                               \
    TYPE shmem_ctx_##NAME##_atomic_compare_swap(shmem_ctx_t ctx, TYPE* dest, TYPE cond, TYPE value, int pe); \
    TYPE shmem_ctx_##NAME##_atomic_fetch_add(shmem_ctx_t ctx, TYPE* dest, TYPE value, int pe);               \
    TYPE shmem_ctx_##NAME##_atomic_fetch_inc(shmem_ctx_t ctx, TYPE* dest, int pe);                           \
    void shmem_ctx_##NAME##_atomic_add(shmem_ctx_t ctx, TYPE* dest, TYPE value, int pe);                     \
    void shmem_ctx_##NAME##_atomic_inc(shmem_ctx_t ctx, TYPE* dest, int pe);
LOOM_SHMEM_AMO(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                     \
    void shmem_##NAME##_atomic_and(TYPE* dest, TYPE value, int pe);                        \
    void shmem_##NAME##_atomic_or(TYPE* dest, TYPE value, int pe);                         \
    void shmem_##NAME##_atomic_xor(TYPE* dest, TYPE value, int pe);                        \
    TYPE shmem_##NAME##_atomic_fetch_and(TYPE* dest, TYPE value, int pe);                  \
    TYPE shmem_##NAME##_atomic_fetch_or(TYPE* dest, TYPE value, int pe);                   \
    TYPE shmem_##NAME##_atomic_fetch_xor(TYPE* dest, TYPE value, int pe);                  \
    void shmem_##NAME##_atomic_fetch_and_nbi(TYPE* fetch, TYPE* dest, TYPE value, int pe); \
    void shmem_##NAME##_atomic_fetch_or_nbi(TYPE* fetch, TYPE* dest, TYPE value, int pe);  \
    void shmem_##NAME##_atomic_fetch_xor_nbi(TYPE* fetch, TYPE* dest, TYPE value, int pe);
LOOM_SHMEM_BITWISE(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

/* Waiting for a value. */
#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                                 \
    void shmem_##NAME##_wait_until(TYPE* ivar, int cmp, TYPE value);                                                   \
    int shmem_##NAME##_test(TYPE* ivar, int cmp, TYPE value);                                                          \
    void shmem_##NAME##_wait_until_all(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE value);            \
    size_t shmem_##NAME##_wait_until_any(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE value);          \
    size_t shmem_##NAME##_wait_until_some(TYPE* ivars, size_t nelems, size_t* indices, const int* status, int cmp,     \
                                          TYPE value);                                                                 \
    int shmem_##NAME##_test_all(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE value);                   \
    size_t shmem_##NAME##_test_any(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE value);                \
    size_t shmem_##NAME##_test_some(TYPE* ivars, size_t nelems, size_t* indices, const int* status, int cmp,           \
                                    TYPE value);                                                                       \
    void shmem_##NAME##_wait_until_all_vector(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* values);   \
    size_t shmem_##NAME##_wait_until_any_vector(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* values); \
    size_t shmem_##NAME##_wait_until_some_vector(TYPE* ivars, size_t nelems, size_t* indices, const int* status,       \
                                                 int cmp, TYPE* values);                                               \
    int shmem_##NAME##_test_all_vector(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* values);          \
    size_t shmem_##NAME##_test_any_vector(TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* values);       \
    size_t shmem_##NAME##_test_some_vector(TYPE* ivars, size_t nelems, size_t* indices, const int* status, int cmp,    \
                                           TYPE* values);
LOOM_SHMEM_WAIT(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

#ifdef __cplusplus
}
#endif

#include "collectives.h"
#include "generic.h"
