// verbs.h for the files that define its functions: what it declares is exported, everything else is hidden.
#pragma once

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#include <loom/softhca.h>

// In libibverbs, but not in its header.
extern "C" {
const char* ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char* folder, const char* file, char* text, size_t size);
int ibv_dontfork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size);
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index, int* type);
}
#pragma GCC visibility pop

// verbs.h hides these functions behind macros of the same names.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define LOOM_EXPORT extern "C" __attribute__((visibility("default")))
