// Who serves the engine while the program does not poll: its own thread, or one of the program's that waits for an
// event and would only be woken by ours. Has the thread, and the two epoll sets of all that may wake it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "hca/service/lock.hpp"
#include "hca/service/moderation.hpp"

struct epoll_event;

namespace loom::hca {

struct Channel;
struct Engine;

// What the thread waits for.
enum class Watched : std::uint8_t { listener, bell, caller, peer, process, packets };

class ServiceThread {
public:
    explicit ServiceThread(Engine& engine) : engine_(engine) {}
    ServiceThread(const ServiceThread&) = delete;
    ~ServiceThread();

    int open();   // 0 or errno
    int start();  // the thread; 0 or errno
    void stop();  // and joins it
    void close_descriptors();

    void watch(int fd, Watched what, std::uint32_t which);
    void unwatch(int fd);
    // A socket's packets, or not for now; and when it has room again.
    void hear_packets(int fd, std::uint32_t hca, bool on, bool room);

    void attend();  // the program polls
    [[nodiscard]] bool attended() const { return attending_.load(std::memory_order_relaxed); }
    void hand_over();                     // the program is about to sleep: the thread takes what comes from now on
    void kick();                          // makes the thread look at its timers again
    void kick_by(std::uint64_t at);       // the same, unless it looks again by then anyway
    void note_talk() { talked_ = true; }  // with another host: more will be sent soon

    // A thread of the program waits for a channel's events and serves meanwhile.
    [[nodiscard]] Channel* waited_for() const { return waited_for_; }
    bool take_over(Channel& channel);  // false: somebody else does already
    struct Ended {
        bool other = false, event = false;
    };
    // Until `other` can be read, there is an event, which is taken, it is `until` (ns), or the engine stops.
    Ended serve_for(Channel& channel, int other, std::uint64_t until);
    void hush(bool on);
    // The descriptor that tells whoever waits for the channel's events; -1: nobody needs to be told.
    [[nodiscard]] int bell_of(const Channel& channel) const;

private:
    friend struct ServiceProbe;  // of the tests

    struct Watch {
        bool packets = false;  // came, and woke us
        bool polled = false;
        bool reached = true;  // all who write to us have seen that we sleep
        std::uint64_t seen_polls = 0, looked_at = 0, polls_when_busy = 0;
    };
    struct Nap;  // until when to sleep, and on what

    void serve();  // the thread
    void stand_by(std::unique_lock<EngineLock>& lock);
    // One look at everything, and a sleep until there is more to do, `other` can be read (true), there is an event for
    // the thread that waits, or it is `until` (ns; 0: no such end).
    bool look_and_sleep(Watch& watch, int other, std::uint64_t until);
    bool look(Watch& watch, std::uint64_t until, Nap& nap);
    void plan(Watch& watch, std::uint64_t until, Nap& nap);
    bool handle(const epoll_event& event, Watch& watch);
    void linger();
    // How long packets may lie in their sockets, as long as messages that have begun are not about to end.
    std::uint64_t nap_ns(std::uint64_t now);
    [[nodiscard]] std::uint64_t next_deadline() const;

    Engine& engine_;
    std::thread thread_;
    bool stopping_ = false;
    int bell_ = -1;
    int quiet_set_ = -1, whole_set_ = -1;  // epoll: without and with the packets that a polling program takes itself
    Moderation moderation_;
    bool talked_ = false;  // with another host, since the thread last looked

    // The program polls, or sleeps.
    std::atomic<std::uint64_t> polls_{0};
    std::atomic<bool> attending_{false};         // it polls; the thread only looks now and then
    std::atomic<bool> waits_for_events_{false};  // it asked for an event, and has not polled densely since
    std::uint32_t idle_polls_ = 0;
    std::uint64_t first_poll_ = 0;     // of those, ns
    std::atomic<bool> asleep_{false};  // the thread sleeps, and may be woken
    std::uint64_t sleeps_until_ = 0;   // ns; 0: for ever

    Channel* waited_for_ = nullptr;
    Watch waiters_watch_;  // of that
    bool waiter_sleeps_ = false;
    std::atomic<bool> served_{false};  // by a thread of the program, or it is about to be again: ours stands by
    std::uint64_t served_since_ = 0, served_until_ = 0;  // ns; when such a thread came and when one was last here
    bool stands_by_for_good_ = false;                    // our thread, until it is told
    std::condition_variable_any stand_in_;
    std::uint32_t hushed_ = 0;  // calls under way during which packets wake nobody
};

}  // namespace loom::hca
