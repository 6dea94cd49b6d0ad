// Who serves the engine while the program does not poll: its own thread, or one of the program's that waits for an
// event and would only be woken by ours.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <loom/softhca.h>
#include "hca/engine.hpp"
#include "hca/host/barrier.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/objects/events.hpp"
#include "hca/wire/roce_wire.hpp"
#include "loom/base/scheduling.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t tick_ns = 300'000;      // between looks while the program polls
constexpr std::uint64_t linger_ns = 50'000;     // awake after the last packet, when a core is free for it
constexpr std::uint64_t dense_polls = 64;       // in a tick: fewer are not
constexpr std::uint64_t absent_ns = 2'000'000;  // after which whoever served and went is not coming back
constexpr std::uint64_t longest_wait_ns = 1'000'000'000'000'000;  // which does not overflow
constexpr std::uint64_t long_ns = 100'000'000;    // after which whoever waits is not expected to go soon
constexpr std::chrono::milliseconds stand_by{4};  // between looks whether anybody still serves

timespec to_timespec(std::uint64_t ns) {
    return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

std::uint64_t Engine::nap_ns(std::uint64_t now) {
    Moderation::State state;
    std::erase_if(far_writes, [&](std::uint32_t qpn) {
        const Qp* qp = qps[qpn & (qps_per_process - 1)];
        if (qp == nullptr || qp->qpn != qpn || !qp->in_message || !qp->message_is_write) return true;
        // What ends first is what is waited for.
        if (state.missing == 0 || qp->write_left < state.missing) state.missing = qp->write_left;
        return false;
    });
    for (Qp* qp : timed) {
        if (qp->path == nullptr || qp->path->kind != Path::Kind::roce || !roce->flow(*qp).asked) continue;
        const std::int32_t packets = psn_distance(qp->sent_psn, qp->unacked_psn);
        if (packets <= 0) continue;
        const std::uint64_t bytes = std::uint64_t{qp->mtu} * static_cast<std::uint32_t>(packets);
        const bool more = qp->sq_next != qp->sq_tail;  // waits for the window
        std::uint64_t& least = more ? state.followed : state.last;
        if (least == 0 || bytes < least) least = bytes;
    }
    return moderation.nap_ns(far_bytes_in, far_bytes_acknowledged, state, now);
}

bool Engine::look_and_sleep(Watch& w, int other, std::uint64_t until) {
    static const bool may_linger = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    const bool waits = &w == &waiters_watch;  // not our thread
    timespec timeout{};
    bool forever = false, napping = false;
    {
        const Guard guard(*this);
        if (stopping || (served && !waits)) return false;
        if (w.packets) roce->drain();
        progress();
        run_timers(now_ns());
        const std::uint64_t count = polls.load(std::memory_order_relaxed);
        const std::uint64_t look = now_ns();
        const bool was_polled = w.polled;
        w.polled = attending.load(std::memory_order_relaxed);
        if (w.polled && was_polled && look - w.looked_at >= tick_ns && count - w.seen_polls < dense_polls) {
            attending.store(false, std::memory_order_relaxed);
            idle_polls = 0;
            w.polled = false;
        }
        if (!was_polled || look - w.looked_at >= tick_ns) {
            w.seen_polls = count;
            w.looked_at = look;
        }
        if (!w.polled) {
            // Whoever writes after this rings; what was written before is taken now.
            if (directory->wake.exchange(1, std::memory_order_relaxed) == 0) w.reached = heavy_barrier();
            progress();
        }
        if (waits && !waited_for->events.waiting.empty()) {
            w.packets = false;
            return false;
        }
        const std::uint64_t now = now_ns(), at = next_deadline();
        std::uint64_t wait = at == 0 ? 0 : at > now ? at - now : 0;
        if (w.polled || !w.reached) wait = at == 0 ? tick_ns : std::min(tick_ns, wait);
        forever = !w.polled && w.reached && at == 0;
        // Where something was sent or came, more will be sent soon, and its timer need not wake us.
        if (forever && std::exchange(talked, false)) {
            forever = false;
            wait = RoceFlow::first_probe_ns;
        }
        if (w.packets && !w.polled) {
            if (const std::uint64_t nap = nap_ns(now); nap != 0) {
                napping = true;
                wait = forever ? nap : std::min(wait, nap);
                forever = false;
            }
        }
        if (until != 0) {
            const std::uint64_t left = until > now ? until - now : 0;
            wait = forever ? left : std::min(wait, left);
            forever = false;
        }
        timeout = to_timespec(wait);
        sleeps_until = forever ? 0 : now + wait;
        asleep.store(!w.polled, std::memory_order_relaxed);
        waiter_sleeps = waits;
    }
    // An epoll set can be polled: unlike epoll_pwait2, ppoll is everywhere, and its timeout is as fine.
    pollfd sets[2] = {{w.polled || napping ? quiet_set : whole_set, POLLIN, 0}, {other, POLLIN, 0}};
    epoll_event events[32];
    const auto sleep = [&] {
        const bool ready = ppoll(sets, waits ? 2 : 1, forever ? nullptr : &timeout, nullptr) > 0;
        return ready && sets[0].revents != 0 ? epoll_wait(sets[0].fd, events, 32, 0) : 0;
    };
    int count = sleep();
    // Nothing came, and the program polls as densely as before: it does all there is to do.
    while (count == 0 && sets[1].revents == 0 && w.polled && attending.load(std::memory_order_relaxed) &&
           (waits || !served.load(std::memory_order_relaxed))) {
        const std::uint64_t dense = polls.load(std::memory_order_relaxed);
        if (dense - w.seen_polls < dense_polls) break;
        w.seen_polls = dense;
        w.looked_at = now_ns();
        if (until != 0 && w.looked_at >= until) break;
        timeout = {0, tick_ns};
        count = sleep();
    }
    bool busy = false;
    w.packets = napping;
    {
        const Guard guard(*this);
        // Another has taken over meanwhile, and sleeps: the bell is for that one.
        if (served && !waits) return false;
        asleep.store(false, std::memory_order_relaxed);
        if (waits) waiter_sleeps = false;
        for (int i = 0; i < count; ++i) {
            const auto what = static_cast<Watched>(events[i].data.u64 >> 32);
            const auto which = static_cast<std::uint32_t>(events[i].data.u64);
            switch (what) {
                case Watched::listener:
                    accept_peers();
                    break;
                case Watched::bell: {
                    eventfd_t rung = 0;
                    eventfd_read(bell, &rung);
                    break;
                }
                case Watched::caller:
                    hear_caller(static_cast<int>(which));
                    break;
                case Watched::peer:
                    busy = true;
                    if (peers[which] != nullptr) hear(*peers[which]);
                    break;
                case Watched::process:
                    // Its socket says so too, unless a child holds it open.
                    if (peers[which] != nullptr && peers[which]->state == Peer::State::up &&
                        peers[which]->has_ended()) {
                        hear(*peers[which]);
                        if (peers[which] != nullptr) lose(*peers[which]);
                    }
                    break;
                case Watched::packets:
                    if ((events[i].events & EPOLLOUT) != 0) roce->has_room(which);
                    if ((events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) w.packets = true;
                    break;
            }
        }
    }
    // A program that is awake itself wants the core, not us on it; one that asked for an event is about to sleep.
    const std::uint64_t polls_now = polls.load(std::memory_order_relaxed);
    // Nor does whoever waits for an event, which may be there.
    if (busy && may_linger && !waits && (waits_for_events || polls_now == w.polls_when_busy)) linger();
    if (busy) w.polls_when_busy = polls_now;
    return sets[1].revents != 0;
}

void Engine::serve() {
    if (!config().realtime || take_real_time_priority(pthread_self()) != 0) ask_for_short_slices();
    Watch watch;
    while (true) {
        {
            Guard guard(*this);
            if (stopping) return;
            if (served) {
                // Somebody who has waited for long tells when it goes; whoever comes and goes need not.
                const auto enough = [&] { return stopping || (stands_by_for_good && waited_for == nullptr); };
                stands_by_for_good = waited_for != nullptr && now_ns() - served_since > long_ns;
                if (stands_by_for_good)
                    stand_in.wait(guard.lock(), enough);
                else
                    stand_in.wait_for(guard.lock(), stand_by, enough);
                stands_by_for_good = false;
                if (waited_for == nullptr && now_ns() - served_until > absent_ns) served = false;
                continue;
            }
        }
        look_and_sleep(watch, -1, 0);
    }
}

// Stays awake for a while after work came in: more may follow. Not when the processes that talk are more than the
// cores.
void Engine::linger() {
    static const long cores = sysconf(_SC_NPROCESSORS_ONLN);  // glibc reads a file for it
    std::uint64_t until = now_ns() + linger_ns, seen = polls.load(std::memory_order_relaxed);
    while (now_ns() < until) {
        const Guard guard(*this);
        const bool awake = polls.load(std::memory_order_relaxed) != seen && !waits_for_events;
        if (stopping || static_cast<long>(up.size()) > cores || awake) return;
        directory->wake.store(0, std::memory_order_relaxed);
        std::uint64_t heads = 0, after = 0;
        for (const Peer* peer : up) heads += peer->head;
        progress();
        for (const Peer* peer : up) after += peer->head;
        if (after != heads) until = now_ns() + linger_ns;
    }
}

namespace api {

namespace {

// Events of which the descriptor tells, and that will not be read from it.
bool take_events(Channel& channel) {
    if (channel.events.waiting.empty()) return false;
    for (std::size_t n = channel.events.waiting.size(); n > 0; --n) take_event(channel.events.fd);
    channel.events.waiting.clear();
    return true;
}

int wait_as_others_do(ibv_comp_channel* abi, int other, std::uint64_t most_ns) {
    pollfd both[2] = {{abi->fd, POLLIN, 0}, {other, POLLIN, 0}};
    const timespec limit = to_timespec(std::min(most_ns, longest_wait_ns));
    if (ppoll(both, 2, &limit, nullptr) <= 0) return 0;
    int result = both[1].revents != 0 ? LOOM_WAIT_OTHER : 0;
    Engine* a = engine_of(abi->context);
    if (a == nullptr || (both[0].revents & POLLIN) == 0) return result;
    const Guard guard(*a);
    a->settle_signals();
    return take_events(Channel::of(abi)) ? result | LOOM_WAIT_EVENT : result;
}

// Outlives engines: whoever unlocks one for the last time touches it until the call returns.
std::atomic<std::uint32_t> serving{0};

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
        a->settle_signals();
        if (take_events(channel)) return LOOM_WAIT_EVENT;
        if (a->waited_for == nullptr) {
            serves = true;
            a->waited_for = &channel;
            a->served_since = now_ns();
            if (!a->served.exchange(true)) a->kick();
        }
    }
    if (!serves) return wait_as_others_do(abi, other, most_ns);
    // An engine does not go while we are noted as the one that serves; so this is early enough.
    const struct Serving {
        Serving() { serving.fetch_add(1, std::memory_order_relaxed); }
        ~Serving() { serving.fetch_sub(1, std::memory_order_release); }
    } until_return;
    while (true) {
        int result = a->look_and_sleep(a->waiters_watch, other, until) ? LOOM_WAIT_OTHER : 0;
        const Guard guard(*a);
        if (!channel.events.waiting.empty()) result |= LOOM_WAIT_EVENT;
        channel.events.waiting.clear();
        if (result == 0 && now_ns() < until && !a->stopping) continue;
        a->waited_for = nullptr;
        a->served_until = now_ns();
        if (a->stands_by_for_good || a->stopping) a->stand_in.notify_all();
        return result;
    }
} catch (const std::exception& thrown) {
    return errno = errno_of(thrown), -1;
}

void hush(ibv_context* context, bool on) try {
    Engine* a = engine_of(context);
    if (a == nullptr) return;
    const Guard guard(*a);
    if (!on && a->hushed == 0) return;
    if (on ? a->hushed++ != 0 : --a->hushed != 0) return;
    a->roce->listen(!on);
    if (!on && a->waiter_sleeps && !a->waited_for->events.waiting.empty()) a->signal(a->bell);
} catch (const std::exception&) {
    // The caller has no way to hear of it.
}

}  // namespace api

}  // namespace loom::hca
