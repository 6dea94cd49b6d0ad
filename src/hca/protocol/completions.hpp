// Completions into completion queues, and events to whoever waits for them. The queues are the program's objects; here
// are the completions that a fault holds back, and the descriptors that are still to be written.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "hca/objects/objects.hpp"
#include "hca/service/lock.hpp"

namespace loom::hca {

class Completions {
public:
    Completions(Engine& engine, std::uint64_t delay_ns) : engine_(engine), delay_ns_(delay_ns) {}

    void complete(Cq& cq, const ibv_wc& wc, bool solicited);
    void complete_send(Qp& qp, SendWqe& wqe, ibv_wc_status status);
    void async_event(Context& context, ibv_event_type type, void* element);
    void forget(const Qp& qp);  // of a queue pair that is gone or begins anew
    void forget(const Context& context);

    // Those that a fault holds back.
    [[nodiscard]] std::uint64_t next_late_at() const { return late_.empty() ? 0 : late_.front().at; }  // ns; 0: none
    void deliver_late();

    // Descriptors of events to be written when the engine's mutex is free again: whoever waits for them needs it at
    // once.
    void signal(int fd);
    [[nodiscard]] bool signals_due() const { return signals_due_ != 0; }
    void write_signals(std::unique_lock<EngineLock>& lock);  // and lets go of it
    void settle_signals();  // all are written when it returns: a descriptor is about to be closed or read

private:
    void deliver(Cq& cq, const ibv_wc& wc, bool solicited);

    struct Late {
        std::uint64_t at;  // ns
        Cq* cq;
        ibv_wc wc;
        bool solicited;
    };

    Engine& engine_;
    std::uint64_t delay_ns_;
    std::deque<Late> late_;  // the next first
    std::array<int, 16> signals_{};
    std::uint32_t signals_due_ = 0;
    std::atomic<std::uint32_t> signalling_{0};  // threads that write some, outside of the mutex
};

}  // namespace loom::hca
