// Running programs at the message level: not written yet.
#include "loom/base/error.hpp"
#include "sim/engines.hpp"

namespace loom::sim {

std::unique_ptr<LiveSimulation> make_live_message_simulation(std::uint32_t, Programs&, const Options&) {
    throw Error("programs that run are not played at the message level yet");
}

}  // namespace loom::sim
