#include "transport/plugin/mpi/puts.hpp"

#include <cstring>
#include <iterator>

namespace loom::transport::plugin {

RemoteMemory Puts::expose(std::span<std::byte> memory) {
    const std::uint64_t key = next_key_++;
    exposed_[key] = {memory.data(), memory.size()};
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), key};
}

void Puts::start(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                 std::optional<std::uint32_t> value, Message& message) {
    message.peer = to;
    message.outcome = Message::Outcome::pending;
    Header header{.kind = Header::Kind::small_put,
                  .value = value.value_or(0),
                  .bytes = data.size(),
                  .reference = next_reference_++,
                  .key = where.key,
                  .offset = offset,
                  .notifies = value.has_value()};
    open_[header.reference] = &message;
    if (data.size() <= eager_limit) return requests_.send_parcel(to, header, data);
    header.kind = Header::Kind::large_put;
    header.place = requests_.next_place(to);
    requests_.send_parcel(to, header, {});
    requests_.send_data(to, data, nullptr);
}

void Puts::take_answer(const Header& header) {
    const auto found = open_.find(header.reference);
    if (found == open_.end()) return;  // of a put that was given up
    Message& message = *found->second;
    open_.erase(found);
    finish(message, header.value != 0 ? Message::Outcome::mismatched : Message::Outcome::done);
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
    Arrivals& arrivals = arrived_[from.value];
    std::byte* const into = target_of(header);
    const bool refused = into == nullptr, small = header.kind == Header::Kind::small_put;
    const std::uint64_t number = arrivals.begun++;
    arrivals.waiting.push_back(
        {number, small ? 1 : Requests::pieces_of(header.bytes), header.notifies != 0 && !refused, header.value});
    if (small) {
        if (!refused && !data.empty()) std::memcpy(into, data.data(), data.size());
        return is_there(from, header, number, refused);
    }
    const Pending pending{
        .what = Pending::What::put_data, .peer = from, .bytes = {}, .number = number, .header = header};
    if (refused)
        requests_.refuse_data(from, header, pending);
    else
        requests_.receive_data(from, header, into, pending);
}

void Puts::take_data(const Pending& pending) {
    is_there(pending.peer, pending.header, pending.number, pending.refused);
}

// Notifications of a rank come in its order, also when a large put before a small one is still on its way.
void Puts::is_there(Rank from, const Header& header, std::uint64_t number, bool refused) {
    std::deque<Arrived>& waiting = arrived_[from.value].waiting;
    if (--waiting[number - waiting.front().number].pieces > 0) return;
    requests_.send_parcel(
        from, {.kind = Header::Kind::answer, .value = refused ? 1u : 0u, .reference = header.reference}, {});
    while (!waiting.empty() && waiting.front().pieces == 0) {
        if (waiting.front().notifies) notifications_.push_back({from, waiting.front().value});
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
