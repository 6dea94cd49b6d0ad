// How a message gets from rank to rank: the one narrow interface above verbs, MPI and threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loom/base/ids.hpp"
#include "loom/transport/message.hpp"
#include "loom/transport/multicast.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::transport {

// Memory of a rank that others may write: what it sends them so that they can. Plain bytes, to be passed on as they
// are.
struct RemoteMemory {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;
};

// A put_notify of `from` has arrived, and all it wrote with it.
struct Notification {
    Rank from;
    std::uint64_t value = 0;
};

// What an adapter does to 8 bytes of another rank's memory in one step.
struct Atomic {
    enum class Kind : std::uint8_t { fetch_add, compare_swap };
    Kind kind = Kind::fetch_add;
    std::uint64_t operand = 0;   // what is added, or what is stored
    std::uint64_t expected = 0;  // of compare_swap: it is stored where this was
};

// Local work of a rank for which a transport in virtual time takes time.
enum class LocalWork : std::uint8_t {
    copy,     // the amount is bytes
    reduce,   // the amount is bytes
    compute,  // the amount is picoseconds, as traffic::Op::amount; an empty step has 0 and still takes its turn
};

// An operation that messages belong to: what a transport calls it that tells who waits for whom, and in what.
struct OperationName {
    std::string_view what = {};  // "allreduce"; empty: messages that are the program's own
    std::uint64_t bytes = 0;     // as the call counts them
    std::uint32_t group = 0;     // the communicator; 0: all ranks
    Tag first = {};              // its messages have this tag and the next ones
    std::uint64_t tags = 1;
};

// One rank's end. Not thread-safe: one thread at a time is inside. Operations between the same two ranks with the same
// tag match in the order in which they were started; there is no receive from any rank and none of any tag. Every
// start hands over what it can at once (test-on-init): a small message to a rank that has room is on its way when
// send() returns. Data must stay unchanged until a send is finished, and is there when a receive is.
class Transport {
public:
    virtual ~Transport() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;    // "verbs", "mpi", "local"
    [[nodiscard]] virtual std::string description() const = 0;  // one line: adapter, path, eager limit
    [[nodiscard]] virtual Rank rank() const = 0;
    [[nodiscard]] virtual std::uint32_t size() const = 0;
    // Which host each rank runs on, as small numbers in the order of first appearance; by rank.
    [[nodiscard]] virtual std::span<const std::uint32_t> hosts() const = 0;
    // What to do between two fruitless looks; decided at the start. block: this is a transport in virtual time.
    [[nodiscard]] virtual Waiting waiting() const { return choose_waiting(hosts(), rank()); }
    // Of this host, that its ranks have between them; at least 1.
    [[nodiscard]] virtual std::uint32_t cores() const { return usable_cores(); }

