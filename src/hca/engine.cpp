// The engine's life, its thread, and the round that takes in and sends out.
#include "hca/engine.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#include "hca/device/counters.hpp"
#include "hca/host/barrier.hpp"
#include "hca/host/segment.hpp"
#include "hca/interface/api.hpp"
#include "hca/interface/caught.hpp"
#include "hca/wire/roce_wire.hpp"
#include "loom/base/scheduling.hpp"

namespace loom::hca {

namespace {

std::atomic<Engine*> current{nullptr};
std::mutex opening;  // of the first and last device

constexpr std::uint64_t doze_ns = 100'000'000;           // between looks while timers of the lossless wire may run
constexpr std::uint64_t silent_tick_ns = 20'000'000;     // while somebody waits for a process that has not answered
constexpr std::uint64_t blocked_tick_ns = 200'000;       // between looks while something waits for room
constexpr std::uint64_t exit_patience_ns = 200'000'000;  // with a mutex that is held when the program exits
constexpr std::uint32_t polls_to_attend = 32;
constexpr std::uint64_t dense_ns = 100'000;  // in which so many polls are dense
constexpr std::uint32_t most_owed = 16;      // packets that may wait for their acknowledgement

std::uint64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

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
    a->settle(Acks::now);
    for (Qp* qp : a->qps)
        if (qp != nullptr) a->settle_up(*qp);
    a->ring_bells();
    a->settle_signals();
    a->write_stats();
    a->say_goodbye();
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
    return named_counters(a == nullptr ? nothing : a->directory->counters[hca]);
}

std::uint64_t now_ns() {
    return read_clock(CLOCK_MONOTONIC);
}
std::uint64_t coarse_now_ns() {
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

Engine::Engine() : qps(qps_per_process, nullptr) {}

Engine::~Engine() {
    for (const int fd : {listener, spare, directory_fd, bell, quiet_set, whole_set, pit})
        if (fd >= 0) ::close(fd);
    for (const int fd : callers) ::close(fd);
    if (directory != nullptr) munmap(directory, sizeof(Directory));
}

void Engine::watch(int fd, Watched what, std::uint32_t which) {
    if (fd < 0) return;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = static_cast<std::uint64_t>(what) << 32 | which;
    const auto add = [&](int set) {
        // A caller becomes a peer: what was known of its descriptor is replaced, else its events would go unread.
        if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
            epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
    };
    add(whole_set);
    if (what != Watched::packets) add(quiet_set);
}

void Engine::hear_packets(int fd, std::uint32_t hca, bool on, bool room) {
    epoll_event event{};
    event.events = on ? EPOLLIN | EPOLLRDHUP : 0;
    if (on && room) event.events |= EPOLLOUT;
    event.data.u64 = static_cast<std::uint64_t>(Watched::packets) << 32 | hca;
    epoll_ctl(whole_set, EPOLL_CTL_MOD, fd, &event);
}

void Engine::unwatch(int fd) {
    for (const int set : {whole_set, quiet_set}) epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr);
}

int Engine::start(const Config& settings) {
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) return errno;
    faults = settings.faults;
    faulty = faults.any();
    random = Random(settings.faults.any() ? settings.faults.seed : nonce);
    completion_delay = static_cast<std::uint64_t>(settings.faults.delay.count());
    drops = Random(faults.seed);
    errors = Random(~faults.seed);
    quiet_set = epoll_create1(EPOLL_CLOEXEC);
    whole_set = epoll_create1(EPOLL_CLOEXEC);
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (quiet_set < 0 || whole_set < 0 || bell < 0) return errno;
    if (const int error = take_slot(); error != 0) return error;
    directory = static_cast<Directory*>(make_segment("loom-verbs-directory", sizeof(Directory), directory_fd));
    if (directory == nullptr) return errno;
    directory->slot = slot;
    directory->pid = getpid();
    directory->nonce = nonce;
    directory->hcas = static_cast<std::uint32_t>(settings.hcas.size());
    directory->wake.store(1, std::memory_order_relaxed);
    directory->magic = segment_magic;
    if (!make_self()) return errno;
    next_qp = 2 + static_cast<std::uint32_t>(random() % (qps_per_process / 2));
    if (settings.ptracer) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // Yama would let only parents copy
    roce = std::make_unique<RoceWire>(*this);
    registered = register_for_barriers();
    watch(listener, Watched::listener, 0);
    watch(bell, Watched::bell, 0);
    sigset_t all, before;  // the program's signals are for its own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = 0;
    try {
        thread = std::thread([this] { serve(); });
    } catch (const std::system_error& refused) {
        error = refused.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) return error;
    pthread_setname_np(thread.native_handle(), "loom-verbs");
    return 0;
}

