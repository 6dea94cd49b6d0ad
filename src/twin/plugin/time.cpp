// The program's clock and its sleeps, answered in virtual time: these take the place of the C library's functions in
// programs that `loom twin run` starts. Clocks of processor time stay the machine's.
#include <dlfcn.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "twin/plugin/client.hpp"

#define LOOM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using loom::Time;
using loom::twin::Client;

// 2000-01-01: what programs print of the date is the same in every run.
constexpr std::int64_t epoch_seconds = 946'684'800;
constexpr std::int64_t ps_a_second = 1'000'000'000'000;

timespec to_timespec(Time time) {
    return {time.ps / ps_a_second, time.ps % ps_a_second / 1000};
}

Time to_time(const timespec& time) {
    constexpr time_t most = 9'000'000;  // seconds that fit into a Time
    return {std::int64_t{std::min(time.tv_sec, most)} * ps_a_second + std::int64_t{time.tv_nsec} * 1000};
}

bool is_virtual(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC ||
           clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME ||
           clock == CLOCK_TAI;
}

bool counts_from_epoch(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

// True: done. A job that came to its end has no time to sleep in.
bool sleep_virtually(Time duration) {
    Client* const client = Client::get();
    if (client == nullptr) return false;
    try {
        client->sleep_until(client->now() + duration);
    } catch (...) {
    }
    return true;
}

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

LOOM_EXPORT int clock_gettime(clockid_t clock, timespec* into) noexcept {
    Client* const client = is_virtual(clock) ? Client::get() : nullptr;
    if (client == nullptr) return static_cast<int>(syscall(SYS_clock_gettime, clock, into));
    *into = to_timespec(client->now());
    if (counts_from_epoch(clock)) into->tv_sec += epoch_seconds;
    return 0;
}

LOOM_EXPORT int gettimeofday(timeval* into, void*) noexcept {
    timespec now{};
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    *into = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

LOOM_EXPORT time_t time(time_t* into) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (into != nullptr) *into = now.tv_sec;
    return now.tv_sec;
}

LOOM_EXPORT int nanosleep(const timespec* duration, timespec* left) {
    if (duration->tv_nsec < 0 || duration->tv_nsec >= 1'000'000'000 || duration->tv_sec < 0) {
        errno = EINVAL;
        return -1;
    }
    if (!sleep_virtually(to_time(*duration))) return static_cast<int>(syscall(SYS_nanosleep, duration, left));
    if (left != nullptr) *left = {};
    return 0;
}

LOOM_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* when, timespec* left) {
    Client* const client = is_virtual(clock) ? Client::get() : nullptr;
    if (client == nullptr) return syscall(SYS_clock_nanosleep, clock, flags, when, left) == 0 ? 0 : errno;
    Time until = to_time(*when);
    if ((flags & TIMER_ABSTIME) == 0) until += client->now();
    if ((flags & TIMER_ABSTIME) != 0 && counts_from_epoch(clock))
        until = to_time({std::max<time_t>(0, when->tv_sec - epoch_seconds), when->tv_nsec});
    sleep_virtually(until - client->now());
    return 0;
}

LOOM_EXPORT int usleep(useconds_t microseconds) {
    const timespec duration{microseconds / 1'000'000, static_cast<long>(microseconds % 1'000'000) * 1000};
    return nanosleep(&duration, nullptr);
}

LOOM_EXPORT unsigned sleep(unsigned seconds) {
    const timespec duration{static_cast<time_t>(seconds), 0};
    return nanosleep(&duration, nullptr) == 0 ? 0 : seconds;
}

// With descriptors: what is ready now, else the time passes and they are looked at again.
LOOM_EXPORT int poll(pollfd* of, nfds_t count, int milliseconds) {
    static auto* const real = next<int(pollfd*, nfds_t, int)>("poll");
    if (Client::get() == nullptr || milliseconds < 0) return real(of, count, milliseconds);
    const int ready = real(of, count, 0);
    if (ready != 0 || milliseconds == 0) return ready;
    sleep_virtually(loom::milliseconds(milliseconds));
    return real(of, count, 0);
}

LOOM_EXPORT int select(int count, fd_set* read, fd_set* write, fd_set* except, timeval* limit) {
    static auto* const real = next<int(int, fd_set*, fd_set*, fd_set*, timeval*)>("select");
    if (Client::get() == nullptr || limit == nullptr) return real(count, read, write, except, limit);
    fd_set before[3];
    fd_set* const sets[3] = {read, write, except};
    for (int i = 0; i < 3; ++i)
        if (sets[i] != nullptr) before[i] = *sets[i];
    timeval none{};
    const int ready = real(count, read, write, except, &none);
    if (ready != 0) return ready;
    sleep_virtually(to_time({limit->tv_sec, limit->tv_usec * 1000}));
    *limit = {};
    for (int i = 0; i < 3; ++i)
        if (sets[i] != nullptr) *sets[i] = before[i];
    return real(count, read, write, except, &none);
}
