// Max-min fair rates of streams that share links, kept up to date while streams come and go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/base/time.hpp"

namespace loom::sim {

using Rate = std::int64_t;  // thousandths of a bit a second
__extension__ using Wide = __int128;
// What one byte is in Rate times picoseconds.
inline constexpr std::int64_t parts_per_byte = 8'000'000'000'000'000;

// The rates are those of water that rises in all streams alike: a link that would overflow at a level, to a whole
// Rate, stops its streams there. In whole numbers this has one answer, whatever the order of streams and links, so
// that a change need only be followed as far as it reaches. Cost of solve(): a few steps for each link of each stream
// that the change may reach: those that share a full link with it, directly or through others, and are not slower.
class FairShare {
public:
    using Stream = std::uint32_t;
    using Link = std::uint32_t;

    // One capacity for each link, above 0 for those in use.
    explicit FairShare(std::vector<Rate> capacities);

    // The links in the order in which data cross them, at least one, none twice. The stream has rate 0 until solve().
    Stream add(std::span<const Link> path);
    // The number may be given to a later stream. Rates of others change with solve().
    void remove(Stream stream, Time now);
    // All calls since the last solve() count as made at `now`. Returns the streams with a new rate; valid until the
    // next call.
    std::span<const Stream> solve(Time now);

    [[nodiscard]] Rate rate(Stream stream) const { return streams_[stream].rate; }
    [[nodiscard]] std::span<const Link> path(Stream stream) const { return streams_[stream].path; }
    [[nodiscard]] Rate load(Link link) const { return links_[link].load; }  // sum of the rates

    // What has crossed the link so far, in Rate times picoseconds.
    [[nodiscard]] Wide carried(Link link, Time now) const;
    // Time that the link could not use although it had data: of the time with streams that are held up further on,
    // the idle share.
    [[nodiscard]] Time waited(Link link, Time now) const;

private:
    struct StreamState {
        std::vector<Link> path;
        std::vector<std::uint32_t> place;  // in the link's list, by hop
        Rate rate = 0;
        Rate new_rate = 0;
        std::uint32_t bottleneck = 0;  // hop that sets the rate
        std::uint32_t new_bottleneck = 0;
        std::uint32_t chosen = 0;  // epoch in which its rate is solved anew
        bool fresh = false;        // not solved yet
        bool fixed = false;
    };
    struct Entry {
        Stream stream;
        std::uint32_t hop;
    };
    struct LinkState {
        Rate capacity = 0;
        Rate load = 0;
        Rate level = 0;  // at which the link is full and holds streams up; 0: it does not
        std::uint32_t waiting = 0;
        std::vector<Entry> streams;
        Time since;
        Wide carried = 0;
        Wide idle = 0;
        // Of one solve:
        std::uint32_t visited = 0;   // epoch in which its streams were chosen
        std::uint32_t involved = 0;  // attempt in which residue and open are of it
        std::uint32_t hit = 0;       // round in which it was full
        std::uint32_t open = 0;      // chosen streams without a rate yet
        Rate residue = 0;
        Rate new_level = 0;
    };
    struct Key {
        Rate share;
        Link link;
    };

    void settle(LinkState& link, Time now);
    void change_waiting(const StreamState& stream, std::uint32_t hops, int by, Time now);
    void choose(Stream stream);
    void visit(Link link);
    void follow();
    [[nodiscard]] Rate reach() const;
    bool attempt();
    bool take_round(Rate level);
    bool holds_others(Link link, Rate level);
    bool leftovers_stand();
    void fix(const LinkState& link, Rate level);
    void commit(Time now);

    std::vector<StreamState> streams_;
    std::vector<Stream> free_;
    std::vector<LinkState> links_;

    std::vector<Stream> fresh_;
    std::vector<Link> left_;  // full links that a stream has left
    Rate slowest_left_ = 0;   // rate of the slowest stream that has left; 0: none

    Rate floor_ = 0;  // streams below this cannot change
    bool follow_all_ = false;
    std::uint32_t epoch_ = 0;
    std::uint32_t attempt_ = 0;
    std::uint32_t round_ = 0;
    std::vector<Stream> chosen_;
    std::size_t followed_ = 0;
    std::size_t open_streams_ = 0;
    std::vector<Link> involved_;
    std::vector<Key> heap_;
    std::vector<Link> full_;
    std::vector<Stream> changed_;
};

}  // namespace loom::sim
