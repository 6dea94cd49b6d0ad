#include "transport/launch/exchange.hpp"

#include <algorithm>

namespace loom::transport::launching {

namespace {

constexpr std::size_t most_bytes_of_a_rank = 64 * 1024 * 1024;

std::string name_of(Rank rank) {
    return "rank " + std::to_string(rank.value);
}

}  // namespace

void Exchange::fail(Rank to, const std::string& why) {
    send_(to, {.kind = Kind::failed, .value = why.substr(0, most_value_bytes)});
}

void Exchange::handle(Rank from, const Packet& packet) {
    Member& member = ranks_[from.value];
    switch (packet.kind) {
        case Kind::hello:
            member.joined = true;
            member.finished = false;
            member.waiting = false;
            send_(from, {.kind = Kind::welcome, .rank = from, .size = static_cast<std::uint32_t>(ranks_.size())});
            for (std::uint32_t other = 0; other < ranks_.size(); ++other)
                if (ranks_[other].lost)
                    send_(from, {.kind = Kind::lost, .rank = Rank{other}, .value = ranks_[other].how});
            return;
        case Kind::put:
            return put(member, packet);
        case Kind::fence:
            if (!member.complaint.empty()) {
                fail(from, member.complaint);
                member.complaint.clear();
                return;
            }
            member.waiting = true;
            return try_fence();
        case Kind::get:
            return get(from, packet);
        case Kind::finished:
            member.finished = true;
            return;
        default:
            return fail(from, "the launcher does not expect such a packet");
    }
}

void Exchange::put(Member& member, const Packet& packet) {
    auto found = member.values.find(packet.key);
    const std::size_t before = found == member.values.end() ? 0 : found->second.size() + packet.key.size();
    const std::size_t after = member.bytes - before + packet.key.size() + packet.value.size();
    if (after > most_bytes_of_a_rank) {
        member.complaint = "a rank may put 64 MiB in all";
        return;
    }
    member.bytes = after;
    member.values[packet.key] = packet.value;
}

void Exchange::get(Rank from, const Packet& packet) {
    if (packet.rank.value >= ranks_.size()) return fail(from, "there is no " + name_of(packet.rank) + " in this job");
    const auto& values = ranks_[packet.rank.value].values;
    const auto found = values.find(packet.key);
    if (found == values.end()) return fail(from, name_of(packet.rank) + " has put no " + packet.key);
    send_(from, {.kind = Kind::got, .rank = packet.rank, .value = found->second});
}

void Exchange::try_fence() {
    if (!gone_ && !std::all_of(ranks_.begin(), ranks_.end(), [](const Member& member) { return member.waiting; }))
        return;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        Member& member = ranks_[rank];
        if (!member.waiting) continue;
        member.waiting = false;
        if (!gone_)
            send_(Rank{rank}, {.kind = Kind::fenced});
        else
            fail(Rank{rank}, name_of(*gone_) + " " + ranks_[gone_->value].how);
    }
}

void Exchange::ended(Rank who, const std::string& how, bool forgiven) {
    Member& member = ranks_[who.value];
    member.ended = true;
    member.waiting = false;
    member.how = how;
    member.lost = !member.finished && !forgiven;
    if (!gone_ || (member.lost && !ranks_[gone_->value].lost)) gone_ = who;
    if (member.lost)
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
            if (ranks_[rank].joined && !ranks_[rank].ended)
                send_(Rank{rank}, {.kind = Kind::lost, .rank = who, .value = how});
    try_fence();
}

}  // namespace loom::transport::launching
