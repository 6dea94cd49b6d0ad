// Looking and sleeping: by our own thread, or by one of the program's.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "hca/engine.hpp"
#include "hca/host/barrier.hpp"
#include "hca/service/clock.hpp"
#include "loom/base/scheduling.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t tick_ns = 300'000;               // between looks while the program polls
constexpr std::uint64_t linger_ns = 50'000;              // awake after the last packet, when a core is free for it
constexpr std::uint64_t dense_polls = 64;                // in a tick: fewer are not
constexpr std::uint64_t absent_ns = 2'000'000;           // after which whoever served and went is not coming back
constexpr std::uint64_t long_ns = 100'000'000;           // after which whoever waits is not expected to go soon
constexpr std::chrono::milliseconds look_for_absent{4};  // between looks whether anybody still serves
constexpr std::uint64_t doze_ns = 100'000'000;           // between looks while timers of the lossless wire may run
constexpr std::uint64_t silent_tick_ns = 20'000'000;     // while somebody waits for a process that has not answered
constexpr std::uint64_t blocked_tick_ns = 200'000;       // between looks while something waits for room

timespec to_timespec(std::uint64_t ns) {
    return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

struct ServiceThread::Nap {
    timespec timeout{};
    bool forever = false;
    bool leaves_packets = false;  // in their sockets meanwhile
};

// When the thread has to look again, in ns; 0: when something happens.
std::uint64_t ServiceThread::next_deadline() const {
    std::uint64_t at = engine_.requester.next_deadline();
    const auto sooner = [&](std::uint64_t candidate) {
        if (candidate != 0 && (at == 0 || candidate < at)) at = candidate;
    };
    const auto& up = engine_.peers.up();
    if (std::any_of(up.begin(), up.end(), [](const Peer* peer) { return !peer->blocked.empty(); }))
        sooner(now_ns() + blocked_tick_ns);
    if (engine_.peers.some_silent()) sooner(now_ns() + silent_tick_ns);
    if (up.size() > 1) sooner(now_ns() + doze_ns);
    sooner(engine_.completions.next_late_at());
    sooner(engine_.roce->next_deadline());
    return at;
}

std::uint64_t ServiceThread::nap_ns(std::uint64_t now) {
    Moderation::State state;
    state.missing = engine_.responder.least_missing_of_writes();
    for (Qp* qp : engine_.requester.timed()) {
        if (qp->path == nullptr || !qp->path->wire->awaits_answer(*qp)) continue;
        const std::int32_t packets = qp->sent_psn - qp->unacked_psn;
        if (packets <= 0) continue;
        const std::uint64_t bytes = std::uint64_t{qp->mtu} * static_cast<std::uint32_t>(packets);
        const bool more = qp->sq_next != qp->sq_tail;  // waits for the window
        std::uint64_t& least = more ? state.followed : state.last;
        if (least == 0 || bytes < least) least = bytes;
    }
    return moderation_.nap_ns(engine_.responder.far_bytes(), engine_.requester.far_bytes_acknowledged(), state, now);
}

// False: somebody else serves, the engine stops, or there is an event for whoever waits.
bool ServiceThread::look(Watch& w, std::uint64_t until, Nap& nap) {
    const bool waits = &w == &waiters_watch_;  // not our thread
    if (stopping_ || (served_ && !waits)) return false;
    if (w.packets) engine_.roce->drain();
    engine_.progress();
    engine_.requester.run_timers(now_ns());
    const std::uint64_t count = polls_.load(std::memory_order_relaxed);
    const std::uint64_t now = now_ns();
    const bool was_polled = w.polled;
    w.polled = attending_.load(std::memory_order_relaxed);
    if (w.polled && was_polled && now - w.looked_at >= tick_ns && count - w.seen_polls < dense_polls) {
        attending_.store(false, std::memory_order_relaxed);
        idle_polls_ = 0;
        w.polled = false;
    }
    if (!was_polled || now - w.looked_at >= tick_ns) {
        w.seen_polls = count;
        w.looked_at = now;
    }
    if (!w.polled) {
        // Whoever writes after this rings; what was written before is taken now.
        if (engine_.home.directory->wake.exchange(1, std::memory_order_relaxed) == 0) w.reached = heavy_barrier();
        engine_.progress();
    }
    if (waits && !waited_for_->events.waiting.empty()) {
        w.packets = false;
        return false;
    }
    plan(w, until, nap);
    waiter_sleeps_ = waits;
    return true;
}

void ServiceThread::plan(Watch& w, std::uint64_t until, Nap& nap) {
    const std::uint64_t now = now_ns(), at = next_deadline();
    std::uint64_t wait = at == 0 ? 0 : at > now ? at - now : 0;
    if (w.polled || !w.reached) wait = at == 0 ? tick_ns : std::min(tick_ns, wait);
    bool forever = !w.polled && w.reached && at == 0;
    // Where something was sent or came, more will be sent soon, and its timer need not wake us.
    if (forever && std::exchange(talked_, false)) {
        forever = false;
        wait = RoceFlow::first_probe_ns;
    }
    if (w.packets && !w.polled) {
        if (const std::uint64_t ns = nap_ns(now); ns != 0) {
            nap.leaves_packets = true;
            wait = forever ? ns : std::min(wait, ns);
            forever = false;
        }
    }
    if (until != 0) {
        const std::uint64_t left = until > now ? until - now : 0;
        wait = forever ? left : std::min(wait, left);
        forever = false;
    }
    nap.timeout = to_timespec(wait);
    nap.forever = forever;
    sleeps_until_ = forever ? 0 : now + wait;
    asleep_.store(!w.polled, std::memory_order_relaxed);
}

bool ServiceThread::look_and_sleep(Watch& w, int other, std::uint64_t until) {
    static const bool may_linger = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    const bool waits = &w == &waiters_watch_;
    Nap nap;
    {
        const Guard guard(engine_);
        if (!look(w, until, nap)) return false;
    }
    // An epoll set can be polled: unlike epoll_pwait2, ppoll is everywhere, and its timeout is as fine.
    pollfd sets[2] = {{w.polled || nap.leaves_packets ? quiet_set_ : whole_set_, POLLIN, 0}, {other, POLLIN, 0}};
    epoll_event events[32];
    const auto sleep = [&] {
        const bool ready = ppoll(sets, waits ? 2 : 1, nap.forever ? nullptr : &nap.timeout, nullptr) > 0;
        return ready && sets[0].revents != 0 ? epoll_wait(sets[0].fd, events, 32, 0) : 0;
    };
    int count = sleep();
    // Nothing came, and the program polls as densely as before: it does all there is to do.
    while (count == 0 && sets[1].revents == 0 && w.polled && attending_.load(std::memory_order_relaxed) &&
           (waits || !served_.load(std::memory_order_relaxed))) {
        const std::uint64_t dense = polls_.load(std::memory_order_relaxed);
        if (dense - w.seen_polls < dense_polls) break;
        w.seen_polls = dense;
        w.looked_at = now_ns();
        if (until != 0 && w.looked_at >= until) break;
        nap.timeout = {0, tick_ns};
        count = sleep();
    }
    bool busy = false;
    w.packets = nap.leaves_packets;
    {
        const Guard guard(engine_);
        // Another has taken over meanwhile, and sleeps: the bell is for that one.
        if (served_ && !waits) return false;
        asleep_.store(false, std::memory_order_relaxed);
        if (waits) waiter_sleeps_ = false;
        for (int i = 0; i < count; ++i) busy = handle(events[i], w) || busy;
    }
    // A program that is awake itself wants the core, not us on it; one that asked for an event is about to sleep.
    const std::uint64_t polls_now = polls_.load(std::memory_order_relaxed);
    // Whoever waits for an event does not linger either: it may be there.
    if (busy && may_linger && !waits && (waits_for_events_ || polls_now == w.polls_when_busy)) linger();
    if (busy) w.polls_when_busy = polls_now;
    return sets[1].revents != 0;
}

// True when another process has said something: more may follow.
bool ServiceThread::handle(const epoll_event& event, Watch& w) {
    const auto what = static_cast<Watched>(event.data.u64 >> 32);
    const auto which = static_cast<std::uint32_t>(event.data.u64);
    switch (what) {
        case Watched::listener:
            engine_.peers.accept();
            break;
        case Watched::bell: {
            eventfd_t rung = 0;
            eventfd_read(bell_, &rung);
            break;
        }
        case Watched::caller:
            engine_.peers.hear_caller(static_cast<int>(which));
            break;
        case Watched::peer:
            if (const auto& peer = engine_.peers.known(which); peer != nullptr) engine_.peers.hear(*peer);
            return true;
        case Watched::process:
            engine_.peers.look_after(which);
            break;
        case Watched::packets:
            if ((event.events & EPOLLOUT) != 0) engine_.roce->has_room(which);
            if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) w.packets = true;
            break;
    }
    return false;
}

