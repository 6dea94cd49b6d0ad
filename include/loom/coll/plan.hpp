// A collective made ready: the schedule of messages and, beside each operation, where its bytes lie.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {

// The buffers of a call. The same plan runs on other buffers without being written again.
enum class Buffer : std::uint8_t {
    none,
    input,
    output,
    scratch,  // Plan::scratch bytes, 64-byte aligned, of unknown content at the start
};

struct Place {
    Buffer buffer = Buffer::none;
    std::uint64_t at = 0;  // byte offset
    friend bool operator==(const Place&, const Place&) = default;
};
[[nodiscard]] constexpr Place input(std::uint64_t at = 0) {
    return {Buffer::input, at};
}
[[nodiscard]] constexpr Place output(std::uint64_t at = 0) {
    return {Buffer::output, at};
}
[[nodiscard]] constexpr Place scratch(std::uint64_t at = 0) {
    return {Buffer::scratch, at};
}

// Of a send `from`, of a receive `to`, of a copy both; of a reduce: to = from (op) to, `from` being of the lower ranks.
struct Places {
    Place from, to;
};

// One rank's part. The schedule is one of as many ranks as the group has, in which only `me` has operations: what the
// engine executes is what is exported.
struct Plan {
    traffic::Schedule schedule;
    std::vector<Places> places;  // by operation
    std::uint64_t scratch = 0;   // bytes
    Rank me;
    // The sends of a rank that receives nothing go to everyone by multicast first, and whoever hears such a fragment
    // need not wait for its receive (which stays: datagrams may be lost) to pass it on. Tags number the fragments.
    bool multicast = false;
};

// Takes down the operations of one rank. Every operation waits for those named (and for nothing else): dependencies
// that follow from the bytes (a send of what a receive brings) must be named too.
class Writer {
public:
    struct Step {
        std::uint32_t number;
    };
    using After = std::span<const Step>;

    Writer(std::uint32_t ranks, Rank me);

    [[nodiscard]] Rank me() const { return me_; }
    // Bytes at the end of the scratch buffer, 64-byte aligned.
    [[nodiscard]] Place take_scratch(std::uint64_t bytes);

    Step send(Rank to, Place from, std::uint64_t bytes, After after = {}, std::uint32_t tag = 0);
    Step receive(Rank from, Place to, std::uint64_t bytes, After after = {}, std::uint32_t tag = 0);
    Step copy(Place from, Place to, std::uint64_t bytes, After after = {});
    // to = from (op) to; where the operation does not commute, `from` holds what lower ranks gave.
    Step reduce(Place from, Place to, std::uint64_t bytes, After after = {});
    // An empty step to wait for many at once.
    Step join(After after);
    void use_multicast() { multicast_ = true; }

    // The same with the steps written in place: send(to, from, bytes, {a, b}).
    Step send(Rank to, Place from, std::uint64_t bytes, std::initializer_list<Step> after, std::uint32_t tag = 0) {
        return send(to, from, bytes, After(after.begin(), after.size()), tag);
    }
    Step receive(Rank from, Place to, std::uint64_t bytes, std::initializer_list<Step> after, std::uint32_t tag = 0) {
        return receive(from, to, bytes, After(after.begin(), after.size()), tag);
    }
    Step copy(Place from, Place to, std::uint64_t bytes, std::initializer_list<Step> after) {
        return copy(from, to, bytes, After(after.begin(), after.size()));
    }
    Step reduce(Place from, Place to, std::uint64_t bytes, std::initializer_list<Step> after) {
        return reduce(from, to, bytes, After(after.begin(), after.size()));
    }

    // The plan; the writer is empty afterwards. Throws traffic::ScheduleError for a peer that does not exist.
    [[nodiscard]] Plan finish();

private:
    friend class WholeBuilder;
    void clear();
    Step add(traffic::OpKind kind, Rank peer, std::uint64_t bytes, std::uint32_t tag, Places places, After after);

    struct Edge {
        std::uint32_t earlier, later;
    };
    std::uint32_t ranks_;
    Rank me_;
    std::vector<traffic::Op> ops_;
    std::vector<Places> places_;
    std::vector<Edge> edges_;
    std::uint64_t scratch_ = 0;
    bool multicast_ = false;
};

}  // namespace loom::coll
