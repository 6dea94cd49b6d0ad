// The engine of this process: begun with the first device, ended with the last, left behind by a fork.
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "hca/device/counters.hpp"
#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/service/clock.hpp"
#include "loom/base/descriptor.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t exit_patience_ns = 200'000'000;  // with a mutex that is held when the program exits

std::atomic<Engine*> current{nullptr};
std::mutex opening;  // of the first and last device

void before_fork() {
    opening.lock();
    if (Engine* a = current.load(std::memory_order_acquire)) a->mutex.lock();
}
void after_fork_in_parent() {
    if (Engine* a = current.load(std::memory_order_acquire)) a->mutex.unlock();
    opening.unlock();
}
void after_fork_in_child() {
    api::forked();
    opening.unlock();
}

void at_exit() {
    Engine* a = current.load(std::memory_order_acquire);
    if (a == nullptr) return;
    // The thread holds it for moments; a program that exits inside of a call, from a signal handler, for ever.
    const std::uint64_t until = now_ns() + exit_patience_ns;
    while (!a->mutex.try_lock()) {
        if (now_ns() > until) return;
        sched_yield();
    }
    a->responder.settle(Acks::now);
    for (Qp* qp : a->queue_pairs.all())
        if (qp != nullptr) a->responder.settle_up(*qp);
    a->peers.ring_bells();
    a->completions.settle_signals();
    a->write_stats();
    a->peers.say_goodbye();
    a->mutex.unlock();
}

}  // namespace

Engine* engine() {
    return current.load(std::memory_order_acquire);
}

std::vector<Counter> own_counters(std::uint32_t hca) {
    const std::lock_guard lock(opening);  // the engine must not go while it is read
    const Engine* a = engine();
    static const PortCounters nothing{};
    return named_counters(a == nullptr ? nothing : a->home.directory->counters[hca]);
}

namespace api {

int open(Context& context, const HcaConfig& hca) try {
    const std::lock_guard lock(opening);
    Engine* a = current.load(std::memory_order_acquire);
    Descriptor async(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
    if (!async.open()) return errno;
    if (a == nullptr) {
        static const bool registered =
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0 && std::atexit(at_exit) == 0;
        if (!registered) return ENOMEM;
        auto fresh = std::make_unique<Engine>(config());
        if (const int error = fresh->start(); error != 0) return error;
        a = fresh.release();
        current.store(a, std::memory_order_release);
    }
    const Guard guard(*a);
    ++a->contexts;
    context.hca = &hca;
    context.engine = a;
    context.counters = &a->home.directory->counters[hca.index];
    context.verbs.context.async_fd = context.async.fd = async.release();
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

int close(Context& context) try {
    const std::lock_guard lock(opening);
    Engine* a = engine_of(context.abi());
    ::close(context.async.fd);
    if (a == nullptr) return 0;
    {
        const Guard guard(*a);
        a->abandon(context);
        if (--a->contexts != 0) return 0;
    }
    a->stop();
    while (anybody_serves()) sched_yield();  // it has said that it goes, and still unlocks
    current.store(nullptr, std::memory_order_release);
    delete a;
    return 0;
} catch (const std::exception& thrown) {
    return errno_of(thrown);
}

void forked() {
    nobody_serves();
    Engine* a = current.exchange(nullptr, std::memory_order_acq_rel);
    if (a == nullptr) return;
    // The engine stays behind as it is: its thread, its memory and its mutex are the parent's. Its descriptors must not
    // keep the parent's connections open.
    a->home.close_descriptor();
    a->service.close_descriptors();
    a->loans.close_descriptors();
    a->peers.close_descriptors();
    a->memory.close_shares();
    a->roce->close_descriptors();
}

}  // namespace api

}  // namespace loom::hca