void ServiceThread::serve() {
    if (!engine_.config.realtime || take_real_time_priority(pthread_self()) != 0) ask_for_short_slices();
    Watch watch;
    while (true) {
        {
            Guard guard(engine_);
            if (stopping_) return;
            if (served_) {
                stand_by(guard.lock());
                continue;
            }
        }
        look_and_sleep(watch, -1, 0);
    }
}

void ServiceThread::stand_by(std::unique_lock<EngineLock>& lock) {
    // Somebody who has waited for long tells when it goes; whoever comes and goes need not.
    const auto enough = [&] { return stopping_ || (stands_by_for_good_ && waited_for_ == nullptr); };
    stands_by_for_good_ = waited_for_ != nullptr && now_ns() - served_since_ > long_ns;
    if (stands_by_for_good_)
        stand_in_.wait(lock, enough);
    else
        stand_in_.wait_for(lock, look_for_absent, enough);
    stands_by_for_good_ = false;
    if (waited_for_ == nullptr && now_ns() - served_until_ > absent_ns) served_ = false;
}

// Stays awake for a while after work came in: more may follow. Not when the processes that talk are more than the
// cores.
void ServiceThread::linger() {
    static const long cores = sysconf(_SC_NPROCESSORS_ONLN);  // glibc reads a file for it
    const auto& up = engine_.peers.up();
    std::uint64_t until = now_ns() + linger_ns, seen = polls_.load(std::memory_order_relaxed);
    while (now_ns() < until) {
        const Guard guard(engine_);
        const bool awake = polls_.load(std::memory_order_relaxed) != seen && !waits_for_events_;
        if (stopping_ || static_cast<long>(up.size()) > cores || awake) return;
        engine_.home.directory->wake.store(0, std::memory_order_relaxed);
        std::uint64_t heads = 0, after = 0;
        for (const Peer* peer : up) heads += peer->head;
        engine_.progress();
        for (const Peer* peer : up) after += peer->head;
        if (after != heads) until = now_ns() + linger_ns;
    }
}

bool ServiceThread::take_over(Channel& channel) {
    if (waited_for_ != nullptr) return false;
    waited_for_ = &channel;
    served_since_ = now_ns();
    if (!served_.exchange(true)) kick();
    return true;
}

ServiceThread::Ended ServiceThread::serve_for(Channel& channel, int other, std::uint64_t until) {
    while (true) {
        const bool other_is_ready = look_and_sleep(waiters_watch_, other, until);
        const Guard guard(engine_);
        if (!other_is_ready && channel.events.waiting.empty() && now_ns() < until && !stopping_) continue;
        const Ended ended{other_is_ready, !channel.events.waiting.empty()};
        channel.events.waiting.clear();
        waited_for_ = nullptr;
        served_until_ = now_ns();
        if (stands_by_for_good_ || stopping_) stand_in_.notify_all();
        return ended;
    }
}

}  // namespace loom::hca
