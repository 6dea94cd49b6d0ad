// Who moves operations forward while the program computes.
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "coll/world_state.hpp"
#include "loom/base/scheduling.hpp"
#include "loom/base/settings.hpp"
#include "loom/base/table.hpp"

namespace loom::coll {
namespace {

// A thread's time, and so the machine's: there is none in virtual time (refuse_thread_in_virtual_time).
//
// How long the thread sleeps on the transport at most: the time after which a loss that nothing announces is found.
constexpr std::chrono::microseconds longest_sleep{10'000};

// How long a rank that never waits goes without a look, and how many looks it takes then: a transport asks who is gone
// at one in so many.
constexpr std::uint64_t between_looks_ns = 20'000'000;
constexpr std::uint32_t looks_for_losses = 32;

// Bytes to move from which on to wake the thread is less than to move them. Not only those that can be sent at once:
// who starts also takes what has come meanwhile, and does what waited for it.
constexpr std::uint64_t worth_handing_over = 64 << 10;

// A program that runs with a thread elsewhere must run there too.
constexpr const char* virtual_time = "the transport runs in virtual time, in which a thread has no part";

}  // namespace

// Called by whoever has changed what is pending. Events cost both sides more than polling, and so does switching them:
// they go on when the thread is left alone with something pending, and off when a user polls for long.
void World::State::agree_with_thread() {
    if (!thread_on || engine.pending() == 0 || helpers != 0) return;
    if (thread_idle) work.notify_one();
    if (engine.has_handed_over()) {
        // Awake, it looks for that itself.
        if (thread_dreams) transport.interrupt();
        return;
    }
    const bool asked_before = events;
    if (asked_before && !thread_dreams) return;
    // It sleeps already, and goes on sleeping until something comes: what came before is taken now, and that asks to be
    // told of the next. Every time: whoever polled meanwhile may have taken what would have woken it.
    try {
        set_events(true);
        int looks = 0;
        while (looks < 8 && engine.poll()) ++looks;
        // A peer that was sending when we asked may not have heard of it, and among many that come the next one may not
        // be told: then it must look for itself.
        if (!asked_before || looks == 8) transport.interrupt();
    } catch (...) {
        engine.fail_all(std::current_exception());
    }
}

void World::State::start(Execution& execution) {
    const Program& program = execution.prepared().program;
    if (!thread_on || !spare_core || helpers != 0 || program.multicast || program.moved < worth_handing_over) {
        if (thread_dreams && !std::exchange(hushed, true)) transport.hush(true);
        engine.start(execution);
        if (execution.finished()) look_now_and_then();
        return;
    }
    ++left_to_thread;
    engine.hand_over(execution);
}

void World::State::look_now_and_then() {
    if (waiting == transport::Waiting::block) return;  // in virtual time a loss is told
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const std::uint64_t now_ns =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    if (now_ns - looked_at_ns < between_looks_ns) return;
    looked_at_ns = now_ns;
    for (std::uint32_t look = 0; look < looks_for_losses; ++look) (void)transport.progress();
}

void World::State::set_events(bool on) {
    if (std::exchange(events, on) != on) transport.set_events(on);
}

void World::State::thread_main() {
    ask_for_short_slices();
    std::unique_lock lock(mutex);
    while (thread_on) {
        agree_with_thread();
        if (helpers != 0) {
            thread_idle = true;
            work.wait(lock, [&] { return !thread_on || helpers == 0; });
            thread_idle = false;
            continue;
        }
        bool any = false;
        try {
            // With nothing pending too: what others send early is taken in once, instead of waking us again and again.
            any = engine.pending() != 0 ? engine.poll() : transport.progress();
            if (!any) any = engine.look_for_losses();
        } catch (...) {
            engine.fail_all(std::current_exception());
        }
        if (any) continue;
        thread_dreams = true;
        thread_rests = engine.pending() == 0;
        const std::chrono::microseconds most = thread_rests ? std::chrono::hours(24) : longest_sleep;
        lock.unlock();
        std::exception_ptr broken;
        try {
            transport.sleep(most);
        } catch (...) {
            broken = std::current_exception();
        }
        lock.lock();
        if (broken != nullptr) engine.fail_all(broken);
        thread_dreams = thread_rests = false;
    }
}

void World::State::start_thread(Progress how) {
    locked = true;
    progress.how = how;
    {
        const std::lock_guard lock(mutex);
        thread_on = true;
    }
    thread = std::thread([this] { thread_main(); });
    pthread_setname_np(thread.native_handle(), "loom-progress");
    if (how == Progress::real_time) {
        if (const int refused = take_real_time_priority(thread.native_handle()); refused != 0) {
            progress.how = Progress::thread;
            progress.why += std::string(", but a real-time priority was refused: ") + std::strerror(refused);
        }
    }
    const Hold hold(*this);  // which tells the thread of what is pending
}

void World::State::stop_thread() {
    if (!thread.joinable()) return;
    {
        const std::lock_guard lock(mutex);
        thread_on = false;
        work.notify_one();
    }
    transport.interrupt();
    thread.join();
    const std::lock_guard lock(mutex);
    set_events(false);
    if (!shared) locked = false;
}

ProgressState automatic_progress(std::size_t ranks_here, CoresHere here, std::uint32_t ranks) {
    const std::uint32_t cores = here.together;
    const std::string text = counted(ranks_here, "rank", "ranks") + " on " + counted(cores, "core", "cores");
    if (ranks == 1) return {Progress::manual, text + ": there is nobody to wait for"};
    if (ranks_here >= cores) return {Progress::manual, text + " leave none for a thread"};
    if (here.own == 1)
        return {Progress::manual, text + ", but this rank is kept on one, and a thread would be as well"};
    return {Progress::thread, text + " leave one for a thread"};
}

void World::set_progress_from_environment() {
    const std::string asked = settings::read_word(Setting::progress).value_or("auto");
    if (state_->waiting == transport::Waiting::block) {
        state_->progress = {Progress::manual, virtual_time};
        return;
    }
    if (asked == "auto") {
        const auto hosts = state_->transport.hosts();
        const auto here = std::count(hosts.begin(), hosts.end(), hosts[rank().value]);
        state_->progress = automatic_progress(static_cast<std::size_t>(here),
                                              {transport::usable_cores(), state_->transport.cores()}, size());
        if (state_->progress.how == Progress::thread) state_->start_thread(Progress::thread);
        return;
    }
    state_->progress.why = "LOOM_PROGRESS=" + asked;
    if (asked == "manual") return;
    state_->start_thread(asked == "thread" ? Progress::thread : Progress::real_time);
}

void World::set_progress(Progress how) {
    if (state_->waiting == transport::Waiting::block) return;
    state_->stop_thread();
    state_->progress = {how, "as the program asked"};
    if (how != Progress::manual) state_->start_thread(how);
}

ProgressState World::progress_state() const {
    return state_->progress;
}

void World::share_between_threads() {
    state_->shared = state_->locked = true;
}

}  // namespace loom::coll
