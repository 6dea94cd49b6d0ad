// Who has gone, and what that means for whoever waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "transport/verbs/requests.hpp"

namespace loom::transport {

// A part of the transport that keeps something for peers.
class PeerKeeper {
public:
    // Whether something is wanted of the peer, so that it must be found out whether it lives.
    [[nodiscard]] virtual bool awaits(const Peer& peer) const = 0;
    // The peer is lost: drops what is kept for it, and appends the messages that nobody will finish now.
    virtual void forget(Peer& peer, MessageList& over) = 0;

protected:
    ~PeerKeeper() = default;
};

// Owns the word on who is lost, and who was the first.
class Liveness {
public:
    Liveness(Bootstrap& bootstrap, Requests& requests, std::vector<Peer>& peers, Rank me)
        : bootstrap_(bootstrap), requests_(requests), peers_(peers), me_(me) {}
    void add(PeerKeeper& keeper) { keepers_.push_back(&keeper); }

    // Called now and then: asks the launcher, and the adapters of peers of whom something is wanted. True when it was
    // time for the latter. Costs a look at the clock.
    bool rest();
    // The adapter has answered for the peer.
    static void take_probe(Peer& peer) { peer.probing = false; }
    // What the launcher says is noted: the caller may be in the middle of a send.
    void hear();
    // What it says and has said is taken in.
    void ask_launcher();
    // From now on the peer is lost; its messages end so.
    void lose(Peer& peer, const std::string& why);

    [[nodiscard]] std::optional<Rank> first_lost() const { return first_lost_; }
    [[nodiscard]] std::string_view why() const { return why_; }

private:
    [[nodiscard]] bool is_awaited(const Peer& peer) const;

    Bootstrap& bootstrap_;
    Requests& requests_;
    std::vector<Peer>& peers_;
    Rank me_;
    std::vector<PeerKeeper*> keepers_;
    std::uint64_t last_rest_ns_ = 0, last_probe_ns_ = 0;
    std::vector<Rank> gone_;  // as the launcher says; not taken in yet
    std::optional<Rank> first_lost_;
    std::string why_;
};

}  // namespace loom::transport
