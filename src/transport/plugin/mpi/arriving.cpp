// What has come by MPI, and what has become of what we gave it.
#include <algorithm>
#include <cstring>

#include "transport/plugin/mpi/transport.hpp"

namespace loom::transport::plugin {

void MpiTransport::take_parcel(Rank from, const Header& header, std::span<const std::byte> data) {
    using Kind = Header::Kind;
    const bool is_small =
        header.kind == Kind::small || header.kind == Kind::small_put || header.kind == Kind::small_got;
    if (data.size() != (is_small ? header.bytes : 0))
        throw Error("rank " + std::to_string(from.value) + " sent a parcel of a wrong length");
    switch (header.kind) {
        case Kind::small:
        case Kind::large:
            return take_message(from, header, data);
        case Kind::small_put:
        case Kind::large_put:
            return puts_.take(from, header, data);
        case Kind::answer:
            return puts_.take_answer(from, header);
        case Kind::get:
            return puts_.serve_get(from, header);
        case Kind::small_got:
        case Kind::large_got:
            return puts_.take_got(from, header, data);
        case Kind::atomic:
            return puts_.serve_atomic(from, header);
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
    if (header.kind == Header::Kind::large) return receive_large(from, header, *message);
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
    requests_.send_parcel(from, {.kind = Header::Kind::credit, .reference = peer.used_of_its}, {});
}

void MpiTransport::take_over(Pending& pending) {
    if (pending.what == Pending::What::put_data) return puts_.take_data(pending);
    if (pending.message == nullptr || --pending.message->pieces > 0) return;
    finish(*pending.message, pending.refused ? Message::Outcome::mismatched : Message::Outcome::done);
}

bool MpiTransport::progress() {
    const bool any = requests_.take();
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
    requests_.forget(who, over);
    puts_.forget(who, over);
    for (Message* const message : over) finish(*message, Message::Outcome::lost);
}

}  // namespace loom::transport::plugin
