// What a world consists of, and the rules for its lock and its thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "coll/communicator_state.hpp"
#include "coll/engine.hpp"
#include "coll/ranking.hpp"
#include "loom/coll/parameters.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::coll {

struct World::State {
    State(transport::Transport& transport, transport::Bootstrap* bootstrap);
    State(std::unique_ptr<transport::Bootstrap> bootstrap, std::unique_ptr<transport::Transport> transport);
    ~State();

    // Held by everyone who touches the engine, the transport or a communicator. Letting go tells the progress thread
    // what is pending. Costs a branch while one thread is all there is.
    class Hold {
    public:
        explicit Hold(State& state) : state_(state), locked_(state.locked) {
            if (locked_) state_.mutex.lock();
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        ~Hold() {
            if (!locked_) return;
            state_.agree_with_thread();
            const bool hushed = std::exchange(state_.hushed, false);
            state_.mutex.unlock();
            // Not before: on one core the thread would be woken to wait for us.
            if (hushed) state_.transport.hush(false);
        }

    private:
        State& state_;
        bool locked_;
    };

    // Begins the operation in the calling thread, or hands it to the progress thread where a core is spare and there is
    // much to move.
    void start(Execution& execution);
    // Until the execution is finished, however it ended. Throws when the transport is broken.
    void wait(const Execution& execution);
    // One look.
    bool poll();
    // The same of a program; what finds nothing takes time where time is virtual.
    bool poll_and_pass_time();
    // A rank whose operations all end as they begin, as those that only send do, never waits: it looks now and then, or
    // it would not hear of a loss. Costs a coarse look at the clock.
    void look_now_and_then();
    std::uint64_t looked_at_ns = 0;
    // One look, for users who look again and again. Where cores are too few, some looks in vain give the core away.
    void poll_for_test();
    std::uint32_t fruitless_tests = 0;

    // The progress thread. All inside the lock, but for start and stop.
    void start_thread(Progress how);
    void stop_thread();
    // Where nobody waits: wakes the thread for what was handed over, else asks peers to wake it for what they send.
    void agree_with_thread();
    void set_events(bool on);  // whether peers wake us for what they send
    void thread_main();

    void keep_choices();

    // Owned only when the world was opened from the environment; declared first: they go last.
    std::unique_ptr<transport::Bootstrap> own_bootstrap;
    std::unique_ptr<transport::Transport> own_transport;

    transport::Transport& transport;
    transport::Bootstrap* bootstrap;
    transport::Waiting waiting;
    Parameters parameters;
    Ranking ranking;  // by these parameters
    Engine engine;
    std::multiset<std::uint32_t> contexts_in_use;
    std::vector<std::unique_ptr<Communicator::State>> communicators;
    std::shared_ptr<Communicator::State> everyone;
    bool closed = false;
    bool checks = false;        // LOOM_COLL_CHECK
    bool reproducible = false;  // LOOM_COLL_REPRODUCIBLE: for new communicators

    // What was said in an agreement (recovery.cpp); whether somebody hears it does not matter.
    struct Letter {
        transport::Message message;
        std::vector<std::uint64_t> words;
    };
    std::vector<std::unique_ptr<Letter>> letters;

    bool shared = false;  // between threads of the user
    bool locked = false;  // shared, or a thread runs; changes only while there is no other thread
    std::mutex mutex;
    std::thread thread;
    std::condition_variable work;  // for the thread: something is pending, or stop
    bool thread_on = false;
    bool thread_idle = false;          // blocked on `work`
    bool thread_dreams = false;        // asleep on the transport
    bool thread_rests = false;         // and for as long as nothing comes
    std::uint32_t helpers = 0;         // users who wait and poll
    bool events = false;               // of the transport
    bool hushed = false;               // the transport, until whoever holds the lock lets go
    bool spare_core = false;           // the thread takes none from a rank's computing
    std::uint64_t left_to_thread = 0;  // operations that it was handed to begin with
    ProgressState progress;

    // A handle's state for a new communicator.
    [[nodiscard]] std::shared_ptr<Communicator::State> add(std::unique_ptr<Communicator::State> communicator);
    void remove(Communicator::State& communicator);

    // What this rank has to say where ranks agree on a context: the lowest from `floor` on that it does not use, and
    // whether it could take the one that was found. What it has taken is in use until it is given up.
    [[nodiscard]] std::uint32_t free_context(std::uint32_t floor);
    [[nodiscard]] bool take_context(std::uint32_t number);
    void give_up_context(std::uint32_t number);
    [[noreturn]] static void refuse_more_communicators();
};

// What LOOM_PROGRESS=auto means: a thread where a core is spare.
struct CoresHere {
    std::uint32_t own = 1;       // that this process may run on
    std::uint32_t together = 1;  // that the ranks of this host have between them
};
[[nodiscard]] ProgressState automatic_progress(std::size_t ranks_here, CoresHere here, std::uint32_t ranks);

}  // namespace loom::coll
