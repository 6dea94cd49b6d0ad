#include "transport/local/job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "loom/transport/access.hpp"

namespace loom::transport::local {

void Inbox::put(Parcel* parcel) {
    Parcel* newest = newest_.load(std::memory_order_relaxed);
    do parcel->next = newest;
    while (!newest_.compare_exchange_weak(newest, parcel));
}

Parcel* Inbox::take() {
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    Parcel* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    Parcel* oldest = nullptr;
    while (newest != nullptr) {
        Parcel* before = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = before;
    }
    return oldest;
}

Inbox::~Inbox() {
    for (Parcel* parcel = take(); parcel != nullptr;) std::free(std::exchange(parcel, parcel->next));
}

void ParcelList::append(Parcel* parcel) {
    parcel->next = nullptr;
    (last != nullptr ? last->next : first) = parcel;
    last = parcel;
}

Parcel* ParcelList::take(Tag tag) {
    Parcel* before = nullptr;
    for (Parcel* parcel = first; parcel != nullptr; before = parcel, parcel = parcel->next) {
        if (parcel->tag != tag) continue;
        (before != nullptr ? before->next : first) = parcel->next;
        if (last == parcel) last = before;
        return parcel;
    }
    return nullptr;
}

Job::Job(std::uint32_t ranks) : hosts(ranks, 0), gone(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        endpoints.push_back(std::make_unique<Endpoint>(*this, Rank{rank}));
}

Job::~Job() = default;

void Job::lose(Rank rank) {
    std::uint32_t expected = nobody;
    first_lost.compare_exchange_strong(expected, rank.value);
    gone[rank.value] = true;
    ++losses;
    for (const auto& endpoint : endpoints) endpoint->interrupt();
}

void Endpoint::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{64});
}

Endpoint::Endpoint(Job& job, Rank me) : job_(job), me_(me), peers_(job.hosts.size()) {}

Endpoint::~Endpoint() {
    for (Peer& peer : peers_)
        for (Parcel* parcel = peer.unexpected.first; parcel != nullptr;) std::free(std::exchange(parcel, parcel->next));
    while (pool_ != nullptr) std::free(std::exchange(pool_, pool_->next));
}

std::string Endpoint::description() const {
    return "threads of one process, messages up to " + std::to_string(eager_bytes) + " bytes copied twice";
}

// Small ones are all of one size and kept: sender and receiver are different threads, and the allocator would have to
// give memory back from one to the other.
constexpr std::uint64_t pooled_payload = 192;

Parcel* Endpoint::new_parcel(std::uint64_t payload) {
    if (payload <= pooled_payload && pool_ != nullptr) {
        --pooled_;
        return new (std::exchange(pool_, pool_->next)) Parcel;
    }
    void* memory = std::malloc(sizeof(Parcel) + std::max(payload, pooled_payload));
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Parcel;
}

void Endpoint::recycle(Parcel* parcel) {
    if (parcel->bytes > pooled_payload || pooled_ == 256) return std::free(parcel);
    ++pooled_;
    parcel->next = std::exchange(pool_, parcel);
}

void Endpoint::deliver(Rank to, Parcel* parcel) {
    Endpoint& target = *job_.endpoints[to.value];
    target.inbox_.put(parcel);
    if (target.events_.load()) target.interrupt();
}

// Counts what it allows.
bool Endpoint::may_give(Rank to, std::uint64_t bytes) {
    Peer& peer = peers_[to.value];
    const std::uint64_t cost = sizeof(Parcel) + bytes;
    if (peer.given + cost - peer.used > most_early) {
        peer.used = job_.endpoints[to.value]->peers_[me_.value].used_of_its.load(std::memory_order_relaxed);
        if (peer.given + cost - peer.used > most_early) return false;
    }
    peer.given += cost;
    return true;
}

bool Endpoint::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    if (job_.gone[to.value].load(std::memory_order_relaxed)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    const bool eager = data.size() <= eager_bytes && may_give(to, data.size());
    Parcel* parcel = new_parcel(eager ? data.size() : 0);
    parcel->from = me_;
    parcel->tag = tag;
    parcel->bytes = data.size();
    if (eager) {
        if (!data.empty()) std::memcpy(parcel->payload(), data.data(), data.size());
        deliver(to, parcel);
        message.outcome = Message::Outcome::done;
        return true;
    }
    parcel->kind = Parcel::Kind::direct;
    parcel->source = data.data();
    parcel->message = &message;
    message.outcome = Message::Outcome::pending;
    message.peer = to;
    peers_[to.value].sends.push(message);
    deliver(to, parcel);
    return false;
}

bool Endpoint::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    message.peer = from;
    message.tag = tag;
    message.data = into.data();
    message.bytes = into.size();
    Peer& peer = peers_[from.value];
    if (peer.unexpected.first != nullptr) {
        if (Parcel* parcel = peer.unexpected.take(tag)) {
            hand_over(parcel, message);
            return true;
        }
    }
    message.outcome = Message::Outcome::pending;
    peer.receives.push(message);
    return false;
}

