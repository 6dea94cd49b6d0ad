// The engine of one process: its queue pairs, the wires to other processes, and the thread that serves them when the
// program does not. One mutex guards all of it; the copies and checks done under it are short, and programs mostly poll
// from one thread. The parts keep their own state; this puts them together.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "hca/device/config.hpp"
#include "hca/device/faults.hpp"
#include "hca/host/groups.hpp"
#include "hca/host/home.hpp"
#include "hca/host/loans.hpp"
#include "hca/host/peers.hpp"
#include "hca/host/registered_memory.hpp"
#include "hca/objects/objects.hpp"
#include "hca/protocol/completions.hpp"
#include "hca/protocol/queue_pairs.hpp"
#include "hca/protocol/requester.hpp"
#include "hca/protocol/responder.hpp"
#include "hca/service/lock.hpp"
#include "hca/service/service_thread.hpp"
#include "hca/wire/ring.hpp"
#include "hca/wire/roce_wire.hpp"
#include "loom/base/random.hpp"

namespace loom::hca {

struct Engine {
    explicit Engine(const Config& config);
    Engine(const Engine&) = delete;

    int start();  // 0 or errno
    void stop();
    void abandon(const Context& context);  // that is being closed
    void progress(Acks acks = Acks::now);  // takes what has arrived, sends what can be sent
    void write_stats();

    EngineLock mutex;
    std::condition_variable_any acknowledged;  // of events
    const Config& config;
    Random random{0};
    std::uint32_t contexts = 0;
    std::uint32_t next_pd = 1, next_srq = 1;

    Faults faults;
    Home home;
    Peers peers;
    RegisteredMemory memory;
    Loans loans;
    Groups groups;
    RingWire ring;
    Nowhere nowhere;
    std::unique_ptr<RoceWire> roce;
    QueuePairs queue_pairs;
    Requester requester;
    Responder responder;
    Completions completions;
    ServiceThread service;
};

// The engine of this process, or null while no device is open. After a fork the child has none.
Engine* engine();
// The same, when it is the one that the device was opened with. In the child of a fork the objects it has inherited
// have none, also after it has opened a device of its own.
inline Engine* engine_of(ibv_context* context) {
    Engine* a = engine();
    return a != nullptr && Context::of(context).engine == a ? a : nullptr;
}

// Holds the mutex; on the way out rings the bells of those written to, and tells of events.
class Guard {
public:
    explicit Guard(Engine& engine) : engine_(engine), lock_(engine.mutex) {}
    ~Guard() {
        if (engine_.peers.some_touched()) engine_.peers.ring_bells();
        if (engine_.completions.signals_due()) engine_.completions.write_signals(lock_);
    }
    std::unique_lock<EngineLock>& lock() { return lock_; }

private:
    Engine& engine_;
    std::unique_lock<EngineLock> lock_;
};

}  // namespace loom::hca
