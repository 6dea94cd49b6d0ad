#include "loom/window/team.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "window/driving.hpp"

namespace loom::window {

namespace {

constexpr std::uint32_t barrier_round = 0x2000, gather_round = 0x3000;  // and the rounds behind them

}  // namespace

Team::State::State(World::State& of, std::uint32_t number, std::vector<Rank> ranks)
    : world(of), id(number), members(std::move(ranks)), place_of(of.transport.size(), nobody) {
    for (std::uint32_t place = 0; place < members.size(); ++place) place_of[members[place].value] = place;
    mine = place_of[of.me.value];
}

Rank Team::State::world_rank(Rank member) const {
    if (member.value >= size())
        throw NoSuchRank("rank " + std::to_string(member.value) + " of a team of " + std::to_string(size()));
    return members[member.value];
}

void Team::State::finish(Parcels& parcels, std::optional<Time> patience) {
    const auto gone = [&]() -> std::optional<Rank> {
        if (!world.transport.lost()) return {};
        for (const Rank member : members)
            if (member != world.me && world.transport.is_lost(member)) return member;
        return {};
    };
    const auto describe = [&] {
        Waits waits;
        waits.what = static_cast<std::uint64_t>(Waits::For::collective);
        waits.window = id;
        return waits;
    };
    // Messages move with the transport alone.
    ++world.in_messages;
    struct Left {
        std::uint32_t& count;
        ~Left() { --count; }
    } left{world.in_messages};
    try {
        world.drive([&] { return parcels.ended(); }, gone, describe, patience);
        parcels.check();
    } catch (...) {
        parcels.abandon();
        throw;
    }
}

void Team::State::barrier(std::optional<Time> patience) {
    world.check_open();
    std::uint32_t round = 0;
    for (std::uint32_t distance = 1; distance < size(); distance *= 2, ++round) {
        Parcels parcels(world.transport);
        (void)parcels.receive(members[(mine + size() - distance) % size()], id, barrier_round + round, 0);
        parcels.send(members[(mine + distance) % size()], id, barrier_round + round, {});
        finish(parcels, patience);
    }
}

// Each round brings as many blocks as there are already, from the ranks behind those.
std::vector<std::byte> Team::State::gather_bytes(std::span<const std::byte> block, std::optional<Time> patience) {
    world.check_open();
    const std::uint64_t bytes = block.size();
    std::vector<std::byte> blocks(block.begin(), block.end());  // ours, then those of the ranks after us
    std::uint32_t round = 0;
    for (std::uint32_t have = 1; have < size(); ++round) {
        const std::uint32_t more = std::min(have, size() - have);
        Parcels parcels(world.transport);
        const Parcel& next = parcels.receive(members[(mine + have) % size()], id, gather_round + round, more * bytes);
        parcels.send(members[(mine + size() - have) % size()], id, gather_round + round,
                     std::span(blocks).first(more * bytes));
        finish(parcels, patience);
        blocks.insert(blocks.end(), next.data.begin(), next.data.end());
        have += more;
    }
    std::rotate(blocks.begin(), blocks.end() - static_cast<std::ptrdiff_t>(mine * bytes), blocks.end());
    return blocks;
}

Rank Team::rank() const {
    return Rank{state_->mine};
}

std::uint32_t Team::size() const {
    return state_->size();
}

Rank Team::world_rank(Rank member) const {
    return state_->world_rank(member);
}

std::optional<Rank> Team::member(Rank of_world) const {
    if (of_world.value >= state_->place_of.size()) return {};
    const std::uint32_t place = state_->place_of[of_world.value];
    return place == State::nobody ? std::nullopt : std::optional(Rank{place});
}

void Team::barrier() const {
    state_->barrier();
}

std::optional<Team> Team::split(std::optional<std::uint32_t> colour, std::uint32_t key) const {
    struct Wish {
        std::uint32_t has_colour, colour, key, next_team;
    };
    World::State& world = state_->world;
    const auto wishes = state_->allgather(Wish{colour ? 1u : 0u, colour.value_or(0), key, world.next_team});
    std::uint32_t id = 0;
    std::vector<std::tuple<std::uint32_t, std::uint32_t>> chosen;  // key, rank
    for (std::uint32_t rank = 0; rank < wishes.size(); ++rank) {
        id = std::max(id, wishes[rank].next_team);
        if (colour && wishes[rank].has_colour != 0 && wishes[rank].colour == *colour)
            chosen.emplace_back(wishes[rank].key, rank);
    }
    if (id >= most_teams)
        throw Error("there have been " + std::to_string(most_teams) + " teams, which is all there can be");
    world.next_team = id + 1;
    if (!colour) return {};
    std::sort(chosen.begin(), chosen.end());
    std::vector<Rank> ranks;
    for (const auto& [order, rank] : chosen) ranks.push_back(state_->members[rank]);
    return Team(std::make_shared<State>(world, id, std::move(ranks)));
}

}  // namespace loom::window
