#include <algorithm>
#include <bit>

#include "hca/objects/objects.hpp"

namespace loom::hca {

void RecvQueue::resize(std::uint32_t wanted, std::uint32_t sge) {
    capacity = wanted;
    max_sge = std::max(1u, sge);
    wqes.resize(std::bit_ceil(std::max(1u, wanted)));
    sges.resize(wqes.size() * max_sge);
    head = tail = 0;
}

}  // namespace loom::hca
