#include "window/lanes.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace loom::window {

Lanes::Lanes(transport::Transport& transport) : transport_(transport), place_(transport.size(), nobody) {
    const auto hosts = transport.hosts();
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[transport.rank().value]);
    const std::uint64_t lanes = static_cast<std::uint64_t>(here) - 1;
    memory_ = transport.allocate(board_bytes + lanes * sizeof(Lane));
    std::memset(memory_.data(), 0, memory_.size());
    for (std::uint64_t i = 0; i < lanes; ++i) new (&lane_at(memory_.data(), i)) Lane{};
    area_ = transport.expose(memory_);
}

Lanes::~Lanes() {
    for (const Mapped& each : mapped_) transport_.unmap(each.peer, each.theirs, each.at);
    if (abandoned_) return;
    transport_.unexpose(area_);
    transport_.release(memory_);
}

void Lanes::abandon() {
    close();
    abandoned_ = true;
}

// How many others of its host come before `peer` in the area of `whose`.
std::uint64_t Lanes::number_of_near(Rank whose, Rank peer) const {
    const auto hosts = transport_.hosts();
    std::uint64_t number = 0;
    for (std::uint32_t rank = 0; rank < peer.value; ++rank)
        if (rank != whose.value && hosts[rank] == hosts[whose.value]) ++number;
    return number;
}

Lane& Lanes::lane_at(std::byte* area, std::uint64_t number) {
    return *std::launder(reinterpret_cast<Lane*>(area + board_bytes + number * sizeof(Lane)));
}

bool Lanes::map(Rank peer, const transport::RemoteMemory& theirs) {
    if (theirs.bytes != memory_.size()) return false;  // as many ranks share its host as ours
    std::byte* const at = transport_.map(peer, theirs);
    if (at != nullptr) mapped_.push_back({peer, theirs, at});
    return at != nullptr;
}

void Lanes::open(Rank peer) {
    const auto found =
        std::find_if(mapped_.begin(), mapped_.end(), [&](const Mapped& each) { return each.peer == peer; });
    if (found == mapped_.end()) return;
    const Rank me = transport_.rank();
    Lane& mine = lane_at(memory_.data(), number_of_near(me, peer));
    Lane& theirs = lane_at(found->at, number_of_near(peer, me));
    place_[peer.value] = static_cast<std::uint32_t>(open_.size());
    open_.push_back({peer, LaneWriter(theirs, mine), LaneReader(mine, theirs)});
}

void Lanes::give_up(Rank peer) {
    if (is_open(peer)) open_[place_[peer.value]].writer.give_up();
}

bool Lanes::send_waiting() {
    bool any = false;
    any_waiting_ = false;
    for (Open& each : open_) {
        if (!each.writer.any_waiting()) continue;
        try {
            any |= each.writer.send_waiting();
        } catch (const Error& error) {
            throw Error("rank " + std::to_string(each.peer.value) + ": " + error.what());
        }
        any_waiting_ |= each.writer.any_waiting();
    }
    return any;
}

}  // namespace loom::window
