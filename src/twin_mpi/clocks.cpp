// What programs ask the C library for and get in virtual time: `loom twin cc` has the linker call these instead.
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>

#include "loom/base/clock.hpp"
#include "twin_mpi/process.hpp"

namespace {

using loom::Time;

// 2000-01-01: what programs print of the date is the same in every run.
constexpr std::int64_t epoch_seconds = 946'684'800;
constexpr std::int64_t ps_a_second = 1'000'000'000'000;

timespec to_timespec(Time time) {
    return {time.ps / ps_a_second, time.ps % ps_a_second / 1000};
}

// C++ programs take it for granted that these functions throw nothing: a job that is stopped leaves the program.
[[noreturn]] void leave(int code, bool job_stopped) {
    loom::twin_mpi::Exit& exit = loom::twin_mpi::current().exit;
    exit.code = code;
    exit.job_stopped = job_stopped;
    std::longjmp(exit.to, 1);
}

template <class Ask>
auto without_exceptions(Ask&& ask) {
    try {
        return ask();
    } catch (...) {
    }
    leave(0, true);
}

Time now() {
    return without_exceptions([] { return loom::now(); });
}

void sleep_virtually(Time duration) {
    without_exceptions([&] {
        loom::sleep_for(duration);
        return true;
    });
}

bool is_of_processor_time(clockid_t clock) {
    return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

bool counts_from_epoch(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

}  // namespace

extern "C" {

int loom_twin_clock_gettime(clockid_t clock, timespec* into) __asm__("__wrap_clock_gettime");
int loom_twin_gettimeofday(timeval* into, void* zone) __asm__("__wrap_gettimeofday");
time_t loom_twin_time(time_t* into) __asm__("__wrap_time");
int loom_twin_nanosleep(const timespec* duration, timespec* left) __asm__("__wrap_nanosleep");
int loom_twin_usleep(useconds_t duration) __asm__("__wrap_usleep");
unsigned loom_twin_sleep(unsigned duration) __asm__("__wrap_sleep");
[[noreturn]] void loom_twin_exit(int code) __asm__("__wrap_exit");
std::int64_t loom_twin_steady() __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
std::int64_t loom_twin_system() __asm__("__wrap__ZNSt6chrono3_V212system_clock3nowEv");

int loom_twin_clock_gettime(clockid_t clock, timespec* into) {
    if (is_of_processor_time(clock)) return clock_gettime(clock, into);
    *into = to_timespec(now());
    if (counts_from_epoch(clock)) into->tv_sec += epoch_seconds;
    return 0;
}

int loom_twin_gettimeofday(timeval* into, void*) {
    const timespec time = to_timespec(now());
    *into = {time.tv_sec + epoch_seconds, time.tv_nsec / 1000};
    return 0;
}

time_t loom_twin_time(time_t* into) {
    const time_t seconds = to_timespec(now()).tv_sec + epoch_seconds;
    if (into != nullptr) *into = seconds;
    return seconds;
}

int loom_twin_nanosleep(const timespec* duration, timespec* left) {
    constexpr time_t most = 9'000'000;  // seconds that fit into a Time
    if (duration->tv_nsec < 0 || duration->tv_nsec >= 1'000'000'000 || duration->tv_sec < 0) {
        errno = EINVAL;
        return -1;
    }
    sleep_virtually(Time{std::int64_t{std::min(duration->tv_sec, most)} * ps_a_second + duration->tv_nsec * 1000});
    if (left != nullptr) *left = {};
    return 0;
}

int loom_twin_usleep(useconds_t duration) {
    sleep_virtually(loom::microseconds(duration));
    return 0;
}

unsigned loom_twin_sleep(unsigned duration) {
    sleep_virtually(loom::milliseconds(std::int64_t{duration} * 1000));
    return 0;
}

void loom_twin_exit(int code) {
    leave(code, false);
}

// Both answer a number of nanoseconds in a class of its size.
std::int64_t loom_twin_steady() {
    return now().ps / 1000;
}

std::int64_t loom_twin_system() {
    return epoch_seconds * 1'000'000'000 + now().ps / 1000;
}
}

namespace loom::twin_mpi {

void clock_function() {}

}  // namespace loom::twin_mpi
