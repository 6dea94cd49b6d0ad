// Of Endpoint: puts, memory, and what a rank waits for in words.
#include "twin/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "loom/base/table.hpp"
#include "loom/transport/access.hpp"
#include "twin/job.hpp"

namespace loom::twin {

using transport::Message;
using transport::RemoteMemory;
using transport::Tag;

namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

// ---- puts

// An RDMA write is over when the target's adapter has acknowledged it, which the message level does not play: there the
// target answers with a message of no bytes.
bool Endpoint::puts_are_answered() const {
    return job_.options().level == sim::Level::message;
}

RemoteMemory Endpoint::expose(std::span<std::byte> memory) {
    const std::uint64_t key = next_key_++;
    exposed_.emplace(key, memory);
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), key};
}

void Endpoint::unexpose(const RemoteMemory& memory) {
    exposed_.erase(memory.key);
}

bool Endpoint::start_put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                         std::optional<std::uint64_t> value, Message& message) {
    const Inside inside(*this);
    transport::check_access(where, offset, data.size());
    if (job_.is_lost(to)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    Outgoing& outgoing = new_outgoing(Outgoing::Kind::put);
    outgoing.key = where.key;
    outgoing.offset = offset;
    outgoing.notifies = value.has_value();
    outgoing.value = value.value_or(0);
    outgoing.waits_for_answer = puts_are_answered();
    return post(to, outgoing, data, message);
}

bool Endpoint::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                   Message& message) {
    return start_put(to, where, offset, data, {}, message);
}

bool Endpoint::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                          std::uint64_t value, Message& message) {
    return start_put(to, where, offset, data, value, message);
}

void Endpoint::write(const Outgoing& put) {
    if (over_ || put.dropped.load(std::memory_order_relaxed)) return;
    const auto found = exposed_.find(put.key);
    if (found == exposed_.end() || put.offset > found->second.size() || put.bytes > found->second.size() - put.offset)
        throw Error(fmt::format("rank {} put {} bytes into memory that rank {} does not expose (any more)",
                                put.from.value, put.bytes, me_.value));
    bring(put, found->second.data() + put.offset);
}

// The request waits for its answer at every level: the answer is the adapter's, and costs the target's rank nothing.
bool Endpoint::start_fetch(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                           std::optional<transport::Atomic> atomic, Message& message) {
    const Inside inside(*this);
    transport::check_access(where, offset, into.size());
    if (job_.is_lost(from)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    Outgoing& outgoing = new_outgoing(Outgoing::Kind::fetch);
    outgoing.key = where.key;
    outgoing.offset = offset;
    outgoing.into = into;
    outgoing.atomic = atomic;
    outgoing.waits_for_answer = true;
    return post(from, outgoing, {}, message);
}

bool Endpoint::get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                   Message& message) {
    return start_fetch(from, where, offset, into, {}, message);
}

bool Endpoint::atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const transport::Atomic& what,
                      std::uint64_t& before, Message& message) {
    transport::check_alignment(where, offset);
    return start_fetch(at, where, offset, std::as_writable_bytes(std::span(&before, 1)), what, message);
}

void Endpoint::read(const Outgoing& fetch, Outgoing& back) {
    const std::uint64_t bytes = fetch.into.size();
    const auto found = exposed_.find(fetch.key);
    const bool is_there =
        found != exposed_.end() && fetch.offset <= found->second.size() && bytes <= found->second.size() - fetch.offset;
    if (!is_there && !over_)
        throw Error(fmt::format("rank {} reads {} bytes of memory that rank {} does not expose (any more)",
                                fetch.from.value, bytes, me_.value));
    back.refused = !is_there;
    if (!is_there) return;
    std::byte* const at = found->second.data() + fetch.offset;
    back.bytes = bytes;
    back.kept = std::make_unique_for_overwrite<std::byte[]>(bytes);
    memory_.read(at, {back.kept.get(), bytes});
    if (fetch.atomic) change(at, *fetch.atomic, {back.kept.get(), bytes});
}

void Endpoint::change(std::byte* at, const transport::Atomic& what, std::span<std::byte> before) {
    std::uint64_t word = 0;
    std::memcpy(&word, before.data(), sizeof word);
    (void)transport::carry_out(what, word);
    memory_.write(at, std::as_bytes(std::span(&word, 1)));
}

std::optional<transport::Notification> Endpoint::next_notification() {
    const Inside inside(*this);
    if (notifications_.empty()) return {};
    if (disturbance_ != nullptr) return disturbance_->next(notifications_);
    const transport::Notification first = notifications_.front();
    notifications_.pop_front();
    return first;
}

std::span<std::byte> Endpoint::allocate(std::size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), alignment));
    allocated_.emplace(memory, std::unique_ptr<std::byte[], Free>(memory));
    return {memory, bytes};
}

void Endpoint::release(std::span<std::byte> memory) {
    allocated_.erase(memory.data());
}

void Endpoint::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, alignment);
}

// ---- in words

Endpoint::Awaited Endpoint::awaited() const {
    Awaited result;
    if (over_) return result;
    std::vector<const Message*> receives;
    receives_.visit([&](const Message& each) { receives.push_back(&each); });
    std::sort(receives.begin(), receives.end(), [](const Message* a, const Message* b) {
        return a->peer != b->peer ? a->peer < b->peer : a->tag < b->tag;
    });
    for (const Message* each : receives) result.ranks.push_back(each->peer);
    std::size_t sends = 0;
    for (const Message* each = sends_.front(); each != nullptr; each = each->next, ++sends)
        result.ranks.push_back(each->peer);
    const Message* const first = !receives.empty() ? receives.front() : sends_.front();
    if (first == nullptr) {
        result.text = "waits for a notification, or for nothing that could come";
        return result;
    }
    result.bytes = first->bytes;
    result.tag = first->tag;
    Tag tag = first->tag;
    std::string where;
    if (const OpenOperations::Open* const open = operations_.of(tag)) {
        tag.value -= open->operation.first.value;
        if (!open->what.empty()) where += " in " + open->what;
        if (open->operation.group != 0) where += fmt::format(" on communicator {}", open->operation.group);
    }
    const std::string what = fmt::format("message of {}", counted(first->bytes, "byte", "bytes"));
    result.text =
        !receives.empty()
            ? fmt::format("waits{} for a {} from rank {}, tag {:#x}", where, what, first->peer.value, tag.value)
            : fmt::format("waits{} until rank {} takes a {}, tag {:#x}", where, first->peer.value, what, tag.value);
    const std::size_t others = receives.size() + sends;
    if (others > 1) result.text += fmt::format(", and for {} more", others - 1);
    return result;
}

}  // namespace loom::twin
