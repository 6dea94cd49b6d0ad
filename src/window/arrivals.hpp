// Notifications that have come and that nobody has used up yet.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "window/stamp.hpp"

namespace loom::window {

// Which of them somebody asks for. Sources are ranks of the world.
struct Wanted {
    std::optional<WindowId> window;
    std::optional<Rank> source;
    Tag tag;
    std::uint32_t mask = 0xffffffff;
};

struct Arrival {
    Rank source;
    Stamp stamp;
};

// Counts by window and tag, and their order as runs of one source. Adding costs some nanoseconds while window and tag
// stay the same, else a search by hash; so does asking for one tag of one window. Other questions look at every window
// and tag of which something is there, those for one source at its runs. Memory: 24 bytes for each run.
class Arrivals {
public:
    void add(Rank source, Stamp stamp, std::uint64_t count = 1);
    [[nodiscard]] std::uint64_t count(const Wanted& wanted) const;
    [[nodiscard]] bool empty() const { return total_ == 0; }
    // The oldest `count` are used up; false: they are not all there, and none is.
    bool take(const Wanted& wanted, std::uint64_t count);
    std::optional<Arrival> next(const Wanted& wanted);
    void forget(WindowId window);
    [[nodiscard]] std::size_t remembered() const { return buckets_.size(); }  // windows and tags
    // The oldest of those that `wanted` leaves out, if any, and how many there are.
    [[nodiscard]] std::optional<Arrival> oldest_other(const Wanted& wanted, std::uint64_t& number) const;

private:
    struct Run {
        std::uint64_t first;  // number of the first of them, among all arrivals
        std::uint64_t count;
        Rank source;
    };
    struct Bucket {
        std::uint64_t total = 0;
        std::vector<Run> runs;  // those before `begin` are used up
        std::size_t begin = 0;
    };
    using Buckets = std::unordered_map<std::uint64_t, Bucket>;

    [[nodiscard]] static bool is_one(const Wanted& wanted) { return wanted.window && wanted.mask == 0xffffffff; }
    [[nodiscard]] static std::uint64_t key_of(const Wanted& wanted) { return to_word({*wanted.window, wanted.tag}); }
    [[nodiscard]] static bool matches(const Wanted& wanted, std::uint64_t key);
    [[nodiscard]] static std::uint64_t count_in(const Bucket& bucket, const std::optional<Rank>& source);
    [[nodiscard]] static const Run* oldest_in(const Bucket& bucket, const std::optional<Rank>& source);
    void use_up(Bucket& bucket, const std::optional<Rank>& source, std::uint64_t count);
    [[nodiscard]] Buckets::iterator oldest(const Wanted& wanted);
    void drop_if_empty(Buckets::iterator at);

    Buckets buckets_;
    std::uint64_t next_ = 0;
    std::uint64_t total_ = 0;     // in all buckets
    std::uint64_t last_key_ = 0;  // of the bucket used last; 0: none
    Bucket* last_ = nullptr;
};

}  // namespace loom::window