void Engine::stop() {
    {
        Guard guard(*this);
        stopping = true;
        eventfd_write(bell, 1);
        stand_in.notify_all();
        stand_in.wait(guard.lock(), [&] { return waited_for == nullptr; });
        // Whoever waited may have read the first, before our thread saw it.
        eventfd_write(bell, 1);
    }
    thread.join();
    const Guard guard(*this);
    write_stats();
    say_goodbye();
    roce.reset();
    up.clear();
    touched.clear();
    for (auto& peer : peers) peer.reset();
    self.reset();
}

// What a program leaves behind when it closes a device must not be reached any more. The memory stays: it is the
// program's to give back.
void Engine::abandon(const Context& context) {
    progress();  // what has come before the end counts, and is acknowledged
    for (Qp*& qp : qps) {
        if (qp == nullptr || qp->context != &context) continue;
        forget(*qp);
        for (Group& group : groups) std::erase(group.members, qp);
        directory->qps[qp->qpn & (qps_per_process - 1)].what.store(0, std::memory_order_release);
        qp = nullptr;
    }
    std::erase_if(late, [&](const Late& completion) { return completion.cq->context == &context; });
    for (Mr*& mr : mrs) {
        if (mr == nullptr || mr->abi.context != &context.verbs.context) continue;
        withdraw(*mr);
        mr = nullptr;
    }
}

void Engine::kick() {
    if (!asleep.load(std::memory_order_relaxed)) return;
    asleep.store(false, std::memory_order_relaxed);
    eventfd_write(bell, 1);
}

void Engine::kick_by(std::uint64_t at) {
    if (sleeps_until == 0 || at < sleeps_until) kick();
}

void Engine::attend() {
    polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (attending.load(std::memory_order_relaxed) || hushed != 0) return;
    if (idle_polls++ == 0) first_poll = now_ns();
    if (idle_polls < polls_to_attend) return;
    // A program that polls now and then, and looks at its memory in between, leaves the rest to the thread.
    idle_polls = 0;
    if (now_ns() - first_poll > dense_ns) return;
    attending.store(true, std::memory_order_relaxed);
    waits_for_events.store(false, std::memory_order_relaxed);
    directory->wake.store(0, std::memory_order_relaxed);
    kick();
}

void Engine::hand_over() {
    waits_for_events.store(true, std::memory_order_relaxed);
    idle_polls = 0;
    if (!attending.load(std::memory_order_relaxed)) return;
    attending.store(false, std::memory_order_relaxed);
    eventfd_write(bell, 1);
}

void Engine::start_timer(Qp& qp, std::uint64_t& field, std::uint64_t at) {
    field = at;
    if (!qp.listed_timer) {
        qp.listed_timer = true;
        timed.push_back(&qp);
    }
    // On the lossless wire nothing is resent: a later look does. (Without other processes there would be none.)
    if (&field == &qp.rnr_until || qp.path->kind == Path::Kind::roce || up.size() == 1) kick_by(at);
}

void Engine::run_timers(std::uint64_t now) {
    for (std::size_t i = 0; i < timed.size();) {
        Qp& qp = *timed[i];
        if (qp.rnr_until != 0 && now >= qp.rnr_until) {
            qp.rnr_until = 0;
            run(qp);
        }
        if (qp.retry_at != 0 && now >= qp.retry_at) timed_out(qp, now);
        if (qp.rnr_until == 0 && qp.retry_at == 0 && i < timed.size() && timed[i] == &qp) {
            qp.listed_timer = false;
            timed[i] = timed.back();
            timed.pop_back();
        } else {
            ++i;
        }
    }
}

// When the thread has to look again, in ns; 0: when something happens.
std::uint64_t Engine::next_deadline() const {
    std::uint64_t at = 0;
    const auto sooner = [&](std::uint64_t candidate) {
        if (candidate != 0 && (at == 0 || candidate < at)) at = candidate;
    };
    for (const Qp* qp : timed) {
        sooner(qp->rnr_until);
        sooner(qp->retry_at);
    }
    if (std::any_of(up.begin(), up.end(), [](const Peer* peer) { return !peer->blocked.empty(); }))
        sooner(now_ns() + blocked_tick_ns);
    if (!silent.empty()) sooner(now_ns() + silent_tick_ns);
    if (up.size() > 1) sooner(now_ns() + doze_ns);
    if (!late.empty()) sooner(late.front().at);
    sooner(roce->next_deadline());
    return at;
}

