// Protection domains and registered memory: keys, bounds, rights, and the table of them that other processes read.
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

constexpr std::uint32_t remote_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t known_rights = IBV_ACCESS_LOCAL_WRITE | remote_rights | IBV_ACCESS_MW_BIND |
                                       IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING;
constexpr std::uint64_t patience_ns = 2'000'000'000;  // with a copy that does not end: its process is stopped or broken

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

std::uint8_t* Engine::local_memory(std::uint32_t key, std::uint64_t address, std::uint64_t length, const Pd* pd,
                                   std::uint32_t access) {
    const std::uint32_t index = key >> 8;
    if (index >= mrs.size()) return nullptr;
    const Mr* mr = mrs[index];
    if (mr == nullptr || mr->abi.lkey != key || mr->abi.pd != &pd->abi || (mr->access & access) != access)
        return nullptr;
    const std::uint64_t offset = address - mr->iova;
    if (address < mr->iova || offset > mr->abi.length || length > mr->abi.length - offset) return nullptr;
    return static_cast<std::uint8_t*>(mr->abi.addr) + offset;
}

bool Engine::still_registered(std::span<const ibv_sge> pieces, const Pd* pd, std::uint32_t access,
                              std::uint64_t& checked) const {
    if (checked == registrations) return true;
    for (const ibv_sge& piece : pieces) {
        if (piece.length == 0) continue;
        const std::uint32_t index = piece.lkey >> 8;
        const Mr* mr = index < mrs.size() ? mrs[index] : nullptr;
        if (mr == nullptr || mr->abi.lkey != piece.lkey || mr->abi.pd != &pd->abi || (mr->access & access) != access)
            return false;
        const std::uint64_t offset = piece.addr - reinterpret_cast<std::uint64_t>(mr->abi.addr);
        if (offset > mr->abi.length || piece.length > mr->abi.length - offset) return false;
    }
    checked = registrations;
    return true;
}

void Engine::publish(const Mr& mr) {
    MrEntry& entry = directory->mrs[mr.index];
    entry.iova.store(mr.iova, std::memory_order_relaxed);
    entry.length.store(mr.abi.length, std::memory_order_relaxed);
    entry.address.store(reinterpret_cast<std::uint64_t>(mr.abi.addr), std::memory_order_relaxed);
    entry.pd.store(Pd::of(mr.abi.pd).id, std::memory_order_relaxed);
    std::uint64_t inode = 0;
    if (mr.share_fd >= 0) {
        const auto range = mapping_at(reinterpret_cast<std::uint64_t>(mr.abi.addr));
        if (range) {
            inode = range->inode;
            entry.share_offset.store(range->offset + (reinterpret_cast<std::uint64_t>(mr.abi.addr) - range->start),
                                     std::memory_order_relaxed);
        }
    }
    entry.share_fd.store(static_cast<std::uint64_t>(mr.share_fd), std::memory_order_relaxed);
    entry.share_inode.store(inode, std::memory_order_relaxed);
    entry.key.store(mr.abi.rkey | std::uint64_t{mr.access & remote_rights} << 32, std::memory_order_release);
}

// A copy counts itself in before it looks at the key, and the key is gone before we look at the counts: one of the two
// sees the other. Two counts, by epoch, so that copies which begin later do not make us wait.
void Engine::withdraw(const Mr& mr) {
    ++registrations;
    directory->mrs[mr.index].key.store(0, std::memory_order_seq_cst);
    // Whoever has our words copies already, while its own may still lie unread: then we could not see its counts.
    for (const auto& peer : peers)
        if (const std::shared_ptr<Peer> keep = peer; keep != nullptr && keep->state == Peer::State::connecting)
            hear(*keep);
    const auto wait_for = [&](std::uint32_t parity) {
        const std::uint64_t until = now_ns() + patience_ns;
        for (std::size_t i = 0; i < up.size(); ++i) {
            Peer& peer = *up[i];
            if (peer.self) continue;
            for (unsigned tries = 0; peer.in->copying[parity].load(std::memory_order_seq_cst) != 0; ++tries) {
                if (tries < 100) continue;
                char probe = 0;
                if (recv(peer.socket, &probe, 1, MSG_PEEK | MSG_DONTWAIT) == 0 || now_ns() > until) {
                    lose(peer);
                    --i;
                    break;
                }
                usleep(20);
            }
        }
    };
    const std::uint32_t epoch = directory->epoch.load(std::memory_order_relaxed);
    wait_for(~epoch & 1);
    directory->epoch.store(epoch + 1, std::memory_order_seq_cst);
    wait_for(epoch & 1);
}

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
    const Guard guard(*a);
    std::uint32_t index = 0;
    for (std::uint32_t tried = 0; tried < mrs_per_process && index == 0; ++tried) {
        const std::uint32_t candidate = a->next_mr;
        a->next_mr = a->next_mr + 1 == mrs_per_process ? 1 : a->next_mr + 1;
        if (candidate >= a->mrs.size()) {
            a->mr_generation.resize(candidate + 1, static_cast<std::uint8_t>(a->random()));
            a->mrs.resize(candidate + 1, nullptr);
        }
        if (a->mrs[candidate] == nullptr) index = candidate;
    }
    if (index == 0) return errno = ENOMEM, nullptr;
    mr->abi.context = abi->context;
    mr->abi.pd = abi;
    mr->abi.addr = address;
    mr->abi.length = length;
    mr->abi.handle = index;
    mr->abi.lkey = mr->abi.rkey = index << 8 | ++a->mr_generation[index];
    mr->iova = iova;
    mr->access = access;
    mr->index = index;
    a->publish(*mr);
    ++Pd::of(abi).users;
    return &(a->mrs[index] = mr.release())->abi;
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
    a->withdraw(mr);
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
    a->publish(mr);  // under the same key, as adapters do: peers need not be told of a new one
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int dereg_mr(ibv_mr* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    Mr& mr = Mr::of(abi);
    a->withdraw(mr);
    a->mrs[mr.index] = nullptr;
    --Pd::of(abi->pd).users;
    delete &mr;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

}  // namespace api

}  // namespace loom::hca
