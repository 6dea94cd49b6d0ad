// All ranks of a job as they reach into each other's memory, and what moves that forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"
#include "loom/window/error.hpp"
#include "loom/window/team.hpp"

namespace loom::window {

struct WorldOptions {
    // Notifications and puts inside a host as plain stores, where the transport maps memory of peers.
    bool stores = true;
    // Of every wait and collective call that is given none; by this thread's clock (loom::now()).
    Time patience = never;
};

// One thread at a time is inside: of the world, its teams and its windows together. It outlives them. The transport may
// serve collectives (coll) as well; its notifications are the world's alone.
//
// Progress: a put or notification is on its way when the call returns unless too many wait for the target; then it
// moves in later calls of either rank (any that wait, test, flush or progress()).
class World {
public:
    using Options = WorldOptions;

    // From the environment: find_bootstrap() and open_transport(). Collective.
    [[nodiscard]] static std::unique_ptr<World> open(Options options = {});
    // Over what is given, which must outlive it; `bootstrap` may be null (threads of one process). Collective.
    World(transport::Transport& transport, transport::Bootstrap* bootstrap, Options options = {});
    // close(), whose errors nobody hears then; while an exception is on its way out, waits for nobody.
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    // Collective: sends what still waits, then waits for everyone. Frees all windows.
    void close();

    [[nodiscard]] Team team() const;  // everyone
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] std::uint32_t size() const;
    [[nodiscard]] transport::Transport& transport() const;

    // Moves everything forward without waiting; false: nothing happened.
    bool progress();

    // Memory that ranks of this host reach with plain loads and stores, zeroed, 64-byte aligned, freed with the world
    // at last. Elsewhere it is ordinary memory.
    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes);
    void release(std::span<std::byte> memory);

    // What every rank waits for, one line each, the circle first if there is one, as a Stalled says it. Asks the
    // others' adapters, not the others; over transports that need them, those that do not answer within a second are
    // said to compute. Not collective.
    [[nodiscard]] std::string who_waits_for_whom();

    struct State;
    [[nodiscard]] State& state() const { return *state_; }

private:
    std::unique_ptr<transport::Bootstrap> own_bootstrap_;
    std::unique_ptr<transport::Transport> own_transport_;
    std::unique_ptr<State> state_;
};

}  // namespace loom::window