void Engine::run_blocked(Peer& peer) {
    if (peer.broken) return lose(peer);
    std::vector<Qp*> waiting;
    waiting.swap(peer.blocked);
    for (Qp* qp : waiting) qp->listed_blocked = false;
    for (Qp* qp : waiting) {
        if (qp->owes()) owe(*qp);
        run(*qp);
    }
}

// Who waits for a process that does not answer looks now and then whether it has waited enough: datagrams may be lost.
void Engine::run_silent() {
    std::vector<std::uint32_t> slots_now;
    slots_now.swap(silent);
    for (const std::uint32_t other : slots_now)
        if (peers[other] != nullptr && peers[other]->state == Peer::State::connecting) run_blocked(*peers[other]);
}

// While messages come in, plain acknowledgements wait a little: several become one, and on RoCE the program's own next
// packet carries them along. Only while the program polls, so that the thread looks soon, whatever the program does.
void Engine::settle(Acks acks) {
    const bool hold = acks == Acks::may_wait && attending.load(std::memory_order_relaxed);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < owing.size(); ++i) {
        Qp* qp = owing[i];
        if (hold && qp->answers.empty() && qp->nak_due == 0 && qp->owed < most_owed) {
            owing[kept++] = qp;
            continue;
        }
        qp->listed_ack = false;
        answer(*qp);
    }
    owing.resize(kept);
}

void Engine::drain_self() {
    for (unsigned rounds = 0; self->has_mail() && rounds < 64; ++rounds) {
        drain(*self);
        settle(Acks::now);
    }
}

void Engine::progress(Acks acks) {
    if (!late.empty()) deliver_late();
    bool arrived = false;
    for (std::size_t i = 1; i < up.size(); ++i) {  // the first is ourselves
        Peer& peer = *up[i];
        if (peer.has_mail()) {
            drain(peer);
            arrived = true;
        }
        if (i < up.size() && up[i] == &peer && !peer.blocked.empty()) run_blocked(peer);
    }
    if (roce->active() && roce->poll(acks == Acks::may_wait) != 0) arrived = true;
    if (!owing.empty()) settle(arrived ? acks : Acks::now);
    if (self->has_mail()) drain_self();
    if (!self->blocked.empty()) run_blocked(*self);
    if (!silent.empty()) run_silent();
    if (!timed.empty() && (++since_timers & 63) == 0) run_timers(now_ns());
}

namespace api {

int open(Context& context, const HcaConfig& hca) try {
    const std::lock_guard lock(opening);
    Engine* a = current.load(std::memory_order_acquire);
    struct Descriptor {
        int fd;
        ~Descriptor() {
            if (fd >= 0) ::close(fd);
        }
    } async{eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
    if (async.fd < 0) return errno;
    if (a == nullptr) {
        static const bool registered =
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0 && std::atexit(at_exit) == 0;
        if (!registered) return ENOMEM;
        auto fresh = std::make_unique<Engine>();
        if (const int error = fresh->start(config()); error != 0) return error;
        a = fresh.release();
        current.store(a, std::memory_order_release);
    }
    const Guard guard(*a);
    ++a->contexts;
    context.hca = &hca;
    context.engine = a;
    context.counters = &a->directory->counters[hca.index];
    context.verbs.context.async_fd = context.async.fd = std::exchange(async.fd, -1);
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
    for (int* fd : {&a->listener, &a->spare, &a->directory_fd, &a->bell, &a->quiet_set, &a->whole_set, &a->pit})
        if (*fd >= 0) ::close(*fd);
    const auto let_go = [](const std::shared_ptr<Peer>& peer) {
        if (peer == nullptr) return;
        for (const int fd : {peer->socket, peer->ignored, peer->pidfd, peer->out_fd})
            if (fd >= 0) ::close(fd);
        peer->close_pipes();
    };
    let_go(a->self);
    for (const auto& peer : a->peers) let_go(peer);
    for (const Mr* mr : a->mrs)
        if (mr != nullptr && mr->share_fd >= 0) ::close(mr->share_fd);
    for (const int fd : a->callers) ::close(fd);
    a->roce->close_descriptors();
}

}  // namespace api

}  // namespace loom::hca
