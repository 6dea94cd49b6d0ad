// The lanes between this rank and the others of its host, and the memory that they and the board lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loom/transport/transport.hpp"
#include "window/lane.hpp"

namespace loom::window {

// Owns the area, which every rank exposes to all: a board, then a lane for each other rank of the host, by rank.
class Lanes {
public:
    static constexpr std::uint64_t board_bytes = 256;

    explicit Lanes(transport::Transport& transport);
    ~Lanes();
    Lanes(const Lanes&) = delete;
    Lanes& operator=(const Lanes&) = delete;

    [[nodiscard]] const transport::RemoteMemory& area() const { return area_; }
    [[nodiscard]] std::byte* board() const { return memory_.data(); }

    // Maps the area of another rank of this host, as it told us. False: there is no lane between us.
    [[nodiscard]] bool map(Rank peer, const transport::RemoteMemory& theirs);
    // Both have mapped: from now on. Or one of us has not: never.
    void open(Rank peer);
    void give_up(Rank peer);

    [[nodiscard]] bool is_open(Rank peer) const { return place_[peer.value] != nobody; }
    void send(Rank to, std::uint64_t word) {
        LaneWriter& writer = open_[place_[to.value]].writer;
        writer.send(word);
        any_waiting_ = any_waiting_ || writer.any_waiting();
    }
    // Cheaper than to take nothing.
    [[nodiscard]] bool has_news() const {
        for (const Open& each : open_)
            if (each.reader.has_news()) return true;
        return false;
    }
    // One of a rank that has some; false: nobody has.
    bool take_one(Rank& from, std::uint64_t& word) {
        for (Open& each : open_)
            if (each.reader.next(word)) {
                from = each.peer;
                return true;
            }
        return false;
    }
    // Calls take(Rank, word) for all that has come; true: there was something.
    template <class Take>
    bool take(const Take& take) {
        bool any = false;
        for (Open& each : open_)
            for (std::uint64_t word = 0, n = 0; n < lane_slots && each.reader.next(word); ++n) {
                take(each.peer, word);
                any = true;
            }
        return any;
    }
    [[nodiscard]] bool any_waiting() const { return any_waiting_; }
    bool send_waiting();
    // Nothing is read or written any more: the others may let their areas go.
    void close() { open_.clear(), place_.assign(place_.size(), nobody), any_waiting_ = false; }
    // Their areas may have gone already, and ours must stay for whoever has not heard of our end.
    void abandon();

private:
    static constexpr std::uint32_t nobody = 0xffffffffu;
    struct Mapped {
        Rank peer;
        transport::RemoteMemory theirs;
        std::byte* at;
    };
    struct Open {
        Rank peer;
        LaneWriter writer;
        LaneReader reader;
    };
    [[nodiscard]] std::uint64_t number_of_near(Rank whose, Rank peer) const;
    [[nodiscard]] static Lane& lane_at(std::byte* area, std::uint64_t number);

    transport::Transport& transport_;
    std::span<std::byte> memory_;
    transport::RemoteMemory area_;
    std::vector<Mapped> mapped_;
    std::vector<Open> open_;
    std::vector<std::uint32_t> place_;  // in open_, by rank
    bool any_waiting_ = false;
    bool abandoned_ = false;
};

}  // namespace loom::window