    // True: finished already, and message.outcome says how. To itself (to == rank()) works like to others.
    [[nodiscard]] virtual bool send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) = 0;
    // Exactly as long as the message that it matches: another length is an error of its outcome.
    [[nodiscard]] virtual bool receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) = 0;

    // Access to memory of other ranks, for the room `window`; collectives send and receive. Between two ranks puts and
    // notifications arrive in the order in which they were started.
    // Makes memory readable and writable for other ranks (until unexpose). Cost: a registration.
    [[nodiscard]] virtual RemoteMemory expose(std::span<std::byte> memory) = 0;
    virtual void unexpose(const RemoteMemory& memory) = 0;
    // Writes into memory that `to` exposed; finished when `data` may change again and everything is at the target.
    [[nodiscard]] virtual bool put(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                   std::span<const std::byte> data, Message& message) = 0;
    // The same, and then tells the target, whose next_notification() will answer `value` once the data is there. Over
    // verbs a value below 2^32 - 2 is the write's immediate, others cost two or three messages more.
    [[nodiscard]] virtual bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                          std::span<const std::byte> data, std::uint64_t value, Message& message) = 0;
    [[nodiscard]] virtual std::optional<Notification> next_notification() = 0;
    // Reads memory that `from` exposed; finished when it is in `into`. Nothing is said of its order with puts that are
    // not finished.
    [[nodiscard]] virtual bool get(Rank from, const RemoteMemory& where, std::uint64_t offset,
                                   std::span<std::byte> into, Message& message) = 0;
    // On 8 bytes at a multiple of 8 that `at` exposed; finished when `before` has what was there. Atomic to the other
    // ranks' atomics, and to atomic instructions on memory that map() reaches.
    [[nodiscard]] virtual bool atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                                      std::uint64_t& before, Message& message) = 0;
    // Where this process reaches memory that `owner` exposed with plain loads and stores; null where it cannot (another
    // host, an adapter in between, memory that is not of the owner's allocate()). Stays there until unmap(), also when
    // the owner is gone; what it holds once that was unexposed is nobody's promise.
    [[nodiscard]] virtual std::byte* map(Rank /*owner*/, const RemoteMemory& /*memory*/) { return nullptr; }
    virtual void unmap(Rank /*owner*/, const RemoteMemory& /*memory*/, std::byte* /*mapped*/) {}

    // Memory that others reach with plain stores where the transport has such (shared memory inside a host): messages
    // into and out of it are copied at a memory's speed, without the system's help. 64-byte aligned, of any content; at
    // least ordinary memory. Throws Error when there is none. Freed with the transport at last.
    [[nodiscard]] virtual std::span<std::byte> allocate(std::size_t bytes) = 0;
    virtual void release(std::span<std::byte> memory) = 0;

    // Whether large messages to others of this host go through the kernel, which copies faster out of huge pages.
    [[nodiscard]] virtual bool likes_huge_pages() const { return false; }

    // Moves everything forward as far as it goes without waiting and calls `finished`. True when anything happened.
    // Costs some tens of nanoseconds when nothing did. Throws Error when the transport itself is broken.
    virtual bool progress() = 0;

    // Between two fruitless looks of somebody who waits and does nothing else, where waiting() is Waiting::block.
    // Returns when something may have come for this rank (at once when that was before the call), when a rank was lost,
    // or when the transport is broken, which the next progress() then says; others run meanwhile. Called without being
    // "inside".
    virtual void rest() { pause(Waiting::yield); }

    // Sleeping instead of polling, for progress threads. While events are on, peers make what they send wake us (which
    // costs them and us more than polling).
    virtual void set_events(bool on) = 0;
    // Blocks until something may have arrived, interrupt() was called, or the time is up, with no core used. Only
    // while events are on; called without being "inside": another thread may use the transport meanwhile.
    virtual void sleep(std::chrono::microseconds most) = 0;
    virtual void interrupt() = 0;  // from any thread
    // on: until the same call with false, what arrives need not end a sleep(), which then only interrupts whoever is
    // busy with the transport. From any thread; pairs may be nested.
    virtual void hush(bool /*on*/) {}

    // Datagrams to all ranks; null where the transport has none. The first call joins the group.
    [[nodiscard]] virtual Multicast* multicast() { return nullptr; }

    // Of transports in virtual time, elsewhere nothing. Whether copies, reductions and computation of a collective take
    // time; the same as long as the transport lives. One that charges calls `finished` from progress() alone, one after
    // another in the order of its time: never from starting an operation.
    [[nodiscard]] virtual bool charges_work() const { return false; }
    // The bytes are moved already; this is the time that takes on the rank's core. True: it is over at once. Otherwise
    // message.finished is called when it is, with the outcome done.
    [[nodiscard]] virtual bool work(LocalWork /*kind*/, std::uint64_t /*amount*/, Message& /*message*/) { return true; }
    // What collectives choose their algorithms by, instead of what they measure or assume: as model::to_text() writes
    // it, the same on every rank.
    [[nodiscard]] virtual std::optional<std::string> parameters_text() const { return {}; }

    // Of transports that tell who waited for whom; the same as long as the transport lives. Where it is false nobody
    // calls the next two. An operation may be inside another's tags: the later `first` counts. What has no name begins
    // again and again, and never ends.
    [[nodiscard]] virtual bool names_operations() const { return false; }
    virtual void operation_begins(const OperationName& /*operation*/) {}
    virtual void operation_ends(Tag /*first*/) {}

    // Ranks known to be gone. Looked for while waiting: by the launcher's word or by asking their adapters.
    [[nodiscard]] virtual std::optional<Rank> lost() const = 0;
    [[nodiscard]] virtual bool is_lost(Rank who) const { return lost() == who; }
    // How lost() was lost, for people: "it ended".
    [[nodiscard]] virtual std::string_view lost_why() const { return {}; }
};

// Whether another rank is on the host of `rank`.
[[nodiscard]] inline bool has_company(std::span<const std::uint32_t> hosts, Rank rank) {
    return std::count(hosts.begin(), hosts.end(), hosts[rank.value]) > 1;
}

// What to throw when `who` is gone: "rank 3 is gone: it ended", the reason where it is known.
[[nodiscard]] inline RankLost loss_of(Rank who, const Transport& transport) {
    std::string text = "rank " + std::to_string(who.value) + " is gone";
    if (transport.lost() == who && !transport.lost_why().empty()) text.append(": ").append(transport.lost_why());
    return {who, text};
}

}  // namespace loom::transport
