// A call like a given one, on the same group or a smaller one like it, to be written and walked for all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/coll/call.hpp"

namespace loom::coll {

[[nodiscard]] bool on_one_host(const Group& group);

// How much of a group is kept: so many hosts, and of each its share if the one with the most ranks keeps `inside`.
// Hosts go or stay as a whole as long as there are many, so that what is left shares hosts as the group does.
struct Extent {
    std::uint32_t hosts = 1;
    std::uint32_t inside = 1;
    friend bool operator==(const Extent&, const Extent&) = default;
};
[[nodiscard]] Extent extent_of(const Group& group);
// About a `radix`-th of it: of the hosts while that leaves two or more, else of the ranks in each. Itself where there
// is nothing to take away.
[[nodiscard]] Extent thinned(const Extent& extent, std::uint32_t radix);

// Made up of what all ranks know, every rank's blocks alike. The group must outlive it. Cost: linear in ranks, and in
// their square where each has blocks for all.
class Alike {
public:
    Alike(const Group& group, const Call& call, const Extent& extent, std::uint64_t bytes);
    Alike(const Alike&) = delete;
    Alike& operator=(const Alike&) = delete;

    [[nodiscard]] const Group& group() const { return group_; }
    [[nodiscard]] std::span<const Call> calls() const {
        return calls_.empty() ? std::span(&call_, 1) : std::span(calls_);
    }
    [[nodiscard]] const Call& call() const { return calls().front(); }
    [[nodiscard]] const Call& call_of(Rank rank) const { return calls_.empty() ? call_ : calls_[rank.value]; }

private:
    void thin(const Group& group, const Extent& extent);
    void make_blocks();
    [[nodiscard]] std::size_t most_blocks() const;

    Group group_;
    Call call_;
    std::vector<Call> calls_;
    std::vector<std::uint32_t> hosts_;
    std::vector<std::uint64_t> bytes_, at_;
};

}  // namespace loom::coll
