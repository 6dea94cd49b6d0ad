// Start-up: every rank says where its adapter, its rings and its queue pairs are, and connects to all others.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "loom/base/time.hpp"
#include "loom/transport/open.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace loom::transport {

// What a rank puts for the others: this, the name of its host, and a queue pair and a secret for each peer.
struct Card {
    std::uint32_t version = 4;
    std::uint32_t key = 0;
    std::uint64_t memory = 0;  // where its inboxes and rings lie
    std::uint64_t ring_bytes = 0, far_ring_bytes = 0;
    std::uint64_t eager_limit = 0, far_eager_limit = 0;
    std::uint64_t job = 0;
    Address address;
    CoreSet cores;
    char host[64] = {};
};

// For one of them.
struct Door {
    std::uint32_t qp = 0;
    std::uint32_t unused = 0;
    std::uint64_t secret = 0;  // of the marks in the ring for that peer
};

namespace {

constexpr std::uint64_t default_ring = 128 << 10, default_eager = 16 << 10;
// To another host a question and its answer take longer than to copy some more, and need a thread at both ends.
constexpr std::uint64_t default_far_ring = 512 << 10, default_far_eager = 64 << 10;
constexpr std::uint64_t rings_together = 64 << 20;  // bytes for the rings of all peers, at most
constexpr std::uint64_t rings_kept = 2;  // rings full of early messages: a rank that is a little late costs nothing

std::string host_identity(Rank rank) {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    char space[64] = {};
    // Ranks in another network namespace are reached as on another host.
    if (readlink("/proc/self/ns/net", space, sizeof space - 1) < 0) space[0] = '\0';
    const bool each = settings::read_word(Setting::hosts).has_value();
    return boot.substr(0, 18) + space + (each ? " " + std::to_string(rank.value) : "");
}

std::uint64_t bytes_from(Setting setting, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most) {
    const auto asked = settings::read(setting);
    if (!asked) return otherwise;
    const auto value = parse_bytes(*asked);
    if (!value || *value < least || *value > most)
        settings::refuse(setting, *asked, std::to_string(least) + " to " + std::to_string(most) + " bytes");
    return *value;
}

Distance read_distance(std::uint64_t ranks, std::uint64_t ring, std::uint64_t eager) {
    while (ring > 8192 && ring * ranks > rings_together) ring /= 2;
    Distance distance;
    distance.ring_bytes = bytes_from(Setting::ring, ring, 4096, 16 << 20) / 4096 * 4096;
    distance.eager_limit = std::min(bytes_from(Setting::eager, eager, 0, 1 << 20), distance.ring_bytes / 4);
    distance.most_kept = bytes_from(Setting::early, rings_kept * distance.ring_bytes, 0, 1 << 30);
    return distance;
}

std::uint64_t secret() {
    std::random_device chance;
    return std::uint64_t{chance()} << 32 | chance();
}

// The card in what `rank` gave, which must suit ours.
Card card_of(Rank rank, const std::string& value, const Card& mine, std::uint32_t ranks) {
    Card card;
    if (value.size() != sizeof card + ranks * sizeof(Door))
        throw BootstrapError("rank " + std::to_string(rank.value) + " gave an address of another kind");
    std::memcpy(&card, value.data(), sizeof card);
    if (card.version != mine.version || card.ring_bytes != mine.ring_bytes ||
        card.far_ring_bytes != mine.far_ring_bytes || card.eager_limit != mine.eager_limit ||
        card.far_eager_limit != mine.far_eager_limit)
        throw BootstrapError("rank " + std::to_string(rank.value) +
                             " has another version or other values of LOOM_RING and LOOM_EAGER");
    card.host[sizeof card.host - 1] = '\0';
    return card;
}

Door door_of(const std::string& value, Rank rank) {
    Door door;
    std::memcpy(&door, value.data() + sizeof(Card) + rank.value * sizeof door, sizeof door);
    return door;
}

}  // namespace

std::unique_ptr<Transport> open_verbs(Bootstrap& bootstrap) {
    return std::make_unique<VerbsTransport>(bootstrap);
}

