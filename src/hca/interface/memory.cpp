// Protection domains and memory regions as programs use them.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "loom/base/mapping.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t known_rights = IBV_ACCESS_LOCAL_WRITE | remote_rights | IBV_ACCESS_MW_BIND |
                                       IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING;

// Whether the program may use the memory as it wants to register it, as pinning would find out. 0 or errno.
int usable(std::uint64_t address, std::uint64_t length, bool write) {
    for (std::uint64_t at = address; at < address + length;) {
        const auto range = mapping_at(at);
        if (!range || !range->readable || (write && !range->writable)) return EFAULT;
        at = range->end;
    }
    return 0;
}

int check(const void* address, std::size_t length, std::uint32_t access) {
    if ((access & IBV_ACCESS_ON_DEMAND) != 0) return EOPNOTSUPP;  // no on-demand paging here
    if ((access & ~known_rights & ~IBV_ACCESS_OPTIONAL_RANGE) != 0) return EINVAL;
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
        return EINVAL;
    const auto start = reinterpret_cast<std::uint64_t>(address);
    if (length == 0 || start + length < start) return EINVAL;
    return usable(start, length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

}  // namespace

namespace api {

ibv_pd* alloc_pd(Context& context) try {
    Engine* a = engine_of(context.abi());
    if (a == nullptr) return errno = ENODEV, nullptr;
    const Guard guard(*a);
    auto pd = std::make_unique<Pd>();
    pd->abi.context = context.abi();
    pd->id = a->next_pd++;
    pd->abi.handle = pd->id;
    ++context.users;
    return &pd.release()->abi;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int dealloc_pd(ibv_pd* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Pd& pd = Pd::of(abi);
    if (pd.users != 0) return EBUSY;
    --Context::of(abi->context).users;
    delete &pd;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

ibv_mr* reg_mr(ibv_pd* abi, void* address, std::size_t length, std::uint64_t iova, std::uint32_t access) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (const int error = check(address, length, access); error != 0) return errno = error, nullptr;
    auto mr = std::make_unique<Mr>();
    const auto start = reinterpret_cast<std::uint64_t>(address);
    if ((access & remote_rights) != 0) {
        const auto range = mapping_at(start);
        if (range && range->shared && range->writable && range->memfd && start + length <= range->end)
            mr->share_fd = duplicate_sealed_memfd(range->inode);
    }
    mr->abi.context = abi->context;
    mr->abi.pd = abi;
    mr->abi.addr = address;
    mr->abi.length = length;
    mr->iova = iova;
    mr->access = access;
    const Guard guard(*a);
    Mr* const made = a->memory.add(std::move(mr));
    if (made == nullptr) return errno = ENOMEM, nullptr;
    ++Pd::of(abi).users;
    return &made->abi;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int rereg_mr(ibv_mr* abi, int flags, ibv_pd* pd, void* address, std::size_t length, int access) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Mr& mr = Mr::of(abi);
    if ((flags & ~(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)) != 0)
        return EINVAL;
    const bool moved = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    void* new_address = moved ? address : abi->addr;
    const std::size_t new_length = moved ? length : abi->length;
    const std::uint32_t new_access =
        (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? static_cast<std::uint32_t>(access) : mr.access;
    if (const int error = check(new_address, new_length, new_access); error != 0) return error;
    const Guard guard(*a);
    a->memory.withdraw(mr);
    if (moved) {
        mr.close_share();
        mr.iova = reinterpret_cast<std::uint64_t>(address);
    }
    abi->addr = new_address;
    abi->length = new_length;
    mr.access = new_access;
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        --Pd::of(abi->pd).users;
        abi->pd = pd;
        ++Pd::of(pd).users;
    }
    a->memory.publish(mr);  // under the same key, as adapters do: peers need not be told of a new one
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int dereg_mr(ibv_mr* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Mr& mr = Mr::of(abi);
    a->memory.remove(mr);
    --Pd::of(abi->pd).users;
    delete &mr;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

}  // namespace api

}  // namespace loom::hca
