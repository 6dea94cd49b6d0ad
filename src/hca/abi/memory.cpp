// Protection domains and memory regions.
#include <sys/mman.h>
#include <unistd.h>

#include "hca/abi/exports.hpp"
#include "hca/abi/trace.hpp"
#include "hca/interface/api.hpp"

namespace loom::hca::abi {

namespace {

// As the kernel checks (ib_check_mr_access): who may write from afar must be allowed to write at home.
int check_access(unsigned access) {
    constexpr unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                               IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                               IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;
    constexpr unsigned writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((access & writes) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
    if ((access & ~known) != 0) return EINVAL;
    if ((access & IBV_ACCESS_ON_DEMAND) != 0) return EOPNOTSUPP;
    return 0;
}

// An adapter pins the pages and so finds out whether they are there; here the kernel is asked (ENOMEM: some are not).
int check_range(const void* address, std::size_t length) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (begin + length < begin) return EINVAL;
    const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = begin / page * page;
    return msync(reinterpret_cast<void*>(first), begin + length - first, MS_ASYNC) == 0 ? 0 : EFAULT;
}

ibv_mr* register_memory(const char* call, ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
    int error = check_access(access);
    if (error == 0) error = check_range(address, length);
    if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
    ibv_mr* mr = nullptr;
    if (error == 0)
        mr = api::reg_mr(pd, address, length, iova, access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE});
    else
        errno = error;
    if (mr == nullptr)
        trace("%s(addr=%p, length=%zu, access=0x%x) = NULL %s", call, address, length, access, error_name(errno));
    else
        trace("%s(addr=%p, length=%zu, iova=0x%llx, access=0x%x) = %p lkey=0x%x rkey=0x%x", call, address, length,
              static_cast<unsigned long long>(iova), access, static_cast<void*>(mr), mr->lkey, mr->rkey);
    return mr;
}

int check_rereg(int flags, const ibv_pd* pd, const void* address, std::size_t length, int access) {
    constexpr int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    if ((flags & ~known) != 0 || flags == 0) return EINVAL;
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == nullptr) return EINVAL;
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
        if (const int error = check_access(static_cast<unsigned>(access)); error != 0) return error;
    if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) == 0) return 0;
    if (length == 0 || address == nullptr) return EINVAL;
    return check_range(address, length);
}

}  // namespace

}  // namespace loom::hca::abi

using namespace loom::hca;
using namespace loom::hca::abi;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    ibv_pd* pd = api::alloc_pd(Context::of(context));
    if (pd == nullptr)
        trace("ibv_alloc_pd(%s) = NULL %s", context->device->name, error_name(errno));
    else
        trace("ibv_alloc_pd(%s) = %p", context->device->name, static_cast<void*>(pd));
    return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
    const int error = api::dealloc_pd(pd);
    trace("ibv_dealloc_pd(%p) = %s", static_cast<void*>(pd), error_name(error));
    return error;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
    return register_memory("ibv_reg_mr", pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                           static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
    return register_memory("ibv_reg_mr_iova", pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned int access) {
    return register_memory("ibv_reg_mr_iova2", pd, address, length, iova, access);
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) {
    if (const int error = check_rereg(flags, pd, address, length, access); error != 0) {
        trace("ibv_rereg_mr(%p, flags=0x%x) = ERR_INPUT %s", static_cast<void*>(mr), flags, error_name(error));
        errno = error;
        return IBV_REREG_MR_ERR_INPUT;
    }
    const int error = api::rereg_mr(mr, flags, pd, address, length, access);
    trace("ibv_rereg_mr(%p, flags=0x%x) = %s", static_cast<void*>(mr), flags, error_name(error));
    if (error == 0) return 0;
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
}

int ibv_dereg_mr(ibv_mr* mr) {
    const int error = api::dereg_mr(mr);
    trace("ibv_dereg_mr(%p) = %s", static_cast<void*>(mr), error_name(error));
    return error;
}

// Memory of other devices (GPUs) cannot be reached by a library.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
    trace("ibv_reg_dmabuf_mr() = NULL EOPNOTSUPP");
    errno = EOPNOTSUPP;
    return nullptr;
}

ibv_pd* ibv_import_pd(ibv_context*, uint32_t) {
    trace("ibv_import_pd() = NULL EOPNOTSUPP");
    errno = EOPNOTSUPP;
    return nullptr;
}

void ibv_unimport_pd(ibv_pd*) {}

ibv_mr* ibv_import_mr(ibv_pd*, uint32_t) {
    trace("ibv_import_mr() = NULL EOPNOTSUPP");
    errno = EOPNOTSUPP;
    return nullptr;
}

void ibv_unimport_mr(ibv_mr*) {}

ibv_dm* ibv_import_dm(ibv_context*, uint32_t) {
    trace("ibv_import_dm() = NULL EOPNOTSUPP");
    errno = EOPNOTSUPP;
    return nullptr;
}

void ibv_unimport_dm(ibv_dm*) {}

// Nothing is pinned and children inherit no registration, so that a fork needs no preparation.
int ibv_fork_init() {
    trace("ibv_fork_init() = 0");
    return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
    return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void*, size_t) {
    return 0;
}

int ibv_dofork_range(void*, size_t) {
    return 0;
}

uint32_t loom_lend(ibv_qp* qp, const void* memory, size_t bytes) {
    const std::uint32_t loan = api::lend(qp, memory, bytes);
    trace("loom_lend(qp=0x%x, addr=%p, length=%zu) = %u", qp->qp_num, memory, bytes, loan);
    return loan;
}

void loom_take_back(ibv_qp* qp, uint32_t loan) {
    api::take_back(qp, loan);
    trace("loom_take_back(qp=0x%x, %u)", qp->qp_num, loan);
}

void* loom_map(ibv_qp* qp, uint32_t rkey, uint64_t address, size_t bytes) {
    void* const mapped = api::map(qp, rkey, address, bytes);
    trace("loom_map(qp=0x%x, rkey=0x%x, addr=0x%llx, length=%zu) = %p", qp->qp_num, rkey,
          static_cast<unsigned long long>(address), bytes, mapped);
    return mapped;
}

void loom_unmap(void* mapped, size_t bytes) {
    api::unmap(mapped, bytes);
    trace("loom_unmap(%p, length=%zu)", mapped, bytes);
}
