// The service's life, what it watches, and what programs tell it: that they poll, sleep, or want quiet.
#include "hca/service/service_thread.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "hca/engine.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t polls_to_attend = 32;
constexpr std::uint64_t dense_ns = 100'000;  // in which so many polls are dense

}  // namespace

ServiceThread::~ServiceThread() {
    close_descriptors();
}

int ServiceThread::open() {
    quiet_set_ = epoll_create1(EPOLL_CLOEXEC);
    whole_set_ = epoll_create1(EPOLL_CLOEXEC);
    bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (quiet_set_ < 0 || whole_set_ < 0 || bell_ < 0) return errno;
    watch(bell_, Watched::bell, 0);
    return 0;
}

int ServiceThread::start() {
    sigset_t all, before;  // the program's signals are for its own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = 0;
    try {
        thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error& refused) {
        error = refused.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) return error;
    pthread_setname_np(thread_.native_handle(), "loom-verbs");
    return 0;
}

void ServiceThread::stop() {
    {
        Guard guard(engine_);
        stopping_ = true;
        eventfd_write(bell_, 1);
        stand_in_.notify_all();
        stand_in_.wait(guard.lock(), [&] { return waited_for_ == nullptr; });
        // Whoever waited may have read the first, before our thread saw it.
        eventfd_write(bell_, 1);
    }
    thread_.join();
}

void ServiceThread::close_descriptors() {
    for (int* fd : {&bell_, &quiet_set_, &whole_set_})
        if (*fd >= 0) ::close(std::exchange(*fd, -1));
}

void ServiceThread::watch(int fd, Watched what, std::uint32_t which) {
    if (fd < 0) return;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = static_cast<std::uint64_t>(what) << 32 | which;
    const auto add = [&](int set) {
        // A caller becomes a peer: what was known of its descriptor is replaced, else its events would go unread.
        if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
            epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
    };
    add(whole_set_);
    if (what != Watched::packets) add(quiet_set_);
}

void ServiceThread::unwatch(int fd) {
    for (const int set : {whole_set_, quiet_set_}) epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr);
}

void ServiceThread::hear_packets(int fd, std::uint32_t hca, bool on, bool room) {
    epoll_event event{};
    event.events = on ? EPOLLIN | EPOLLRDHUP : 0;
    if (on && room) event.events |= EPOLLOUT;
    event.data.u64 = static_cast<std::uint64_t>(Watched::packets) << 32 | hca;
    epoll_ctl(whole_set_, EPOLL_CTL_MOD, fd, &event);
}

void ServiceThread::kick() {
    if (!asleep_.load(std::memory_order_relaxed)) return;
    asleep_.store(false, std::memory_order_relaxed);
    eventfd_write(bell_, 1);
}

void ServiceThread::kick_by(std::uint64_t at) {
    if (sleeps_until_ == 0 || at < sleeps_until_) kick();
}

void ServiceThread::attend() {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (attending_.load(std::memory_order_relaxed) || hushed_ != 0) return;
    if (idle_polls_++ == 0) first_poll_ = now_ns();
    if (idle_polls_ < polls_to_attend) return;
    // A program that polls now and then, and looks at its memory in between, leaves the rest to the thread.
    idle_polls_ = 0;
    if (now_ns() - first_poll_ > dense_ns) return;
    attending_.store(true, std::memory_order_relaxed);
    waits_for_events_.store(false, std::memory_order_relaxed);
    engine_.home.directory->wake.store(0, std::memory_order_relaxed);
    kick();
}

void ServiceThread::hand_over() {
    waits_for_events_.store(true, std::memory_order_relaxed);
    idle_polls_ = 0;
    if (!attending_.load(std::memory_order_relaxed)) return;
    attending_.store(false, std::memory_order_relaxed);
    eventfd_write(bell_, 1);
}

int ServiceThread::bell_of(const Channel& channel) const {
    if (&channel != waited_for_) return channel.events.fd;
    return waiter_sleeps_ && hushed_ == 0 ? bell_ : -1;
}

void ServiceThread::hush(bool on) {
    if (!on && hushed_ == 0) return;
    if (on ? hushed_++ != 0 : --hushed_ != 0) return;
    engine_.roce->listen(!on);
    if (!on && waiter_sleeps_ && !waited_for_->events.waiting.empty()) engine_.completions.signal(bell_);
}

}  // namespace loom::hca
