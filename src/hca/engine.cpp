// The engine's life, and the round that takes in and sends out.
#include "hca/engine.hpp"

#include <sys/prctl.h>
#include <sys/random.h>

#include <cerrno>

namespace loom::hca {

Engine::Engine(const Config& asked)
    : config(asked),
      faults(asked.faults),
      peers(*this),
      memory(*this),
      loans(peers),
      groups(*this),
      ring(*this),
      nowhere(*this),
      roce(std::make_unique<RoceWire>(*this)),
      queue_pairs(*this),
      requester(*this),
      responder(*this),
      completions(*this, faults.completion_delay_ns()),
      service(*this) {}

int Engine::start() {
    if (getrandom(&home.nonce, sizeof home.nonce, 0) != sizeof home.nonce) return errno;
    random = Random(faults.any() ? config.faults.seed : home.nonce);
    if (const int error = service.open(); error != 0) return error;
    if (const int error = peers.take_slot(); error != 0) return error;
    if (const int error = home.open(config); error != 0) return error;
    if (!peers.make_self()) return errno;
    queue_pairs.begin_at(2 + static_cast<std::uint32_t>(random() % (qps_per_process / 2)));
    if (config.ptracer) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // Yama would let only parents copy
    service.watch(peers.listener(), Watched::listener, 0);
    return service.start();
}

void Engine::stop() {
    service.stop();
    const Guard guard(*this);
    write_stats();
    peers.say_goodbye();
    roce.reset();
    peers.clear();
}

// What a program leaves behind when it closes a device must not be reached any more. The memory stays: it is the
// program's to give back.
void Engine::abandon(const Context& context) {
    progress();  // what has come before the end counts, and is acknowledged
    queue_pairs.remove_all(context);
    completions.forget(context);
    memory.remove_all(context.verbs.context);
}

void Engine::progress(Acks acks) {
    if (completions.next_late_at() != 0) completions.deliver_late();
    bool arrived = false;
    const std::vector<Peer*>& up = peers.up();
    for (std::size_t i = 1; i < up.size(); ++i) {  // the first is ourselves
        Peer& peer = *up[i];
        if (peer.has_mail()) {
            ring.drain(peer);
            arrived = true;
        }
        if (i < up.size() && up[i] == &peer && !peer.blocked.empty()) peers.run_blocked(peer);
    }
    if (roce->active() && roce->poll(acks == Acks::may_wait) != 0) arrived = true;
    if (responder.owes()) responder.settle(arrived ? acks : Acks::now);
    Peer& self = peers.self();
    if (self.has_mail()) ring.drain_self();
    if (!self.blocked.empty()) peers.run_blocked(self);
    if (peers.some_silent()) peers.run_silent();
    requester.look_at_timers();
}

}  // namespace loom::hca
