// Of Endpoint: receives that leave open who sends, with which tag and how much.
#include <algorithm>

#include "loom/twin/matching.hpp"
#include "twin/endpoint.hpp"
#include "twin/job.hpp"

namespace loom::twin {

using transport::Message;
using transport::Tag;

Matching* matching_of(transport::Transport& transport) {
    return dynamic_cast<Endpoint*>(&transport);
}

// Those in open_ were all started later than those in receives_ that are as long as they like: while there are any,
// nothing is added there.
bool Endpoint::receive(const Wanted& wanted, std::span<std::byte> into, Message& message) {
    if (const std::optional<Envelope> here = find(wanted)) {
        const std::uint64_t room = into.size();
        if (here->bytes <= room) return receive(here->from, here->tag, into.first(here->bytes), message);
        const bool over = receive(here->from, here->tag, into, message);
        message.bytes = here->bytes;
        return over;
    }
    if (wanted.is_exact() && open_.empty()) {
        const bool over = receive(*wanted.from, wanted.tag, into, message);
        message.pieces = any_length;
        return over;
    }
    const Inside inside(*this);
    if (stopping_) throw Stopped("the job was stopped");
    looked_ = false;
    message.peer = wanted.from.value_or(no_peer);
    message.tag = wanted.tag;
    message.data = into.data();
    message.bytes = into.size();
    message.pieces = any_length;
    const std::optional<Rank> lost = wanted.from && job_.is_lost(*wanted.from) ? wanted.from
                                     : wanted.from                             ? std::nullopt
                                                                               : job_.first_lost();
    if (lost) {
        message.peer = *lost;
        message.outcome = Message::Outcome::lost;
        return true;
    }
    message.outcome = Message::Outcome::pending;
    open_.push_back({wanted, &message});
    ++open_receives_;
    return false;
}

bool Endpoint::synchronous_send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    return start_send(to, tag, data, message, true);
}

std::optional<Envelope> Endpoint::find(const Wanted& wanted) const {
    const Early* first = nullptr;
    const auto look = [&](const Early& each) {
        if (wanted.fits(each.peer, each.tag) && (first == nullptr || each.number < first->number)) first = &each;
    };
    if (wanted.is_exact())
        early_.visit_row(*wanted.from, wanted.tag, look);
    else
        early_.visit(look);
    if (first == nullptr) return {};
    return Envelope{first->peer, first->tag, first->bytes};
}

void Endpoint::rest_until_any() {
    ends_with_any_ = true;
    rest();
    ends_with_any_ = false;
}

Message* Endpoint::take_receive(Rank from, Tag tag, std::uint64_t bytes) {
    Message* receive = receives_.take(from, tag);
    if (receive == nullptr && !open_.empty()) {
        const auto found =
            std::find_if(open_.begin(), open_.end(), [&](const Open& each) { return each.wanted.fits(from, tag); });
        if (found != open_.end()) {
            receive = found->message;
            receive->peer = from;
            receive->tag = tag;
            open_.erase(found);
        }
    }
    if (receive == nullptr) return nullptr;
    receive->outcome = receive->bytes == bytes || (receive->pieces == any_length && bytes < receive->bytes)
                           ? Message::Outcome::done
                           : Message::Outcome::mismatched;
    if (receive->pieces == any_length) receive->bytes = bytes;
    return receive;
}

void Endpoint::lose_open_receives() {
    std::erase_if(open_, [&](const Open& each) {
        const std::optional<Rank> who = each.wanted.from ? each.wanted.from : job_.first_lost();
        if (!who || !job_.is_lost(*who)) return false;
        --open_receives_;
        each.message->peer = *who;
        finish(*each.message, Message::Outcome::lost);
        return true;
    });
}

}  // namespace loom::twin
