// Start-up: every rank says where its adapter, its rings and its queue pairs are, and connects to all others.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "loom/base/error.hpp"
#include "loom/base/time.hpp"
#include "loom/transport/open.hpp"
#include "transport/verbs/requests.hpp"
#include "transport/verbs/verbs_transport.hpp"

namespace loom::transport {

namespace {

constexpr std::uint64_t default_ring = 128 << 10, default_eager = 16 << 10;
// To another host a question and its answer take longer than to copy some more, and need a thread at both ends.
constexpr std::uint64_t default_far_ring = 512 << 10, default_far_eager = 64 << 10;
constexpr std::uint64_t rings_together = 64 << 20;  // bytes for the rings of all peers, at most
// Rings inside this host get their pages before the first message when they need no more than this. Without it the
// first pass through a ring waits for the kernel at each page, 2.5 us where it is made and 1 us where a peer maps it:
// the first seven alltoalls of 16 KiB on 4 ranks took 160 us each, the later ones 12.
constexpr std::uint64_t most_provided = 4 << 20;
constexpr std::uint64_t rings_kept = 2;  // rings full of early messages: a rank that is a little late costs nothing

// What a rank puts for the others: this, the name of its host, and a queue pair and a secret for each peer.
struct Card {
    std::uint32_t version = 3;
    std::uint32_t key = 0;
    std::uint64_t arena = 0;
    std::uint64_t ring_bytes = 0, far_ring_bytes = 0;
    std::uint64_t eager_limit = 0, far_eager_limit = 0;
    std::uint64_t job = 0;
    Address address;
    CoreSet cores;
    char host[64] = {};
};

struct Door {
    std::uint32_t qp = 0;
    std::uint32_t unused = 0;
    std::uint64_t secret = 0;  // of the marks in the ring for that peer
};

std::string host_identity(Rank rank) {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    char space[64] = {};
    // Ranks in another network namespace are reached as on another host.
    if (readlink("/proc/self/ns/net", space, sizeof space - 1) < 0) space[0] = '\0';
    const char* const asked = std::getenv("LOOM_HOSTS");
    if (asked != nullptr && std::strcmp(asked, "each") != 0)
        throw UsageError(std::string("LOOM_HOSTS='") + asked + "': expected each");
    return boot.substr(0, 18) + space + (asked != nullptr ? " " + std::to_string(rank.value) : "");
}

std::uint64_t bytes_from(const char* variable, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most) {
    const char* asked = std::getenv(variable);
    if (asked == nullptr) return otherwise;
    const auto value = parse_bytes(asked);
    if (!value || *value < least || *value > most)
        throw UsageError(std::string(variable) + "='" + asked + "': expected " + std::to_string(least) + " to " +
                         std::to_string(most) + " bytes");
    return *value;
}

}  // namespace

std::unique_ptr<Transport> open_verbs(Bootstrap& bootstrap) {
    return std::make_unique<VerbsTransport>(bootstrap);
}

VerbsTransport::VerbsTransport(Bootstrap& bootstrap)
    : bootstrap_(bootstrap),
      me_(bootstrap.rank()),
      registrations_(device_),
      heap_(device_, registrations_),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (bell_ < 0) throw Error(std::string("cannot make an eventfd: ") + std::strerror(errno));
    read_settings();
    connect_all();
}

void VerbsTransport::read_settings() {
    const std::uint64_t ranks = bootstrap_.size();
    const auto read = [&](Distance& distance, std::uint64_t ring, std::uint64_t eager) {
        while (ring > 8192 && ring * ranks > rings_together) ring /= 2;
        distance.ring_bytes = bytes_from("LOOM_RING", ring, 4096, 16 << 20) / 4096 * 4096;
        distance.eager_limit = std::min(bytes_from("LOOM_EAGER", eager, 0, 1 << 20), distance.ring_bytes / 4);
        distance.most_kept = bytes_from("LOOM_EARLY", rings_kept * distance.ring_bytes, 0, 1 << 30);
    };
    read(near_, default_ring, default_eager);
    read(far_, default_far_ring, default_far_eager);
}

