#include "hca/protocol/packet.hpp"

namespace loom::hca {

static_assert(sizeof(Packet) == 64);

}  // namespace loom::hca
