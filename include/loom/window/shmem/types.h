/* The types of OpenSHMEM's typed functions, as lists: X(name, type). For shmem.h alone. */
#pragma once

#define LOOM_SHMEM_FLOATS(X) X(float, float) X(double, double) X(longdouble, long double)

#define LOOM_SHMEM_NAMED_INTEGERS(X)                                                                               \
    X(char, char)                                                                                                  \
    X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) X(uchar, unsigned char) \
        X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)

#define LOOM_SHMEM_SIZED_INTEGERS(X)                                                                                \
    X(int8, int8_t)                                                                                                 \
    X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) \
        X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Of puts and gets. */
#define LOOM_SHMEM_RMA(X) LOOM_SHMEM_FLOATS(X) LOOM_SHMEM_NAMED_INTEGERS(X) LOOM_SHMEM_SIZED_INTEGERS(X)
/* No two of them are the same type. */
#define LOOM_SHMEM_RMA_DISTINCT(X) LOOM_SHMEM_FLOATS(X) LOOM_SHMEM_NAMED_INTEGERS(X)

/* Of atomics. */
#define LOOM_SHMEM_AMO_DISTINCT(X)                                                     \
    X(int, int)                                                                        \
    X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long) \
        X(ulonglong, unsigned long long)
#define LOOM_SHMEM_AMO(X)      \
    LOOM_SHMEM_AMO_DISTINCT(X) \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
/* Those that fetch, set and swap alone have beside them. */
#define LOOM_SHMEM_AMO_FLOATS(X) X(float, float) X(double, double)
#define LOOM_SHMEM_BITWISE_DISTINCT(X) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define LOOM_SHMEM_BITWISE(X) \
    LOOM_SHMEM_BITWISE_DISTINCT(X) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* Of waits and tests. */
#define LOOM_SHMEM_WAIT_DISTINCT(X) LOOM_SHMEM_AMO_DISTINCT(X) X(short, short) X(ushort, unsigned short)
#define LOOM_SHMEM_WAIT(X) LOOM_SHMEM_AMO(X) X(short, short) X(ushort, unsigned short)

/* Untyped: X(bits, bytes). */
#define LOOM_SHMEM_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)
