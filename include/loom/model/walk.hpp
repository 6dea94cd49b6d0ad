// Goes through a schedule of all ranks and tells when every operation would begin and end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/model/logfp.hpp"
#include "loom/model/loggops.hpp"
#include "loom/model/loggp.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::model {

// What the messages of one protocol cost. A message of s bytes is charged s - 1 times what a byte costs.
struct MessageCosts {
    Time send{};        // the sender's core
    Time send_first{};  // more, when the core was not sending just before
    std::int64_t send_byte = 0;
    Time gap{};  // either adapter
    std::int64_t gap_byte = 0;
    Time latency{};  // from the end of `send` to the first byte's arrival
    Time take{};     // the receiver's core
    std::int64_t take_byte = 0;
    friend bool operator==(const MessageCosts&, const MessageCosts&) = default;
};

// When the core of a receiver is busy with a message.
enum class Taking : std::uint8_t {
    after_arrival,   // once its last byte is there
    during_arrival,  // from the first byte on, while the bytes come in (LogGOPS)
};

// What messages of more than WayCosts::limit bytes wait for.
enum class Large : std::uint8_t {
    nothing,  // they go like others
    match,    // they go at once, but are over at the sender when they have met their receive (LogGOPS)
    ready,    // for the receiver's word that the receive is posted, WayCosts::ready on its way
};

// Whose core moves the bytes of large messages that wait for Large::ready.
enum class Copying : std::uint8_t {
    by_costs,  // as send_byte and take_byte say
    by_fewer,  // send_byte a byte (shared_byte where either end is in shared memory) at one end: the one that reaches
               // the other's memory if only one is shared, else the one with fewer large messages in all, else the
               // receiver on crowded hosts, else half at each end where the sender does not receive, else the sender
};

// What messages cost on one kind of way.
struct WayCosts {
    MessageCosts small;
    MessageCosts large;                // of more than `limit` bytes
    std::uint64_t limit = UINT64_MAX;  // bytes
    Time ready{};
    Copying copying = Copying::by_costs;
    std::int64_t shared_byte = 0;
    // Large messages of up to so many bytes do not wait for the word: the sender says at once where they lie, and the
    // receiver's core moves them when both are there. With Large::ready and Copying::by_fewer alone.
    std::uint64_t advance = 0;
    // A byte of a large message that both ends move, a half each; 0: half of what one end takes.
    std::int64_t alone_byte = 0;
    friend bool operator==(const WayCosts&, const WayCosts&) = default;
};

// What a byte costs, in picoseconds, where what a core works on does not fit its caches.
struct ColdCosts {
    std::uint64_t fits = 0;    // bytes a core works on, all operations together, up to which nothing is cold
    std::uint64_t spills = 0;  // from which on all is; more than `fits`
    std::int64_t copy = 0, reduce = 0;
    std::int64_t large_byte = 0;   // instead of WayCosts::large.send_byte inside a host
    std::int64_t shared_byte = 0;  // instead of WayCosts::shared_byte there
    friend bool operator==(const ColdCosts&, const ColdCosts&) = default;
};

// What a byte costs, in picoseconds, where a core works on so many bytes.
struct SizedCosts {
    std::uint64_t bytes = 0;
    std::int64_t copy = 0, reduce = 0;
    std::int64_t large_byte = 0;   // instead of WayCosts::large.send_byte inside a host
    std::int64_t shared_byte = 0;  // instead of WayCosts::shared_byte there
    std::int64_t alone_byte = 0;   // instead of WayCosts::alone_byte there
    friend bool operator==(const SizedCosts&, const SizedCosts&) = default;
};

// The most general costs; LogGP, LogfP and LogGOPS are cases of them.
struct Charges {
    WayCosts way;                 // between ranks of one host, and of two where `far` is missing
    std::optional<WayCosts> far;  // between hosts, whose ranks share an adapter
    Large waits_for = Large::nothing;
    std::uint32_t free = 1;  // messages that an adapter works on at once; at least 1
    Taking taking = Taking::after_arrival;
    LocalCosts local;
    // Cores that the ranks of one host have together; 0: as many as they want. A rank that finds none free waits.
    std::uint32_t host_cores = 0;
    // Of ranks that share cores: what a core takes to go from one rank to the next. Not 0: rank i of the n of a host
    // stays on core i * host_cores / n, goes on as long as it has something to do, and waits for half a turn for each
    // rank of its core before that. 0: ranks take whichever core is free, at once.
    Time turn{};
    Time call{};                    // of every rank's core: to begin an operation and to hear of its end
    std::optional<ColdCosts> cold;  // missing: caches are large
    std::vector<SizedCosts> sized;  // not empty: instead of `cold`; in between by the logarithm, ascending
    friend bool operator==(const Charges&, const Charges&) = default;
};

// For schedules in which every core works on so many bytes: in between those that are known, by the logarithm.
[[nodiscard]] Charges for_working_set(const Charges& charges, std::uint64_t bytes_a_core);

[[nodiscard]] Charges charges(const LogGp& parameters);
[[nodiscard]] Charges charges(const LogfP& parameters);
[[nodiscard]] Charges charges(const LogGops& parameters, const LocalCosts& local = {});

struct Span {
    Time begin = never;
    Time end = never;
    friend bool operator==(const Span&, const Span&) = default;
};

struct Prediction {
    bool finished = false;      // false: some operations wait for ever, and their times are `never`
    std::vector<Time> ends;     // by rank; 0 for one that does nothing
    std::vector<Span> ops;      // by operation; of a receive from its posting on
    std::uint64_t untaken = 0;  // messages that arrived and met no receive

    [[nodiscard]] Time finish() const;  // the last rank's; never when not finished
};

// What waits for ever, a line each (20 at most, and how many more), and how many messages no receive takes; nothing
// when all is well.
[[nodiscard]] std::vector<std::string> trouble(const traffic::Schedule& schedule, const Prediction& prediction);

// Ranks begin together at 0. Something that finds its core or adapter busy gets it when it is free, in the order of
// becoming possible. `hosts` by rank, numbered without gaps; empty: all on one. Integers throughout: the same on every
// machine. `shared`, by operation, says whose memory all ranks of a host reach; empty: none. Throws UsageError for
// negative costs, Error for schedules beyond 46 days. Cost: 100 to 400 ns an operation, up to 1 us where a rank has
// hundreds of messages under way at once (a receive looks through those that wait).
[[nodiscard]] Prediction walk(const traffic::Schedule& schedule, const Charges& charges,
                              std::span<const std::uint32_t> hosts = {}, std::span<const std::uint8_t> shared = {});

}  // namespace loom::model
