#include "hca/protocol/packet.hpp"

namespace loom::hca {

static_assert(sizeof(Packet) == 64);
static_assert(psn_distance(0, psn_mask) == 1 && psn_distance(psn_mask, 0) == -1);

}  // namespace loom::hca
