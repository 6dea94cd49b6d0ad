// What has come by MPI, and what has become of what we gave it.
#include <algorithm>
#include <cstring>

#include "transport/plugin/mpi/transport.hpp"

namespace loom::transport::plugin {

void MpiTransport::take_parcel(Rank from, const Header& header, std::span<const std::byte> data) {
    const bool is_small = header.kind == Kind::small || header.kind == Kind::small_put;
    if (data.size() != (is_small ? header.bytes : 0))
        throw Error("rank " + std::to_string(from.value) + " sent a parcel of a wrong length");
    switch (header.kind) {
        case Kind::small:
        case Kind::large:
            return take_message(from, header, data);
        case Kind::small_put:
        case Kind::large_put:
            return take_put(from, header, data);
        case Kind::answer:
            return take_answer(header);
        case Kind::credit:
            peers_[from.value].used = header.reference;
            return;
    }
    throw Error("rank " + std::to_string(from.value) + " sent a parcel of no known kind");
}

void MpiTransport::take_message(Rank from, const Header& header, std::span<const std::byte> data) {
    Peer& peer = peers_[from.value];
    Message* const message = peer.receives.take(Tag{header.tag});
    if (message == nullptr) {
        peer.unexpected.push_back({header, {data.begin(), data.end()}});
        return;
    }
    if (header.kind == Kind::large) return receive_large(from, header, *message);
    use_up(from, data.size());
    const bool fits = data.size() == message->bytes;
    if (fits && !data.empty()) std::memcpy(message->data, data.data(), data.size());
    finish(*message, fits ? Message::Outcome::done : Message::Outcome::mismatched);
}

// Gives credit back to the sender, well before it runs out.
void MpiTransport::use_up(Rank from, std::uint64_t bytes) {
    Peer& peer = peers_[from.value];
    peer.used_of_its += sizeof(Header) + bytes;
    if (peer.used_of_its - peer.credited < most_early / 4 || peer.lost) return;
    peer.credited = peer.used_of_its;
    send_parcel(from, {.kind = Kind::credit, .reference = peer.used_of_its}, {});
}

// Null when no memory is exposed there.
std::byte* MpiTransport::target_of(const Header& header) {
    const auto found = exposed_.find(header.key);
    if (found == exposed_.end()) return nullptr;
    const Exposed& memory = found->second;
    if (header.offset > memory.bytes || header.bytes > memory.bytes - header.offset) return nullptr;
    return memory.data + header.offset;
}

void MpiTransport::take_put(Rank from, const Header& header, std::span<const std::byte> data) {
    Peer& peer = peers_[from.value];
    std::byte* into = target_of(header);
    const bool refused = into == nullptr;
    const std::uint64_t number = peer.puts_begun++;
    const std::uint64_t pieces = header.kind == Kind::small_put ? 1 : pieces_of(header.bytes);
    peer.puts.push_back({number, pieces, header.notifies != 0 && !refused, header.value});
    if (header.kind == Kind::small_put) {
        if (!refused && !data.empty()) std::memcpy(into, data.data(), data.size());
        return put_is_there(from, header, number, refused);
    }
    Pending pending{.what = Pending::What::put_data, .peer = from, .bytes = {}, .number = number, .header = header};
    pending.refused = refused;
    if (refused) {
        pending.bytes = std::make_shared<Parcel>(header.bytes);
        into = pending.bytes->data();
    }
    receive_data(from, header, into, pending);
}

// Notifications of a rank come in its order, also when a large put before a small one is still on its way.
void MpiTransport::put_is_there(Rank from, const Header& header, std::uint64_t number, bool refused) {
    Peer& peer = peers_[from.value];
    if (--peer.puts[number - peer.puts.front().number].pieces > 0) return;
    send_parcel(from, {.kind = Kind::answer, .value = refused ? 1u : 0u, .reference = header.reference}, {});
    while (!peer.puts.empty() && peer.puts.front().pieces == 0) {
        if (peer.puts.front().notifies) notifications_.push_back({from, peer.puts.front().value});
        peer.puts.pop_front();
    }
}

void MpiTransport::take_answer(const Header& header) {
    const auto found = puts_.find(header.reference);
    if (found == puts_.end()) return;  // of a put that was given up
    Message& message = *found->second;
    puts_.erase(found);
    finish(message, header.value != 0 ? Message::Outcome::mismatched : Message::Outcome::done);
}

void MpiTransport::take_over(Pending& pending) {
    switch (pending.what) {
        case Pending::What::parcel:
            spare_.push_back(std::move(pending.bytes));
            return;
        case Pending::What::send:
            if (pending.message != nullptr && --pending.message->pieces == 0)
                finish(*pending.message, Message::Outcome::done);
            return;
        case Pending::What::receive:
            if (pending.message != nullptr && --pending.message->pieces == 0)
                finish(*pending.message, pending.refused ? Message::Outcome::mismatched : Message::Outcome::done);
            return;
        case Pending::What::put_data:
            return put_is_there(pending.peer, pending.header, pending.number, pending.refused);
    }
}

bool MpiTransport::progress() {
    bool any = false;
    // Receives are served in the order in which they were posted, which is the order in which MPI matched them.
    for (std::size_t taken = 0; taken < posted_receives; ++taken) {
        int arrived = 0;
        MPI_Status status;
        check(PMPI_Test(&slot_requests_[next_slot_], &arrived, &status), "receive");
        if (arrived == 0) break;
        any = true;
        int bytes = 0;
        check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "count");
        const std::size_t slot = next_slot_;
        next_slot_ = (next_slot_ + 1) % posted_receives;
        Header header;
        if (bytes < static_cast<int>(sizeof header)) throw Error("a parcel is cut short");
        std::memcpy(&header, slots_[slot].data(), sizeof header);
        // Whatever is told to be finished now may start operations, but does not come back here.
        take_parcel(Rank{static_cast<std::uint32_t>(status.MPI_SOURCE)}, header,
                    std::span(slots_[slot]).first(static_cast<std::size_t>(bytes)).subspan(sizeof header));
        post_receive(slot);
    }
    if (!requests_.empty()) {
        indices_.resize(requests_.size());
        int count = 0;
        check(PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                            MPI_STATUSES_IGNORE),
              "finish a message");
        if (count > 0) {
            any = true;
            std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
            std::vector<Pending> over;
            for (int i = 0; i < count; ++i) {
                const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
                over.push_back(std::move(pending_[at]));
                pending_[at] = std::move(pending_.back());
                pending_.pop_back();
                requests_[at] = requests_.back();
                requests_.pop_back();
            }
            for (Pending& pending : over) take_over(pending);
        }
    }
    if ((++looks_ & 255) == 0) look_for_the_lost();
    return any;
}

void MpiTransport::look_for_the_lost() {
    if (const auto who = bootstrap_.lost(); who && *who != rank() && who->value < size() && !peers_[who->value].lost)
        lose(*who);
}

void MpiTransport::lose(Rank who) {
    Peer& peer = peers_[who.value];
    peer.lost = true;
    if (!lost_) lost_ = who;
    std::vector<Message*> over;
    while (Message* const message = peer.receives.pop()) over.push_back(message);
    for (Pending& pending : pending_)
        if (pending.peer == who && pending.message != nullptr) {
            if (std::find(over.begin(), over.end(), pending.message) == over.end()) over.push_back(pending.message);
            pending.message = nullptr;
        }
    for (auto at = puts_.begin(); at != puts_.end();) {
        const bool is_his = at->second->peer == who;
        if (is_his) over.push_back(at->second);
        at = is_his ? puts_.erase(at) : std::next(at);
    }
    for (Message* const message : over) finish(*message, Message::Outcome::lost);
}

}  // namespace loom::transport::plugin
