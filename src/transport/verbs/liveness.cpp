#include "transport/verbs/liveness.hpp"

#include <algorithm>
#include <chrono>

#include "transport/verbs/finish.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t rest_every_ns = 1'000'000;
constexpr std::uint64_t probe_every_ns = 100'000'000;

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
}

}  // namespace

bool Liveness::is_awaited(const Peer& peer) const {
    return std::any_of(keepers_.begin(), keepers_.end(),
                       [&](const PeerKeeper* keeper) { return keeper->awaits(peer); });
}

bool Liveness::rest() {
    const std::uint64_t now = now_ns();
    if (now - last_rest_ns_ < rest_every_ns) return false;
    last_rest_ns_ = now;
    ask_launcher();
    if (now - last_probe_ns_ < probe_every_ns) return false;
    last_probe_ns_ = now;
    for (Peer& peer : peers_) {
        if (peer.rank == me_ || peer.lost || peer.probing || !is_awaited(peer)) continue;
        peer.probing = true;
        requests_.write_word(peer, offsetof(Inbox, consumed), peer.in.reported, RequestKind::probe);
    }
    return true;
}

void Liveness::hear() {
    const auto gone = bootstrap_.lost();
    if (!gone || *gone == me_ || gone->value >= peers_.size()) return;
    Peer& peer = peers_[gone->value];
    if (peer.lost || std::find(gone_.begin(), gone_.end(), *gone) != gone_.end()) return;
    peer.broken = true;
    gone_.push_back(*gone);
}

void Liveness::ask_launcher() {
    hear();
    while (!gone_.empty()) {
        const Rank next = gone_.front();
        gone_.erase(gone_.begin());
        lose(peers_[next.value], "it ended");
    }
}

void Liveness::lose(Peer& peer, const std::string& why) {
    if (peer.lost) return;
    peer.lost = true;
    if (!first_lost_) {
        first_lost_ = peer.rank;
        why_ = why;
    }
    requests_.stop(peer);
    MessageList over;
    for (PeerKeeper* const keeper : keepers_) keeper->forget(peer, over);
    while (Message* const message = over.pop()) finish(*message, Message::Outcome::lost);
}

}  // namespace loom::transport
