// Addresses for datagrams: of one queue pair, and groups of them.
#include <cerrno>
#include <cstring>
#include <memory>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/roce/gid.hpp"

namespace loom::hca::api {

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) try {
    Engine* a = engine_of(pd->context);
    if (a == nullptr) return errno = ENODEV, nullptr;
    if (attr->port_num != 1) return errno = EINVAL, nullptr;
    const Guard guard(*a);
    auto path = find_path(*a, Context::of(pd->context), *attr, {}, false);
    if (path == nullptr) return errno = EINVAL, nullptr;
    auto ah = std::make_unique<Ah>();
    ah->abi.context = pd->context;
    ah->abi.pd = pd;
    ah->attr = *attr;
    ah->path = std::move(path);
    ++Pd::of(pd).users;
    return &ah.release()->abi;
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), nullptr;
}

int destroy_ah(ibv_ah* abi) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    --Pd::of(abi->pd).users;
    delete &Ah::of(abi);
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int attach_mcast(ibv_qp* abi, const ibv_gid* gid, std::uint16_t) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    Gid group;
    std::memcpy(group.data(), gid->raw, group.size());
    if (!roce::is_multicast(group) || abi->qp_type != IBV_QPT_UD) return EINVAL;
    const Guard guard(*a);
    return a->groups.attach(Qp::of(abi), *gid);
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int detach_mcast(ibv_qp* abi, const ibv_gid* gid, std::uint16_t) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return ENODEV;
    const Guard guard(*a);
    return a->groups.detach(Qp::of(abi), *gid);
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

}  // namespace loom::hca::api
