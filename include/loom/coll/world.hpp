// All ranks of a job, and what moves their operations forward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loom/coll/communicator.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"

namespace loom::coll {

enum class Progress : std::uint8_t {
    manual,     // in test() and wait() alone
    thread,     // a thread that sleeps on the transport's events while operations are pending
    real_time,  // the same with a real-time priority, so that it gets a core from whoever computes on it
};

// How progress is made and why: "manual: 4 ranks on 2 cores leave none for a thread".
struct ProgressState {
    Progress how = Progress::manual;
    std::string why;
};

// One thread at a time may use a world, its communicators and their requests, unless share_between_threads() was
// called. It outlives its communicators and requests.
class World {
public:
    // From the environment: find_bootstrap() and open_transport(). Collective.
    [[nodiscard]] static std::unique_ptr<World> open();
    // Over what is given; both must outlive the world. `bootstrap` may be null (threads of one process).
    World(transport::Transport& transport, transport::Bootstrap* bootstrap);
    // close(), whose errors nobody hears then. But while an exception is on its way out, waits for nobody: operations
    // that are still pending are given up, and the others hear that this rank is gone.
    ~World();
    // Waits for operations that are still pending, then for everyone who is left. Throws BootstrapError.
    void close();

    [[nodiscard]] Communicator communicator();  // everyone
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] transport::Transport& transport();

    // Moves every pending operation forward; false when nothing happened. In virtual time that takes 100 ns then: who
    // looks again and again would otherwise stop the time.
    bool progress();
    [[nodiscard]] std::size_t pending() const;

    // Default: LOOM_PROGRESS=manual|thread|realtime|auto; auto is a thread where a core is spare, else manual. May be
    // called at any time, also with operations pending. real_time falls back to thread where it is not allowed. Over a
    // transport in virtual time it stays manual whatever is asked for, and progress_state() says why.
    void set_progress(Progress how);
    [[nodiscard]] ProgressState progress_state() const;

    // Datagrams that arrived of broadcasts by multicast, in time to be of use or not.
    [[nodiscard]] std::uint64_t fragments_heard() const;

    // From now on several threads may start, test and wait (though each request belongs to one at a time). Costs a lock
    // a call. To be called before there are several.
    void share_between_threads();

    struct State;
    [[nodiscard]] State& state() { return *state_; }

private:
    explicit World(std::unique_ptr<State> state);
    void set_progress_from_environment();
    bool meet_everyone();
    void leave_together();
    std::unique_ptr<State> state_;
};

// Runs `body` on `ranks` threads of this process over the local transport: for tests and examples.
void run_local(std::uint32_t ranks, const std::function<void(World&)>& body);

}  // namespace loom::coll
