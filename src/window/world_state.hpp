// What the classes of this room share: one for each World.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/window/window.hpp"
#include "window/arrivals.hpp"
#include "window/board.hpp"
#include "window/lanes.hpp"
#include "window/operations.hpp"
#include "window/talk.hpp"

namespace loom::window {

struct Team::State {
    World::State& world;
    std::uint32_t id = 0;
    std::vector<Rank> members;            // ranks of the world
    std::vector<std::uint32_t> place_of;  // by rank of the world; nobody: it is none of us
    std::uint32_t mine = 0;

    static constexpr std::uint32_t nobody = 0xffffffffu;
    State(World::State& of, std::uint32_t number, std::vector<Rank> ranks);
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
    [[nodiscard]] Rank world_rank(Rank member) const;  // throws NoSuchRank

    void barrier(std::optional<Time> patience = {});
    void finish(Parcels& parcels, std::optional<Time> patience);  // waits for them
    // What all give, in the order of their ranks; each as many bytes.
    [[nodiscard]] std::vector<std::byte> gather_bytes(std::span<const std::byte> mine,
                                                      std::optional<Time> patience = {});
    template <class T>
    [[nodiscard]] std::vector<T> allgather(const T& value) {
        const std::vector<std::byte> bytes = gather_bytes(std::as_bytes(std::span(&value, 1)));
        std::vector<T> all(size());
        std::memcpy(all.data(), bytes.data(), bytes.size());
        return all;
    }
};

struct World::State {
    State(transport::Transport& over, transport::Bootstrap* start, Options how);
    ~State();

    transport::Transport& transport;
    transport::Bootstrap* bootstrap;
    Options options;
    Rank me;
    Lanes lanes;
    Board& board;
    std::vector<transport::RemoteMemory> areas;  // by rank
    Arrivals arrivals;
    Operations operations;
    std::vector<std::uint32_t> open_to;  // operations under way, by target
    std::shared_ptr<Team::State> everyone;
    std::vector<std::shared_ptr<Window::State>> windows;  // by id; null: freed, or not ours
    std::uint32_t next_window = 1, next_team = 1;
    bool closed = false;
    bool reaches_itself = false;    // puts to itself are plain stores
    std::uint32_t in_messages = 0;  // waits for them, one in the other
    std::uint32_t looks = 0;
    std::uint32_t transport_every = 1;  // looks; more where lanes bring what is waited for

    // Moves everything; true: something came or ended.
    bool progress();
    // The same, but looks at the transport now and then only.
    bool look();
    void take_in(Rank source, Stamp stamp);
    void open_lanes();
    void free_windows();
    void close();

    [[nodiscard]] bool test(const Wanted& wanted, std::uint64_t count) {
        if (count != 0 && arrivals.take(wanted, count)) return true;
        look();
        return arrivals.take(wanted, count);
    }
    // One notification that is likely to come next, without the ways of others: true when it came.
    bool wait_shortly(const Wanted& wanted, const Team::State* team);
    // `team`: whose loss ends the wait; null: anybody's. Sources of `wanted` are of the world.
    void wait(const Wanted& wanted, std::uint64_t count, std::optional<Time> patience, const Team::State* team);
    template <class Done, class Lost, class Describe>
    void drive(const Done& done, const Lost& lost, const Describe& describe, std::optional<Time> patience);

    void notify(Rank to, Stamp stamp);
    [[nodiscard]] std::optional<Rank> gone(Rank who) const {
        return transport.is_lost(who) ? std::optional(who) : std::nullopt;
    }
    void check_open() const {
        if (closed) throw WindowFreed("the world of windows is closed");
    }
    [[nodiscard]] Waits describe(const Wanted& wanted, std::uint64_t count) const;
    // stalls.cpp
    [[nodiscard]] std::string stall_text(const Waits& mine, Time after);
    [[nodiscard]] std::string report();

private:
    struct BoardRead {
        std::array<std::byte, Lanes::board_bytes> bytes;
        bool over = true;
    };
    // Of the others; nothing: it does not answer, or nonsense.
    [[nodiscard]] std::vector<std::optional<Waits>> read_boards(const Waits& mine);
    std::unique_ptr<std::vector<BoardRead>> reads_;  // by rank
    std::vector<Operation*> asked_;                  // of those that have not ended
};

// Of whoever waits for its own operations at a rank of the world, or at all.
[[nodiscard]] inline Waits flush_of(std::optional<Rank> target) {
    Waits waits;
    waits.what = static_cast<std::uint64_t>(Waits::For::flush);
    if (target) waits.source = target->value;
    return waits;
}

struct Window::State {
    struct Target {
        std::byte* direct = nullptr;  // where we reach its memory
        transport::RemoteMemory memory;
        Rank world;
    };

    std::shared_ptr<Team::State> team;
    World::State& world;
    WindowId id;
    std::uint64_t tags = 0;
    std::span<std::byte> mine;
    transport::RemoteMemory exposed;
    std::vector<Target> targets;
    bool freed = false;

    // Operations by number: those below `finished` are, of the others `done` says so.
    std::uint64_t started = 0, finished = 0;
    std::deque<bool> done;
    std::optional<Rank> refused;  // by its transport

    State(std::shared_ptr<Team::State> of, WindowId name) : team(std::move(of)), world(team->world), id(name) {}
    [[nodiscard]] const Target& at(Rank target, std::uint64_t offset, std::uint64_t bytes) const;
    [[nodiscard]] const Target& at(Rank target) const;
    void check(Tag tag) const;
    [[nodiscard]] Wanted wanted(const Match& what) const;

    void put(const Target& target, std::uint64_t offset, std::span<const std::byte> data, bool keep_copy);
    void put_notify(const Target& target, std::uint64_t offset, std::span<const std::byte> data, Tag tag,
                    bool keep_copy);
    void get(const Target& target, std::uint64_t offset, std::span<std::byte> into);
    [[nodiscard]] std::uint64_t atomic(const Target& target, std::uint64_t offset, const transport::Atomic& what);
    void flush(std::optional<Rank> of_world);
    void ended(const Operation& operation);
    void let_go();  // of what it has of others

private:
    [[nodiscard]] Operation& begin(const Target& target);
    void count_finished();  // one that is over at once
    void follow(Operation& operation, bool finished_at_once);
};

}  // namespace loom::window
