// Who moves operations forward while the program computes.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "coll/world_state.hpp"

namespace loom::coll {
namespace {

// How long the thread sleeps on the transport at most: the time after which a loss that nothing announces is found.
constexpr std::chrono::microseconds longest_sleep{10'000};

}  // namespace

// Events cost both sides more than polling. They are on only when nobody else looks.
void World::State::agree_with_thread() {
    const bool needed = thread_on && engine.pending() != 0 && helpers == 0;
    if (needed == events) return;
    events = needed;
    transport.set_events(needed);
    if (!needed) return;
    // What came before that woke nobody.
    try {
        engine.poll();
    } catch (...) {
        engine.fail_all(std::current_exception());
    }
    if (thread_idle) work.notify_one();
}

void World::State::thread_main() {
    std::unique_lock lock(mutex);
    while (thread_on) {
        if (engine.pending() == 0 || helpers != 0) {
            agree_with_thread();
            thread_idle = true;
            work.wait(lock, [&] { return !thread_on || (engine.pending() != 0 && helpers == 0); });
            thread_idle = false;
            continue;
        }
        agree_with_thread();
        bool any = false;
        try {
            any = engine.poll();
            if (!any) engine.look_for_losses();
        } catch (...) {
            engine.fail_all(std::current_exception());
        }
        if (any && engine.pending() != 0) continue;
        lock.unlock();
        transport.sleep(longest_sleep);
        lock.lock();
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
    if (how == Progress::real_time) {
        sched_param param{};
        param.sched_priority = sched_get_priority_min(SCHED_RR);
        if (const int refused = pthread_setschedparam(thread.native_handle(), SCHED_RR, &param); refused != 0) {
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
    if (std::exchange(events, false)) transport.set_events(false);
    if (!shared) locked = false;
}

namespace {

std::string spare_cores(const transport::Transport& transport, bool& spare) {
    const auto hosts = transport.hosts();
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[transport.rank().value]);
    const std::uint32_t cores = transport::usable_cores();
    spare = here < cores && transport.size() > 1;
    std::string text = std::to_string(here) + (here == 1 ? " rank" : " ranks") + " on " + std::to_string(cores) +
                       (cores == 1 ? " core" : " cores");
    if (transport.size() == 1) return text + " has nobody to wait for";
    return text + (spare ? " leave one for a thread" : " leave none for a thread");
}

}  // namespace

void World::set_progress_from_environment() {
    const char* given = std::getenv("LOOM_PROGRESS");
    const std::string asked = given == nullptr ? "auto" : given;
    if (asked == "auto") {
        bool spare = false;
        const std::string why = spare_cores(state_->transport, spare);
        state_->progress = {Progress::manual, why};
        if (spare) state_->start_thread(Progress::thread);
        return;
    }
    state_->progress.why = "LOOM_PROGRESS=" + asked;
    if (asked == "manual") return;
    if (asked != "thread" && asked != "realtime")
        throw UsageError("LOOM_PROGRESS=" + asked + ": expected manual, thread, realtime or auto");
    state_->start_thread(asked == "thread" ? Progress::thread : Progress::real_time);
}

void World::set_progress(Progress how) {
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
