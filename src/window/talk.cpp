#include "window/talk.hpp"

#include <algorithm>
#include <string>

#include "loom/base/error.hpp"

namespace loom::window {

using transport::Message;

namespace {

transport::Tag tag_of(std::uint32_t team, std::uint32_t round) {
    return transport::Tag{message_context << 44 | std::uint64_t{team} << 24 | round};
}

}  // namespace

Parcel& Parcels::make(Rank peer) {
    Parcel& parcel = open_.emplace_back();
    parcel.message.owner = &parcel;
    parcel.message.finished = [](Message& message) { static_cast<Parcel*>(message.owner)->ended = true; };
    parcel.message.index = peer.value;
    return parcel;
}

void Parcels::send(Rank to, std::uint32_t team, std::uint32_t round, std::span<const std::byte> data) {
    Parcel& parcel = make(to);
    parcel.data.assign(data.begin(), data.end());
    if (transport_.send(to, tag_of(team, round), parcel.data, parcel.message)) parcel.ended = true;
}

Parcel& Parcels::receive(Rank from, std::uint32_t team, std::uint32_t round, std::uint64_t bytes) {
    Parcel& parcel = make(from);
    parcel.data.resize(bytes);
    if (transport_.receive(from, tag_of(team, round), parcel.data, parcel.message)) parcel.ended = true;
    return parcel;
}

bool Parcels::ended() {
    return std::all_of(open_.begin(), open_.end(), [](const Parcel& each) { return each.ended; });
}

void Parcels::check() const {
    for (const Parcel& each : open_) {
        const Rank peer{each.message.index};
        if (!each.ended || each.message.outcome == Message::Outcome::done) continue;
        if (each.message.outcome == Message::Outcome::lost) throw transport::loss_of(peer, transport_);
        throw Error("rank " + std::to_string(peer.value) +
                    " does something else: the ranks of a team do not make the "
                    "same collective calls in the same order");
    }
}

void Parcels::abandon() {
    std::erase_if(open_, [](const Parcel& each) { return each.ended; });
    if (!open_.empty()) (void)new std::list<Parcel>(std::move(open_));
    open_.clear();
}

}  // namespace loom::window
