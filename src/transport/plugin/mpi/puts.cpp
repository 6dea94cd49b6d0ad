#include "transport/plugin/mpi/puts.hpp"

#include <cstring>
#include <iterator>

#include "loom/transport/access.hpp"

namespace loom::transport::plugin {

RemoteMemory Puts::expose(std::span<std::byte> memory) {
    const std::uint64_t key = next_key_++;
    exposed_[key] = {memory.data(), memory.size()};
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), key};
}

std::uint64_t Puts::open(Rank with, Message& message) {
    message.peer = with;
    message.outcome = Message::Outcome::pending;
    open_[next_reference_] = &message;
    return next_reference_++;
}

// Null when it is none of ours, or was given up.
Message* Puts::close(Rank with, const Header& header) {
    const auto found = open_.find(header.reference);
    if (found == open_.end() || found->second->peer != with) return nullptr;
    Message* const message = found->second;
    open_.erase(found);
    return message;
}

void Puts::start(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                 std::optional<std::uint64_t> value, Message& message) {
    Header header{.kind = Header::Kind::small_put,
                  .tag = value.value_or(0),
                  .bytes = data.size(),
                  .reference = open(to, message),
                  .key = where.key,
                  .offset = offset,
                  .notifies = value.has_value()};
    if (data.size() <= eager_limit) return requests_.send_parcel(to, header, data);
    header.kind = Header::Kind::large_put;
    header.place = requests_.next_place(to);
    requests_.send_parcel(to, header, {});
    requests_.send_data(to, data, nullptr);
}

void Puts::start_get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                     Message& message) {
    message.data = into.data();
    message.bytes = into.size();
    requests_.send_parcel(from,
                          {.kind = Header::Kind::get,
                           .bytes = into.size(),
                           .reference = open(from, message),
                           .key = where.key,
                           .offset = offset},
                          {});
}

void Puts::start_atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                        std::uint64_t& before, Message& message) {
    message.data = reinterpret_cast<std::byte*>(&before);
    message.bytes = sizeof before;
    requests_.send_parcel(at,
                          {.kind = Header::Kind::atomic,
                           .value = what.kind == Atomic::Kind::fetch_add ? 0u : 1u,
                           .tag = what.operand,
                           .bytes = sizeof before,
                           .reference = open(at, message),
                           .key = where.key,
                           .offset = offset,
                           .notifies = what.expected},
                          {});
}

void Puts::take_answer(Rank from, const Header& header) {
    if (Message* const message = close(from, header))
        finish(*message, header.value != 0 ? Message::Outcome::mismatched : Message::Outcome::done);
}

void Puts::take_got(Rank from, const Header& header, std::span<const std::byte> data) {
    Message* const message = close(from, header);
    const bool fits = message != nullptr && header.bytes == message->bytes;
    if (header.kind == Header::Kind::large_got) {
        Pending pending{.what = Pending::What::receive, .peer = from, .bytes = {}, .header = header};
        if (fits) {
            pending.message = message;
            message->pieces = 0;
            return requests_.receive_data(from, header, message->data, pending);
        }
        requests_.refuse_data(from, header, pending);
    }
    if (message == nullptr) return;
    if (fits && !data.empty()) std::memcpy(message->data, data.data(), data.size());
    finish(*message, fits ? Message::Outcome::done : Message::Outcome::mismatched);
}

void Puts::answer(Rank to, std::uint64_t reference, bool refused) {
    requests_.send_parcel(to, {.kind = Header::Kind::answer, .value = refused ? 1u : 0u, .reference = reference}, {});
}

void Puts::serve_get(Rank from, const Header& header) {
    const std::byte* const data = target_of(header);
    if (data == nullptr) return answer(from, header.reference, true);
    Header back{.kind = Header::Kind::small_got, .bytes = header.bytes, .reference = header.reference};
    if (header.bytes <= eager_limit) return requests_.send_parcel(from, back, {data, header.bytes});
    back.kind = Header::Kind::large_got;
    back.place = requests_.next_place(from);
    requests_.send_parcel(from, back, {});
    requests_.send_data(from, {data, header.bytes}, nullptr);
}

void Puts::serve_atomic(Rank from, const Header& header) {
    std::byte* const data = header.bytes == sizeof(std::uint64_t) ? target_of(header) : nullptr;
    if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % sizeof(std::uint64_t) != 0)
        return answer(from, header.reference, true);
    const Atomic what{.kind = header.value == 0 ? Atomic::Kind::fetch_add : Atomic::Kind::compare_swap,
                      .operand = header.tag,
                      .expected = header.notifies};
    const std::uint64_t before = carry_out(what, *reinterpret_cast<std::uint64_t*>(data));
    requests_.send_parcel(from,
                          {.kind = Header::Kind::small_got, .bytes = sizeof before, .reference = header.reference},
                          std::as_bytes(std::span(&before, 1)));
}

// Null when no memory is exposed there.
std::byte* Puts::target_of(const Header& header) const {
    const auto found = exposed_.find(header.key);
    if (found == exposed_.end()) return nullptr;
    const Exposed& memory = found->second;
    if (header.offset > memory.bytes || header.bytes > memory.bytes - header.offset) return nullptr;
    return memory.data + header.offset;
}

void Puts::take(Rank from, const Header& header, std::span<const std::byte> data) {
    std::deque<Arrived>& waiting = arrived_[from.value].waiting;
    std::byte* const into = target_of(header);
    const bool small = header.kind == Header::Kind::small_put;
    const std::uint64_t number = arrived_[from.value].begun++;
    waiting.push_back({.number = number,
                       .pieces = small ? 1 : Requests::pieces_of(header.bytes),
                       .reference = header.reference,
                       .refused = into == nullptr,
                       .notifies = header.notifies != 0 && into != nullptr,
                       .value = header.tag});
    if (small) {
        if (into != nullptr && waiting.size() == 1 && !data.empty()) std::memcpy(into, data.data(), data.size());
        if (into != nullptr && waiting.size() > 1) {
            waiting.back().data.assign(data.begin(), data.end());
            waiting.back().into = into;
        }
        return is_there(from, number);
    }
    const Pending pending{
        .what = Pending::What::put_data, .peer = from, .bytes = {}, .number = number, .header = header};
    if (into == nullptr)
        requests_.refuse_data(from, header, pending);
    else
        requests_.receive_data(from, header, into, pending);
}

void Puts::take_data(const Pending& pending) {
    is_there(pending.peer, pending.number);
}

// Puts of a rank come to their end in its order, also when a large one before a small one is still on its way.
void Puts::is_there(Rank from, std::uint64_t number) {
    std::deque<Arrived>& waiting = arrived_[from.value].waiting;
    if (--waiting[number - waiting.front().number].pieces > 0) return;
    while (!waiting.empty() && waiting.front().pieces == 0) {
        const Arrived& front = waiting.front();
        if (!front.data.empty()) std::memcpy(front.into, front.data.data(), front.data.size());
        answer(from, front.reference, front.refused);
        if (front.notifies) notifications_.push_back({from, front.value});
        waiting.pop_front();
    }
}

std::optional<Notification> Puts::next_notification() {
    if (notifications_.empty()) return {};
    const Notification next = notifications_.front();
    notifications_.pop_front();
    return next;
}

void Puts::forget(Rank who, std::vector<Message*>& over) {
    for (auto at = open_.begin(); at != open_.end();) {
        const bool is_his = at->second->peer == who;
        if (is_his) over.push_back(at->second);
        at = is_his ? open_.erase(at) : std::next(at);
    }
}

}  // namespace loom::transport::plugin