void VerbsTransport::connect_all() {
    const std::uint32_t ranks = bootstrap_.size();
    const std::uint64_t inboxes = round_up(ranks * sizeof(Inbox), 4096);
    // Who is far is not known yet: there is room for either ring. What is never touched needs no memory.
    const std::uint64_t stride = std::max(near_.ring_bytes, far_.ring_bytes);
    arena_ = std::make_unique<SharedMemory>(device_, inboxes + 2 * stride * ranks);
    std::byte* const base = arena_->bytes().data();
    std::random_device chance;
    const auto secret = [&] { return std::uint64_t{chance()} << 32 | chance(); };

    Card mine;
    mine.key = arena_->mr().rkey;
    mine.arena = reinterpret_cast<std::uint64_t>(base);
    mine.ring_bytes = near_.ring_bytes;
    mine.far_ring_bytes = far_.ring_bytes;
    mine.eager_limit = near_.eager_limit;
    mine.far_eager_limit = far_.eager_limit;
    mine.job = secret();
    mine.address = device_.address;
    mine.cores = own_cores();
    host_identity(me_).copy(mine.host, sizeof mine.host - 1);
    std::string value(reinterpret_cast<const char*>(&mine), sizeof mine);
    peers_.resize(ranks);
    watches_.resize(ranks);
    for (std::uint32_t i = 0; i < ranks; ++i) {
        Peer& peer = peers_[i];
        peer.rank = Rank{i};
        Door door;
        if (i != me_.value) {
            peer.qp = device_.create_qp(queue_length, inline_limit());
            peer.inbox = reinterpret_cast<const Inbox*>(base) + i;
            peer.ring = base + inboxes + stride * i;
            peer.mirror = base + inboxes + stride * (ranks + i);
            door.qp = peer.qp->qp_num;
            door.secret = secret();
            peer.in = Marks(door.secret);
            by_qp_[door.qp] = &peer;
        }
        value.append(reinterpret_cast<const char*>(&door), sizeof door);
    }
    bootstrap_.put("verbs", value);
    bootstrap_.fence();

    std::map<std::string, std::uint32_t> numbers;
    CoreSet together = mine.cores;
    for (Peer& peer : peers_) {
        const std::string theirs = peer.rank == me_ ? value : bootstrap_.get(peer.rank, "verbs");
        Card card;
        if (theirs.size() != sizeof card + ranks * sizeof(Door))
            throw BootstrapError("rank " + std::to_string(peer.rank.value) + " gave an address of another kind");
        std::memcpy(&card, theirs.data(), sizeof card);
        if (card.version != mine.version || card.ring_bytes != mine.ring_bytes ||
            card.far_ring_bytes != mine.far_ring_bytes || card.eager_limit != mine.eager_limit ||
            card.far_eager_limit != mine.far_eager_limit)
            throw BootstrapError("rank " + std::to_string(peer.rank.value) +
                                 " has another version or other values of LOOM_RING and LOOM_EAGER");
        card.host[sizeof card.host - 1] = '\0';
        peer.far = std::strcmp(card.host, mine.host) != 0;
        any_far_ |= peer.far;
        const Distance& distance = peer.far ? far_ : near_;
        peer.ring_bytes = distance.ring_bytes;
        peer.ring_lines = distance.ring_bytes / line;
        if (peer.rank != me_) watch(peer);
        peer.eager_limit = distance.eager_limit;
        peer.most_kept = distance.most_kept;
        if (!peer.far)
            for (std::size_t i = 0; i < std::size(together.words); ++i) together.words[i] |= card.cores.words[i];
        hosts_.push_back(numbers.emplace(card.host, static_cast<std::uint32_t>(numbers.size())).first->second);
        if (peer.rank == Rank{0}) job_ = card.job;
        if (peer.rank == me_) continue;
        Door door;
        std::memcpy(&door, theirs.data() + sizeof card + me_.value * sizeof door, sizeof door);
        peer.out = Marks(door.secret);
        peer.key = card.key;
        peer.inbox_address = card.arena + me_.value * sizeof(Inbox);
        peer.ring_address = card.arena + inboxes + stride * me_.value;
        device_.connect(*peer.qp, card.address, door.qp);
    }
    waiting_ = choose_waiting(hosts_, me_, together);
    cores_ = std::max(1u, count(together));
    const bool provided = provide_rings();
    bootstrap_.fence();  // nobody writes before everybody can take it in
    if (provided) touch_rings();
}

bool VerbsTransport::provide_rings() {
    const auto is_near = [&](const Peer& peer) { return !peer.far && peer.rank != me_; };
    const auto near_peers = static_cast<std::uint64_t>(std::count_if(peers_.begin(), peers_.end(), is_near));
    if (!device_.adapter.soft || 2 * near_.ring_bytes * near_peers > most_provided) return false;
    for (const Peer& peer : peers_) {
        if (!is_near(peer)) continue;
        for (const std::byte* const part : {peer.ring, static_cast<const std::byte*>(peer.mirror)})
            arena_->provide(static_cast<std::uint64_t>(part - arena_->bytes().data()), near_.ring_bytes);
    }
    return true;
}

// A zero on each page of the rings that we write: no frame begins with it, and the pages are then mapped here too.
void VerbsTransport::touch_rings() {
    std::byte zero{};
    for (Peer& peer : peers_) {
        if (peer.far || peer.rank == me_) continue;
        for (std::uint64_t at = 0; at < peer.ring_bytes; at += 4096) {
            ibv_sge whole{reinterpret_cast<std::uint64_t>(&zero), sizeof zero, 0};
            post_write(peer, {&whole, 1}, peer.ring_address + at, peer.key, IBV_SEND_INLINE,
                       request_id(peer.rank, RequestKind::frame));
        }
    }
}

Multicast* VerbsTransport::multicast() {
    if (datagrams_ == nullptr) datagrams_ = std::make_unique<Datagrams>(device_, me_, job_);
    return datagrams_.get();
}

std::string VerbsTransport::description() const {
    return "verbs: " + device_.name + (device_.adapter.soft ? " (software HCA)" : "") + ", eager up to " +
           std::to_string(near_.eager_limit) + " bytes" +
           (any_far_ ? " (" + std::to_string(far_.eager_limit) + " to other hosts)" : "");
}

// Packets that are still under way to other hosts must not die with their queue pairs.
void VerbsTransport::flush() {
    for (Peer& peer : peers_)
        if (peer.far && !peer.lost)
            post_write(peer, {}, peer.inbox_address, peer.key, IBV_SEND_SIGNALED,
                       request_id(peer.rank, RequestKind::probe));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (outstanding_ != 0 && std::chrono::steady_clock::now() < until) note_completions();
}

VerbsTransport::~VerbsTransport() {
    try {
        flush();
    } catch (const Error&) {
        // The adapter is gone: there is nothing left to wait for.
    }
    ::close(bell_);
}

std::span<std::byte> VerbsTransport::allocate(std::size_t bytes) {
    return heap_.allocate(bytes);
}

void VerbsTransport::release(std::span<std::byte> memory) {
    heap_.release(memory);
}

}  // namespace loom::transport
