// A thread of the program that waits for events and serves meanwhile (loom_wait), or wants quiet (loom_hush).
#include <loom/softhca.h>
#include <poll.h>

#include <algorithm>
#include <atomic>

#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/objects/events.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca::api {

namespace {

constexpr std::uint64_t longest_wait_ns = 1'000'000'000'000'000;  // which does not overflow

// Outlives engines: whoever unlocks one for the last time touches it until the call returns.
std::atomic<std::uint32_t> serving{0};

// Events of which the descriptor tells, and that will not be read from it.
bool take_events(Channel& channel) {
    if (channel.events.waiting.empty()) return false;
    for (std::size_t n = channel.events.waiting.size(); n > 0; --n) take_event(channel.events.fd);
    channel.events.waiting.clear();
    return true;
}

int wait_as_others_do(ibv_comp_channel* abi, int other, std::uint64_t most_ns) {
    pollfd both[2] = {{abi->fd, POLLIN, 0}, {other, POLLIN, 0}};
    const std::uint64_t ns = std::min(most_ns, longest_wait_ns);
    const timespec limit{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    if (ppoll(both, 2, &limit, nullptr) <= 0) return 0;
    int result = both[1].revents != 0 ? LOOM_WAIT_OTHER : 0;
    Engine* a = engine_of(abi->context);
    if (a == nullptr || (both[0].revents & POLLIN) == 0) return result;
    const Guard guard(*a);
    a->completions.settle_signals();
    return take_events(Channel::of(abi)) ? result | LOOM_WAIT_EVENT : result;
}

}  // namespace

bool anybody_serves() {
    return serving.load(std::memory_order_acquire) != 0;
}

void nobody_serves() {
    serving.store(0, std::memory_order_relaxed);
}

int wait(ibv_comp_channel* abi, int other, std::uint64_t most_ns) try {
    Engine* a = engine_of(abi->context);
    if (a == nullptr) return errno = ENODEV, -1;
    Channel& channel = Channel::of(abi);
    const std::uint64_t until = now_ns() + std::min(most_ns, longest_wait_ns);
    bool serves = false;
    {
        const Guard guard(*a);
        a->completions.settle_signals();
        if (take_events(channel)) return LOOM_WAIT_EVENT;
        serves = a->service.take_over(channel);
    }
    if (!serves) return wait_as_others_do(abi, other, most_ns);
    // An engine does not go while we are noted as the one that serves; so this is early enough.
    const struct Serving {
        Serving() { serving.fetch_add(1, std::memory_order_relaxed); }
        ~Serving() { serving.fetch_sub(1, std::memory_order_release); }
    } until_return;
    const ServiceThread::Ended ended = a->service.serve_for(channel, other, until);
    return (ended.other ? LOOM_WAIT_OTHER : 0) | (ended.event ? LOOM_WAIT_EVENT : 0);
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), -1;
}

void hush(ibv_context* context, bool on) try {
    Engine* a = engine_of(context);
    if (a == nullptr) return;
    const Guard guard(*a);
    a->service.hush(on);
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

}  // namespace loom::hca::api