VerbsTransport::VerbsTransport(Bootstrap& bootstrap)
    : bootstrap_(bootstrap),
      me_(bootstrap.rank()),
      near_(read_distance(bootstrap.size(), default_ring, default_eager)),
      far_(read_distance(bootstrap.size(), default_far_ring, default_far_eager)),
      peers_(bootstrap.size()),
      registrations_(device_),
      heap_(device_, registrations_),
      requests_(device_, *this),
      liveness_(bootstrap, requests_, peers_, me_),
      rings_(device_, requests_, liveness_, me_, bootstrap.size(), {near_.ring_bytes, far_.ring_bytes}),
      transfers_(registrations_),
      sender_(device_, requests_, rings_, liveness_, transfers_),
      receiver_(device_, requests_, rings_, liveness_, transfers_),
      notifications_(requests_, rings_, liveness_, sender_, bootstrap.size()),
      eager_(rings_, liveness_, sender_, receiver_, notifications_),
      puts_(registrations_, sender_, notifications_),
      wakes_(device_) {
    requests_.look_while_full([this] {
        liveness_.hear();
        wakes_.drain();  // whoever waits for us may do so for our receive requests
    });
    liveness_.add(rings_);
    liveness_.add(sender_);
    liveness_.add(receiver_);
    connect_all();
}

void VerbsTransport::connect_all() {
    Card mine;
    mine.key = rings_.memory().mr().rkey;
    mine.memory = reinterpret_cast<std::uint64_t>(rings_.memory().bytes().data());
    mine.ring_bytes = near_.ring_bytes;
    mine.far_ring_bytes = far_.ring_bytes;
    mine.eager_limit = near_.eager_limit;
    mine.far_eager_limit = far_.eager_limit;
    mine.job = secret();
    mine.address = device_.address;
    mine.cores = own_cores();
    host_identity(me_).copy(mine.host, sizeof mine.host - 1);
    const std::string value = open_peers(mine);
    bootstrap_.put("verbs", value);
    bootstrap_.fence();

    std::map<std::string, std::uint32_t> numbers;
    CoreSet together = mine.cores;
    for (Peer& peer : peers_) {
        const std::string theirs = peer.rank == me_ ? value : bootstrap_.get(peer.rank, "verbs");
        const Card card = card_of(peer.rank, theirs, mine, size());
        peer.far = std::strcmp(card.host, mine.host) != 0;
        any_far_ |= peer.far;
        if (!peer.far)
            for (std::size_t i = 0; i < std::size(together.words); ++i) together.words[i] |= card.cores.words[i];
        hosts_.push_back(numbers.emplace(card.host, static_cast<std::uint32_t>(numbers.size())).first->second);
        if (peer.rank == Rank{0}) job_ = card.job;
        if (peer.rank != me_) meet(peer, card, door_of(theirs, me_));
    }
    waiting_ = choose_waiting(hosts_, me_, together);
    requests_.wait_by(waiting_);
    sender_.wait_by(waiting_);
    cores_ = std::max(1u, count(together));
    const bool provided = device_.adapter.soft && rings_.provide(peers_);
    bootstrap_.fence();  // nobody writes before everybody can take it in
    if (provided) rings_.touch(peers_);
}

// A queue pair and our end of the rings for each peer. Returns what the others must know.
std::string VerbsTransport::open_peers(const Card& mine) {
    std::string value(reinterpret_cast<const char*>(&mine), sizeof mine);
    for (std::uint32_t i = 0; i < size(); ++i) {
        Peer& peer = peers_[i];
        peer.rank = Rank{i};
        Door door;
        if (peer.rank != me_) {
            peer.qp = device_.create_qp(queue_length, requests_.inline_limit());
            requests_.add(peer);
            door.qp = peer.qp->qp_num;
            door.secret = secret();
            rings_.open(peer, door.secret);
        }
        value.append(reinterpret_cast<const char*>(&door), sizeof door);
    }
    return value;
}

void VerbsTransport::meet(Peer& peer, const Card& theirs, const Door& door) {
    const Distance& distance = peer.far ? far_ : near_;
    peer.eager_limit = distance.eager_limit;
    peer.most_kept = distance.most_kept;
    rings_.connect(peer, theirs.key, theirs.memory, door.secret);
    device_.connect(*peer.qp, theirs.address, door.qp);
}

// Packets that are still under way to other hosts must not die with their queue pairs.
void VerbsTransport::flush() {
    for (Peer& peer : peers_)
        if (peer.far && !peer.lost)
            requests_.write(peer, {}, peer.inbox_address, IBV_SEND_SIGNALED, RequestKind::probe);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (requests_.any_outstanding() && std::chrono::steady_clock::now() < until) requests_.note();
}

VerbsTransport::~VerbsTransport() {
    try {
        flush();
    } catch (const Error&) {
        // The adapter is gone: there is nothing left to wait for.
    }
    peers_.clear();  // queue pairs go before the memory that others write through them
}

}  // namespace loom::transport
