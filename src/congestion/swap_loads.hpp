// Loads of all rounds at once under a mapping that changes by swaps.
#pragma once

#include <cstdint>
#include <vector>

#include "congestion/paths.hpp"
#include "loom/congestion/mapping.hpp"

namespace loom::congestion {

class SwapLoads {
public:
    // Whether the congestion of every route is kept up to date (metric 2): swaps cost more then.
    enum class Track : std::uint8_t { loads, routes };

    SwapLoads(const Routes& routes, const traffic::Pattern& pattern, Duplex duplex, Track track);

    // Every rank gets the place mapping[rank]. Cost: all messages.
    void set(std::span<const std::uint32_t> mapping);
    // Exchanges the places of two ranks. Cost: their messages, and with Track::routes those that share a link whose
    // load has changed.
    void swap(std::uint32_t a, std::uint32_t b);
    // Takes the last swap back, once. Cost: less than the swap, no route is looked for.
    void undo();

    [[nodiscard]] const Mapping& mapping() const { return mapping_; }
    [[nodiscard]] std::uint64_t sum_of_maxima() const { return maxima_; }
    [[nodiscard]] std::uint64_t sum_of_routes() const { return routes_; }  // with Track::routes
    [[nodiscard]] std::uint64_t link_traversals() const { return traversals_; }
    // Sum of squared loads: smooth where the maximum is flat.
    [[nodiscard]] std::uint64_t squares() const { return squares_; }

private:
    static constexpr std::uint32_t nothing = 0xffffffffu;

    struct Message {
        std::uint32_t round;
        std::uint32_t from;
        std::uint32_t to;
    };
    struct Round {
        std::vector<std::uint32_t> slots_by_load;  // how many links carry so many flows; [0] unused
        std::uint32_t largest = 0;
        std::uint32_t inside = 0;  // messages that cross no link between switches, of congestion 1
        [[nodiscard]] std::uint32_t maximum() const { return largest != 0 ? largest : (inside != 0 ? 1u : 0u); }
    };

    void begin();
    void insert(std::uint32_t message);
    void remove(std::uint32_t message);
    void attach(std::uint32_t message);
    void detach(std::uint32_t message);
    void change(std::uint32_t round, std::size_t slot, int delta);
    void refresh();
    [[nodiscard]] std::size_t slot(std::uint32_t round, std::uint32_t link) const {
        return std::size_t{round} * links_ + link;
    }

    const Routes::Data* data_;
    Track track_;
    Walker walker_;
    std::size_t links_ = 0;               // inter-switch channels or cables
    std::vector<std::uint32_t> link_of_;  // by Counter
    std::vector<Message> messages_;
    std::vector<std::uint32_t> first_of_;  // by rank, into of_rank_
    std::vector<std::uint32_t> of_rank_;   // messages of a rank
    Mapping mapping_;
    std::vector<Round> rounds_;
    std::vector<std::uint32_t> load_;  // by slot

    std::size_t stride_ = 0;             // room for a path
    std::vector<std::uint32_t> path_;    // by message * stride: links
    std::vector<std::uint32_t> length_;  // by message; nothing: not in the network

    // With Track::routes: who crosses a slot, as linked lists of path positions.
    std::vector<std::uint32_t> head_;
    std::vector<std::uint32_t> after_;
    std::vector<std::uint32_t> before_;
    std::vector<std::uint32_t> congestion_;  // by message, 0 when not in the network
    std::vector<std::uint32_t> dirty_;
    std::vector<std::uint8_t> is_dirty_;
    std::vector<std::uint32_t> stamp_of_;  // by slot: the operation that changed it last
    std::uint32_t stamp_ = 0;

    // What the operation under way, or the last one, changed; what was there before.
    struct Before {
        std::size_t at;  // a slot or a message
        std::uint32_t value;
    };
    std::vector<Before> loads_before_;       // each slot once
    std::vector<Before> congestion_before_;  // the first entry of a message counts
    std::uint64_t routes_before_ = 0;
    std::uint32_t swapped_a_ = 0, swapped_b_ = 0;
    std::vector<std::uint32_t> touched_;        // messages
    std::vector<std::uint32_t> length_before_;  // by position in touched_
    std::vector<std::uint32_t> path_before_;    // the same, times stride
    std::uint64_t maxima_ = 0;
    std::uint64_t routes_ = 0;
    std::uint64_t traversals_ = 0;
    std::uint64_t squares_ = 0;
};

}  // namespace loom::congestion
