// A session on a machine: its sockets, its adapter, its thread, and the core that they keep going.
#pragma once

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "loom/base/clock.hpp"
#include "loom/session/session.hpp"
#include "session/control/socket.hpp"
#include "session/core.hpp"
#include "session/physical/ethernet.hpp"
#include "session/physical/infiniband.hpp"
#include "session/status.hpp"
#include "session/trace.hpp"

namespace loom::session {

class Machine {
public:
    // Opens the session with whoever is at the other end of the connection. Throws Error.
    Machine(ControlSocket control, bool opener, const Options& options, Time deadline);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // With the core, under the lock; then all that can be done is done.
    template <class Work>
    auto with_core(Work&& work) {
        const std::unique_lock lock(mutex_);
        auto result = work(*core_);
        step();
        return result;
    }
    // Without doing anything.
    template <class Work>
    auto look(Work&& work) const {
        const std::unique_lock lock(mutex_);
        return work(*core_);
    }
    // Until `ready(core)`, the end of the session, or the deadline.
    template <class Ready>
    void wait(Ready&& ready, Time deadline);
    void close(Time deadline, const std::string& reason);

private:
    void establish(const Options& options, Time deadline);
    void run();
    void step();
    void listen();
    void handle(const ControlMessage& message);
    void say(const ControlMessage& message);
    void restore_infiniband();
    void answer_reconnect(const Reconnect& reconnect);
    void show();
    [[nodiscard]] Time wake() const;
    [[nodiscard]] bool uses(Network network) const { return core_->composition().settings.network == network; }
    void sleep(Time until, short control_events, bool ethernet, short ethernet_events, bool infiniband);
    void nudge() const;

    const bool opener_;
    mutable std::mutex mutex_;
    std::condition_variable progress_;
    ControlSocket control_;
    std::unique_ptr<Ethernet> ethernet_;
    std::unique_ptr<InfiniBand> infiniband_;
    std::unique_ptr<Sealer> sealer_;
    std::ofstream trace_file_;
    std::unique_ptr<Trace> trace_;
    std::unique_ptr<StatusFile> status_;
    std::unique_ptr<Core> core_;
    std::string lost_;  // why the control channel broke, where an exception cannot pass

    Descriptor nudge_;
    Time sleeping_until_{};  // the thread wakes then at the latest
    Time retry_at_{}, shown_at_{};
    Time settle_;
    std::uint32_t generation_ = 0;
    bool reconnecting_ = false;
    unsigned waiters_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

// A thread that waits does the work itself for a while, which saves two switches a message; then it sleeps.
template <class Ready>
void Machine::wait(Ready&& ready, Time deadline) {
    constexpr Time spinning = microseconds(60);
    const Time begin = now();
    std::unique_lock lock(mutex_);
    ++waiters_;
    for (;;) {
        step();
        if (ready(*core_) || core_->over()) break;
        const Time at = now();
        if (at >= deadline) break;
        if (at - begin < spinning) {
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
            continue;
        }
        const Time left = std::min(deadline - at, milliseconds(1000));
        progress_.wait_for(lock, std::chrono::nanoseconds(left.ps / 1000 + 1));
    }
    --waiters_;
}

}  // namespace loom::session
