#include "twin/plugin/transport.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/transport/access.hpp"

namespace loom::twin {

using transport::LocalWork;
using transport::Message;
using transport::RemoteMemory;
using transport::Tag;

namespace {

constexpr std::align_val_t alignment{64};

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

// What ends at once ends with the next answer.
bool TwinTransport::begin(Ask what, std::initializer_list<std::uint64_t> arguments, Message& message) {
    message.outcome = Message::Outcome::pending;
    looked_ = false;
    client_.post(what, arguments);
    return false;
}

bool TwinTransport::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    return begin(Ask::send, {to.value, tag.value, number(data.data()), data.size(), number(&message)}, message);
}

bool TwinTransport::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    return begin(Ask::receive, {from.value, tag.value, number(into.data()), into.size(), number(&message)}, message);
}

bool TwinTransport::work(LocalWork kind, std::uint64_t amount, Message& message) {
    return begin(Ask::work, {static_cast<std::uint64_t>(kind), amount, number(&message)}, message);
}

RemoteMemory TwinTransport::expose(std::span<std::byte> memory) {
    const Slot& answer = client_.ask(Ask::expose, {number(memory.data()), memory.size()});
    return {number(memory.data()), memory.size(), answer.answers[0]};
}

void TwinTransport::unexpose(const RemoteMemory& memory) {
    client_.ask(Ask::unexpose, {memory.key});
}

bool TwinTransport::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                        Message& message) {
    return begin(Ask::put,
                 {to.value, number(data.data()), data.size(), offset, number(&message), where.key, where.bytes, 0, 0},
                 message);
}

bool TwinTransport::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                               std::span<const std::byte> data, std::uint64_t value, Message& message) {
    return begin(
        Ask::put,
        {to.value, number(data.data()), data.size(), offset, number(&message), where.key, where.bytes, 1, value},
        message);
}

bool TwinTransport::get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                        Message& message) {
    transport::check_access(where, offset, into.size());
    return begin(Ask::fetch,
                 {from.value, number(into.data()), into.size(), offset, number(&message), where.key, where.bytes,
                  where.address, static_cast<std::uint64_t>(FetchKind::get), 0, 0},
                 message);
}

bool TwinTransport::atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const transport::Atomic& what,
                           std::uint64_t& before, Message& message) {
    transport::check_access(where, offset, sizeof before);
    transport::check_alignment(where, offset);
    const auto how = what.kind == transport::Atomic::Kind::fetch_add ? FetchKind::fetch_add : FetchKind::compare_swap;
    return begin(Ask::fetch,
                 {at.value, number(&before), sizeof before, offset, number(&message), where.key, where.bytes,
                  where.address, static_cast<std::uint64_t>(how), what.operand, what.expected},
                 message);
}

std::optional<transport::Notification> TwinTransport::next_notification() {
    const Slot& answer = client_.ask(Ask::notified);
    if (answer.answers[0] == 0) return {};
    return transport::Notification{Rank{static_cast<std::uint32_t>(answer.answers[1])}, answer.answers[2]};
}

// The first look in vain is free, and asks nobody: whoever waits rests next, which asks for the same.
bool TwinTransport::progress() {
    if (client_.ends().empty() && looked_) client_.ask(Ask::progress);
    if (client_.ends().empty()) {
        looked_ = true;
        return false;
    }
    looked_ = false;
    std::vector<Slot::End> now;  // what is called begins others
    now.swap(client_.ends());
    for (const Slot::End& each : now) {
        auto& message = *reinterpret_cast<Message*>(each.message);
        message.outcome = static_cast<Message::Outcome>(each.outcome);
        message.finished(message);
    }
    return true;
}

void TwinTransport::rest() {
    looked_ = false;
    if (client_.ends().empty()) client_.ask(Ask::rest);
}

void TwinTransport::sleep(std::chrono::microseconds most) {
    looked_ = false;
    if (client_.ends().empty())
        client_.ask(Ask::sleep_for, {static_cast<std::uint64_t>(std::max<std::int64_t>(0, most.count()))});
}

std::optional<std::string> TwinTransport::parameters_text() const {
    const SlotsHeader& header = client_.header();
    return std::string(header.parameters, strnlen(header.parameters, sizeof header.parameters));
}

std::optional<Rank> TwinTransport::lost() const {
    if (client_.slot().any_lost == 0) return {};
    return Rank{client_.slot().first_lost};
}

// Communicators ask when they go, which may be after the end.
bool TwinTransport::is_lost(Rank who) const {
    return !client_.is_over() && lost() && client_.ask(Ask::lost, {who.value}).answers[0] != 0;
}

std::span<std::byte> TwinTransport::allocate(std::size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), alignment));
    allocated_.emplace(memory, std::unique_ptr<std::byte[], Free>(memory));
    return {memory, bytes};
}

void TwinTransport::release(std::span<std::byte> memory) {
    allocated_.erase(memory.data());
}

void TwinTransport::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, alignment);
}

}  // namespace loom::twin
