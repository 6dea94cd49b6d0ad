// The other processes of this user, host and network namespace: how they are met, heard and lost. Has the socket
// on which others call, and a Peer for each slot that was met; which queue pairs wait for one stands in that.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "hca/host/peer.hpp"

namespace loom::hca {

struct Engine;

class Peers {
public:
    explicit Peers(Engine& engine) : engine_(engine) {}
    Peers(const Peers&) = delete;
    ~Peers();

    int take_slot();                               // 0 or errno
    bool make_self();                              // the ring to ourselves
    std::shared_ptr<Peer> at(std::uint32_t slot);  // connects when it is not known; null: nobody there
    void meet_everybody();
    [[nodiscard]] bool met(std::uint32_t slot) const;  // it sends to us by memory
    [[nodiscard]] const std::shared_ptr<Peer>& known(std::uint32_t slot) const { return known_[slot]; }
    [[nodiscard]] Peer& self() const { return *self_; }
    [[nodiscard]] const std::vector<Peer*>& up() const { return up_; }
    [[nodiscard]] const std::array<std::shared_ptr<Peer>, slots>& all() const { return known_; }

    // What the sockets have to say.
    [[nodiscard]] int listener() const { return listener_; }
    void accept();
    void hear_caller(int fd);
    void hear(Peer& peer);
    void look_after(std::uint32_t slot);  // its process may have ended
    void lose(Peer& peer);                // it is dead or does not behave
    void say_goodbye();

    // Queue pairs that wait for room, for a connection or for order, and run again then.
    void block_on(Peer& peer, Qp& qp);
    void forget(Qp& qp);
    void run_blocked(Peer& peer);
    void run_silent();
    [[nodiscard]] bool some_silent() const { return !silent_.empty(); }

    // Notes a process that has new entries in its ring. The engine's Guard wakes it, if it sleeps, just before it
    // releases the mutex.
    void touch(Peer& peer) {
        if (peer.touched) return;
        peer.touched = true;
        touched_.push_back(&peer);
    }
    [[nodiscard]] bool some_touched() const { return !touched_.empty(); }
    void ring_bells();

    void replace(std::uint32_t slot, std::shared_ptr<Peer> owner) { known_[slot] = std::move(owner); }
    void clear();              // at the end
    void close_descriptors();  // in the child of a fork: theirs too

private:
    void hang_up();  // on those who have called or would
    bool connect_up(Peer& peer, const struct Hello& hello, const int (&fds)[2]);

    Engine& engine_;
    int listener_ = -1, spare_ = -1;
    std::shared_ptr<Peer> self_;
    std::array<std::shared_ptr<Peer>, slots> known_;  // the present owner of each slot, once met
    std::vector<Peer*> up_;                           // whose rings are polled; the first is ourselves
    std::vector<std::uint32_t> silent_;               // slots of those that queue pairs wait to hear from
    std::vector<int> callers_;                        // have called and not yet said who they are
    std::vector<Peer*> touched_;                      // written to since the last look at their bells
};

}  // namespace loom::hca