void Endpoint::hand_over(Parcel* parcel, Message& message) {
    const bool fits = parcel->bytes == message.bytes;
    const std::uint64_t bytes = fits ? parcel->bytes : 0;
    const bool direct = parcel->kind == Parcel::Kind::direct;
    if (direct && job_.gone[parcel->from.value].load(std::memory_order_acquire)) {
        message.outcome = Message::Outcome::lost;  // its memory may be gone as well
        parcel->bytes = 0;                         // it carries none
        return recycle(parcel);
    }
    if (bytes != 0) std::memcpy(message.data, direct ? parcel->source : parcel->payload(), bytes);
    message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
    if (!direct) {
        std::atomic<std::uint64_t>& used = peers_[parcel->from.value].used_of_its;
        used.store(used.load(std::memory_order_relaxed) + sizeof(Parcel) + parcel->bytes, std::memory_order_relaxed);
        return recycle(parcel);
    }
    parcel->kind = Parcel::Kind::direct_taken;
    parcel->outcome = message.outcome;
    const Rank sender = parcel->from;
    parcel->from = me_;
    deliver(sender, parcel);
}

void Endpoint::arrived(Parcel* parcel) {
    Peer& peer = peers_[parcel->from.value];
    switch (parcel->kind) {
        case Parcel::Kind::notification:
            notifications_.push_back({parcel->from, parcel->value});
            recycle(parcel);
            return;
        case Parcel::Kind::direct_taken: {
            Message& message = *parcel->message;
            const Message::Outcome outcome = parcel->outcome;
            parcel->bytes = 0;  // it carries none
            recycle(parcel);
            peer.sends.remove(message);
            message.outcome = outcome;
            message.finished(message);
            return;
        }
        case Parcel::Kind::eager:
        case Parcel::Kind::direct:
            break;
    }
    if (Message* const message = peer.receives.take(parcel->tag)) {
        hand_over(parcel, *message);
        message->finished(*message);
        return;
    }
    peer.unexpected.append(parcel);
}

void Endpoint::fail_lost() {
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
        if (!job_.gone[rank].load(std::memory_order_relaxed)) continue;
        for (MessageList* list : {&peers_[rank].receives, &peers_[rank].sends}) {
            while (Message* const message = list->pop()) {
                message->outcome = Message::Outcome::lost;
                message->finished(*message);
            }
        }
    }
}

bool Endpoint::progress() {
    // Read first: what a lost rank sent before is in the inbox by then.
    const bool losses = job_.losses.load(std::memory_order_acquire) != 0;
    Parcel* parcel = inbox_.take();
    const bool any = parcel != nullptr;
    while (parcel != nullptr) {
        Parcel* next = parcel->next;
        arrived(parcel);
        parcel = next;
    }
    if (losses) fail_lost();
    return any;
}

RemoteMemory Endpoint::expose(std::span<std::byte> memory) {
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), next_key_++};
}

void Endpoint::unexpose(const RemoteMemory&) {}

bool Endpoint::may_access(Rank whose, const RemoteMemory& where, std::uint64_t offset, std::uint64_t bytes,
                          Message& message) const {
    check_access(where, offset, bytes);
    const bool gone = job_.gone[whose.value].load(std::memory_order_relaxed);
    message.outcome = gone ? Message::Outcome::lost : Message::Outcome::done;
    return !gone;
}

bool Endpoint::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                   Message& message) {
    if (may_access(to, where, offset, data.size(), message) && !data.empty())
        std::memcpy(reinterpret_cast<std::byte*>(where.address) + offset, data.data(), data.size());
    return true;
}

bool Endpoint::get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                   Message& message) {
    if (may_access(from, where, offset, into.size(), message) && !into.empty())
        std::memcpy(into.data(), reinterpret_cast<const std::byte*>(where.address) + offset, into.size());
    return true;
}

bool Endpoint::atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                      std::uint64_t& before, Message& message) {
    check_alignment(where, offset);
    if (may_access(at, where, offset, sizeof before, message))
        before = carry_out(what, *reinterpret_cast<std::uint64_t*>(where.address + offset));
    return true;
}

bool Endpoint::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                          std::uint64_t value, Message& message) {
    const bool finished = put(to, where, offset, data, message);
    if (message.outcome != Message::Outcome::done) return finished;
    Parcel* parcel = new_parcel(0);
    parcel->kind = Parcel::Kind::notification;
    parcel->from = me_;
    parcel->value = value;
    deliver(to, parcel);
    return finished;
}

std::optional<Notification> Endpoint::next_notification() {
    if (notifications_.empty()) return {};
    const Notification oldest = notifications_.front();
    notifications_.pop_front();
    return oldest;
}

std::span<std::byte> Endpoint::allocate(std::size_t bytes) {
    std::unique_ptr<std::byte[], Free> memory(new (std::align_val_t{64}) std::byte[std::max<std::size_t>(bytes, 1)]);
    std::memset(memory.get(), 0, bytes);
    std::byte* at = memory.get();
    allocated_.emplace(at, std::move(memory));
    return {at, bytes};
}

void Endpoint::release(std::span<std::byte> memory) {
    // Whoever has not heard of a loss yet may be copying out of what a failed operation sent: that is kept to the end.
    if (job_.losses.load(std::memory_order_acquire) == 0) allocated_.erase(memory.data());
}

void Endpoint::set_events(bool on) {
    events_ = on;
}

void Endpoint::sleep(std::chrono::microseconds most) {
    std::unique_lock lock(mutex_);
    // A sender that saw no events had put its parcel before we look here: both are in one order.
    woken_.wait_for(lock, most, [&] { return signalled_ || !inbox_.empty(); });
    signalled_ = false;
}

void Endpoint::interrupt() {
    {
        const std::lock_guard lock(mutex_);
        signalled_ = true;
    }
    woken_.notify_all();
}

std::optional<Rank> Endpoint::lost() const {
    const std::uint32_t first = job_.first_lost.load(std::memory_order_acquire);
    return first == Job::nobody ? std::nullopt : std::optional(Rank{first});
}

}  // namespace loom::transport::local
