// Memory that a program lends to a peer (loom_lend), and a peer's that it maps (loom_map).
#include "hca/engine.hpp"
#include "hca/host/copy.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"

namespace loom::hca {

namespace api {

std::uint32_t lend(ibv_qp* abi, const void* memory, std::size_t bytes) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return 0;
    const Guard guard(*a);
    return a->loans.lend(Qp::of(abi), {static_cast<const std::uint8_t*>(memory), bytes});
} catch (const std::exception&) {
    return 0;
}

void take_back(ibv_qp* abi, std::uint32_t loan) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return;
    const Guard guard(*a);
    a->loans.take_back(Qp::of(abi), loan);
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

void* map(ibv_qp* abi, std::uint32_t rkey, std::uint64_t address, std::size_t bytes) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return nullptr;
    const Guard guard(*a);
    return map_remote(Qp::of(abi), rkey, address, bytes);
} catch (const std::exception&) {
    return nullptr;
}

void unmap(void* mapped, std::size_t bytes) {
    unmap_remote(mapped, bytes);
}

}  // namespace api

}  // namespace loom::hca
