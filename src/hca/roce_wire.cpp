#include "hca/roce_wire.hpp"

namespace loom::hca {

bool RoceWire::is_local(const Gid&) {
    return true;
}
bool RoceWire::open(Adapter&, const HcaConfig&) {
    return false;
}
bool RoceWire::join(Adapter&, const HcaConfig&, const Gid&) {
    return false;
}
bool RoceWire::send(Qp&, const Path&, const Packet&, std::span<const ibv_sge>, std::uint32_t, std::uint32_t,
                    const std::uint8_t*) {
    return true;
}
bool RoceWire::send_run(Adapter&, Qp&, SendWqe&, std::span<const ibv_sge>) {
    return true;
}
bool RoceWire::may_send(const Qp&) {
    return true;
}
void RoceWire::progressed(Qp&) {}
void RoceWire::lost(Qp&) {}
void RoceWire::forget(Qp&) {}
bool RoceWire::active() const {
    return false;
}
void RoceWire::poll(Adapter&) {}
std::uint64_t RoceWire::next_deadline() const {
    return 0;
}
void RoceWire::close_descriptors() {}

}  // namespace loom::hca
