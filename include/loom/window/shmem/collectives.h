/* OpenSHMEM's collectives, of teams and of active sets. For shmem.h alone. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                            \
    int shmem_##NAME##_broadcast(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nelems, int root);     \
    int shmem_##NAME##_collect(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nelems);                 \
    int shmem_##NAME##_fcollect(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nelems);                \
    int shmem_##NAME##_alltoall(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nelems);                \
    int shmem_##NAME##_alltoalls(shmem_team_t team, TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst, \
                                 size_t nelems);
LOOM_SHMEM_RMA(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE
int shmem_broadcastmem(shmem_team_t team, void* dest, const void* source, size_t nelems, int root);
int shmem_collectmem(shmem_team_t team, void* dest, const void* source, size_t nelems);
int shmem_fcollectmem(shmem_team_t team, void* dest, const void* source, size_t nelems);
int shmem_alltoallmem(shmem_team_t team, void* dest, const void* source, size_t nelems);
int shmem_alltoallsmem(shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);

#define LOOM_SHMEM_DECLARE(BITS)                                                                                       \
    void shmem_broadcast##BITS(void* dest, const void* source, size_t nelems, int root, int start, int log_stride,     \
                               int size, long* psync);                                                                 \
    void shmem_collect##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride, int size,       \
                             long* psync);                                                                             \
    void shmem_fcollect##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride, int size,      \
                              long* psync);                                                                            \
    void shmem_alltoall##BITS(void* dest, const void* source, size_t nelems, int start, int log_stride, int size,      \
                              long* psync);                                                                            \
    void shmem_alltoalls##BITS(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int start, \
                               int log_stride, int size, long* psync);
LOOM_SHMEM_DECLARE(32)
LOOM_SHMEM_DECLARE(64)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                 \
    int shmem_##NAME##_sum_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce);  \
    int shmem_##NAME##_prod_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce); \
    int shmem_##NAME##_min_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce);  \
    int shmem_##NAME##_max_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce);
LOOM_SHMEM_RMA(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

#define LOOM_SHMEM_DECLARE(NAME, TYPE)                                                                \
    int shmem_##NAME##_and_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce); \
    int shmem_##NAME##_or_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce);  \
    int shmem_##NAME##_xor_reduce(shmem_team_t team, TYPE* dest, const TYPE* source, size_t nreduce);
#define LOOM_SHMEM_REDUCE_BITWISE(X)                                                                                \
    X(uchar, unsigned char)                                                                                         \
    X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)        \
        X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) \
            X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)
LOOM_SHMEM_REDUCE_BITWISE(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE

/* Of active sets. */
#define LOOM_SHMEM_OF_SET(NAME, TYPE, OP)                                                                     \
    void shmem_##NAME##_##OP##_to_all(TYPE* dest, const TYPE* source, int nreduce, int start, int log_stride, \
                                      int size, TYPE* pwrk, long* psync);
#define LOOM_SHMEM_SET_BITS(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define LOOM_SHMEM_SET_NUMBERS(X) LOOM_SHMEM_SET_BITS(X) LOOM_SHMEM_FLOATS(X)
#define LOOM_SHMEM_DECLARE(NAME, TYPE) \
    LOOM_SHMEM_OF_SET(NAME, TYPE, and) LOOM_SHMEM_OF_SET(NAME, TYPE, or) LOOM_SHMEM_OF_SET(NAME, TYPE, xor)
LOOM_SHMEM_SET_BITS(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE
#define LOOM_SHMEM_DECLARE(NAME, TYPE) \
    LOOM_SHMEM_OF_SET(NAME, TYPE, sum) \
    LOOM_SHMEM_OF_SET(NAME, TYPE, prod) LOOM_SHMEM_OF_SET(NAME, TYPE, min) LOOM_SHMEM_OF_SET(NAME, TYPE, max)
LOOM_SHMEM_SET_NUMBERS(LOOM_SHMEM_DECLARE)
#undef LOOM_SHMEM_DECLARE
#undef LOOM_SHMEM_OF_SET

#ifdef __cplusplus
}
#endif
