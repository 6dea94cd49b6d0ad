// Ranks connected by reliable queue pairs. Small messages are RDMA writes into a ring in the receiver's memory, which
// it polls; large ones are written straight into the receiver's memory once it has said where (Hoefler 2008, LibOF).
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"
#include "transport/lists.hpp"
#include "transport/verbs/datagrams.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/far_cache.hpp"
#include "transport/verbs/layout.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs/requests.hpp"

namespace loom::transport {

// A frame that waits for room in the peer's ring.
struct WaitingFrame {
    Kind kind;
    Tag tag;
    std::vector<std::byte> bytes;  // of control frames
    Message* message = nullptr;    // of eager ones: its data is still the program's
};

// A message that came before its receive: an eager one, or an advance.
struct Unexpected {
    Tag tag;
    std::vector<std::byte> bytes;
    std::optional<Loan> loan;
};

struct ReadyAt {
    Tag tag;
    Ready ready;
};

// Ranks that share a core find their caches taken by others at every turn: what a short message needs of its peer lies
// together, in front.
struct alignas(64) Peer {
    // What we write into its memory.
    QpPtr qp;
    bool lost = false;
    bool broken = false;  // a request failed: it will be lost once that is taken in
    bool far = false;     // on another host
    Rank rank;
    std::uint32_t key = 0;
    std::uint64_t eager_limit = 0;
    std::uint64_t ring_lines = 0;  // of its ring and of ours: as long
    std::uint64_t ring_address = 0;
    std::uint64_t tail = 0;      // lines written, in all
    std::uint64_t consumed = 0;  // of them, as far as we know
    Marks out;
    const Inbox* inbox = nullptr;  // in our memory
    std::uint32_t unsignaled = 0;  // requests since the last one that will complete
    std::uint32_t open = 0;        // requests not known to have ended
    MessageList sends;             // large ones that wait for `ready`

    // What it writes into ours.
    const std::byte* ring = nullptr;
    std::uint64_t head = 0, reported = 0;  // lines
    Marks in;
    MessageList receives;
    std::deque<Unexpected> unexpected;
    std::uint64_t kept = 0;       // bytes of its early messages
    bool told_full = false;       // it knows that we keep no more
    std::uint64_t most_kept = 0;  // bytes, but for what is in the ring

    FarCache stores = stores_in_far_cache, pages = pages_in_far_cache;
    std::uint64_t ring_bytes = 0;
    std::uint64_t inbox_address = 0;
    std::uint64_t advances_sent = 0, advances_seen = 0;
    bool asked_to_ring = false;   // a far one, once and for all
    bool probing = false;         // a write is under way that only asks whether it lives
    std::byte* mirror = nullptr;  // frames too long to travel inside a request are put together here: at the place they
                                  // will have in the ring, so that it is free again when that is
    std::deque<std::uint32_t> covered;  // how many of them each completion to come stands for
    std::deque<WaitingFrame> waiting;
    std::deque<ReadyAt> readies;  // that wait for their send
    MessageList writing;          // whose data is under way
    std::uint64_t unread = 0;     // advances like which (see kind_of_advance) the peer rather had written, a bit each
    MessageList reading;          // large ones that we read ourselves: they have met their message
};

// Where a peer's memory is written.
struct Place {
    std::uint64_t address;
    std::uint32_t key;
    bool shared;  // with plain stores, inside a host
};

// Where a peer's next frame begins, and what its first word is then: all that a look in vain needs.
struct Watch {
    const std::uint64_t* word = nullptr;
    std::uint64_t mark = 0;
};

class VerbsTransport final : public Transport {
public:
    explicit VerbsTransport(Bootstrap& bootstrap);
    ~VerbsTransport() override;

    std::string_view name() const override { return "verbs"; }
    std::string description() const override;
    Rank rank() const override { return me_; }
    std::uint32_t size() const override { return static_cast<std::uint32_t>(peers_.size()); }
    std::span<const std::uint32_t> hosts() const override { return hosts_; }
    Waiting waiting() const override { return waiting_; }
    std::uint32_t cores() const override { return cores_; }
    bool likes_huge_pages() const override { return device_.adapter.soft && has_company(hosts_, me_); }

    bool send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) override;
    bool receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) override;
    RemoteMemory expose(std::span<std::byte> memory) override;
    void unexpose(const RemoteMemory& memory) override;
    bool put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
             Message& message) override;
    bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                    std::uint32_t value, Message& message) override;
    std::optional<Notification> next_notification() override;
    std::span<std::byte> allocate(std::size_t bytes) override;
    void release(std::span<std::byte> memory) override;
    bool progress() override;
    void set_events(bool on) override;
    void sleep(std::chrono::microseconds most) override;
    void interrupt() override;
    void hush(bool on) override;
    Multicast* multicast() override;
    std::optional<Rank> lost() const override { return first_lost_; }
    bool is_lost(Rank who) const override { return peers_[who.value].lost; }
    std::string_view lost_why() const override { return lost_why_; }

private:
    // connecting.cpp
    void read_settings();
    void connect_all();
    [[nodiscard]] bool provide_rings();
    void touch_rings();
    void flush();

    // sending.cpp
    bool send_to_self(Tag tag, std::span<const std::byte> data, Message& message);
    [[nodiscard]] bool has_room(Peer& peer, std::uint64_t lines);
    void write_frame(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload);
    [[nodiscard]] bool write_eager(Peer& peer, Message& message);
    [[nodiscard]] static bool is_full(const Peer& peer) {
        return __atomic_load_n(&peer.inbox->is_full, __ATOMIC_RELAXED) != 0;
    }
    void send_control(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload);
    template <class Payload>
    void send_control(Peer& peer, Kind kind, Tag tag, const Payload& payload) {
        send_control(peer, kind, tag, std::as_bytes(std::span(&payload, 1)));
    }
    void post_write(Peer& peer, std::span<ibv_sge> pieces, std::uint64_t address, std::uint32_t key, unsigned flags,
                    std::uint64_t id);
    void post(Peer& peer, ibv_send_wr& request);
    void post_stores(Peer& peer, ibv_send_wr& request);
    void ring_bell(Peer& peer);
    [[nodiscard]] std::uint32_t inline_limit() const { return device_.adapter.soft ? soft_inline_bytes : inline_bytes; }
    [[nodiscard]] unsigned advice_for(const Message& message) const {  // a flag of a request
        return message.past_caches ? device_.adapter.functions.past_caches : 0;
    }
    void write_data(Peer& peer, Message& message, std::uint64_t from, const Place& to);
    bool is_over(Message& message);
    bool write_large(Peer& peer, Message& message, const Ready& ready);
    [[nodiscard]] std::uint64_t share_to_lend(const Peer& peer, const Message& message, const Ready& ready,
                                              const Registration& source) const;
    void lend(Peer& peer, Message& message, std::uint64_t bytes, TransferId receive);
    [[nodiscard]] bool lends_in_advance(const Peer& peer, const Message& message) const;
    void lend_in_advance(Peer& peer, Message& message);
    [[nodiscard]] Loan make_advance(Peer& peer, Message& message);
    [[nodiscard]] TransferId new_loan(Message& message);
    [[nodiscard]] static std::uint64_t kind_of_advance(const Message& message);
    void tell_of_pieces(Peer& peer, TransferId transfer, std::uint64_t bytes, std::size_t first, std::size_t end);
    [[nodiscard]] bool claims_advance(const Peer& peer, Tag tag, const Ready& ready);
    void write_rather(Peer& peer, TransferId transfer, const Ready& ready);
    [[nodiscard]] bool has_waiting(const Peer& peer) const { return waiting_frames_ != 0 && !peer.waiting.empty(); }
    void send_waiting(Peer& peer);
    void send_held(Peer& peer, Tag tag);

    // arriving.cpp
    bool receive_from_self(Tag tag, std::span<std::byte> into, Message& message);
    bool receive_large(Peer& peer, Message& message);
    [[nodiscard]] TransferId expect(Message& message);
    bool receive_advance(Peer& peer, std::deque<Unexpected>::iterator early, Message& message);
    void take_advance(Peer& peer, Tag tag, const Loan& loan);
    void meet(Peer& peer, const Loan& loan, Message& message);
    void take_withdrawn(Peer& peer, Tag tag, TransferId transfer);
    void take_unwanted(Peer& peer, TransferId transfer);
    void forget_loan(Peer& peer, std::uint32_t slot);
    [[nodiscard]] Message* end_loan(Peer& peer, TransferId transfer);
    [[nodiscard]] Message* end_advance(Peer& peer, TransferId transfer);
    void read(Peer& peer, std::uint64_t slot, const Loan& loan);
    void watch(const Peer& peer);
    bool take_frames(Peer& peer);
    void take_eager(Peer& peer, Tag tag, const std::byte* payload, std::uint64_t bytes);
    void keep(Peer& peer, Tag tag, std::span<const std::byte> data);
    void keep_no_longer(Peer& peer, std::deque<Unexpected>::iterator early);
    void tell_full(Peer& peer, bool full);
    void take_ready(Peer& peer, Tag tag, const Ready& ready);
    void forget_expected(const Message& message);
    void take_loan(Peer& peer, const Loan& loan);
    void take_back(Peer& peer, TransferId transfer);
    void part_done(Message& message);
    void end_send(Message& message, Message::Outcome outcome);
    void take_part(std::uint64_t slot);
    void take_answer(Peer& peer, TransferId transfer, Message::Outcome outcome);
    void take_offer(Peer& peer, Tag tag, std::uint64_t bytes);
    void consume(Peer& peer, std::uint64_t lines);
    bool note_completions();
    void note(const ibv_wc& completion);
    bool take_completions();
    void take_completion(const ibv_wc& completion);

    // resting.cpp
    int drain_wakes();
    bool take_wakes();
    void rest();
    void hear_of_losses();
    void ask_launcher();
    void lose(Peer& peer, const std::string& why);
    void quieten_bell() const;

    static void finish(Message& message, Message::Outcome outcome) {
        message.outcome = outcome;
        message.finished(message);
    }

    Bootstrap& bootstrap_;
    Rank me_;
    Device device_;
    Registrations registrations_;
    SharedHeap heap_;
    std::vector<std::uint32_t> hosts_;
    std::unique_ptr<SharedMemory> arena_;  // inboxes, rings, mirrors
    struct Distance {
        std::uint64_t ring_bytes = 0, eager_limit = 0;
        std::uint64_t most_kept = 0;  // bytes of early messages of one peer
    };
    Distance near_, far_;  // on this host, on others
    std::vector<Peer> peers_;
    std::vector<Watch> watches_;  // by rank; of ourselves none
    std::unordered_map<std::uint32_t, Peer*> by_qp_;
    std::uint64_t job_ = 0;  // a number that rank 0 drew
    std::unique_ptr<Datagrams> datagrams_;
    bool any_far_ = false;
    Waiting waiting_ = Waiting::spin;
    std::uint32_t cores_ = 1;

    // Large receives, named by slot and generation so that an answer cannot reach another.
    struct Expected {
        Message* message = nullptr;
        Registration* registration = nullptr;
        std::uint32_t generation = 0;
        std::uint32_t parts = 1;  // still to come: what is written, and what is read here
        std::uint32_t reads = 0;  // under way
        bool lent = false;        // among those that are read
        TransferId loan;          // whose end is to be told
    };
    [[nodiscard]] static std::uint32_t slot_of(TransferId id) { return static_cast<std::uint32_t>(id.value); }
    [[nodiscard]] static TransferId id_of(std::uint32_t slot, std::uint32_t generation) {
        return TransferId{std::uint64_t{generation} << 32 | slot};
    }
    std::vector<Expected> expected_;
    std::vector<std::uint32_t> free_expected_;
    std::uint32_t large_receives_ = 0, large_sends_ = 0;  // started and not finished

    // Data that receivers read, named as the receives are.
    static constexpr std::size_t most_pieces_lent = 4;
    struct Lent {
        Message* message = nullptr;
        std::uint32_t generation = 0;
        bool in_advance = false;
        std::uint64_t number = 0;                              // of an advance, among the large ones to its peer
        std::array<std::uint32_t, most_pieces_lent> pieces{};  // what the HCA calls them; 0: it was not told
        TransferId claimed_by;  // in advance: the `ready` of its receive, once that has come
    };
    std::vector<Lent> lent_;
    std::vector<std::uint32_t> free_lent_;

    std::unordered_map<const Message*, Registration*> sources_;  // of data under way
    std::unordered_map<std::uint64_t, Registration*> exposed_;   // by key
    std::deque<Notification> notifications_;
    MessageList self_sends_, self_receives_;

    std::uint64_t outstanding_ = 0;  // completions that will come
    std::deque<ibv_wc> ended_;       // those that came and were not taken in yet
    std::uint32_t looks_ = 0;
    std::uint64_t last_rest_ns_ = 0, last_probe_ns_ = 0;
    std::vector<Rank> gone_;  // as the launcher says; not taken in yet
    std::optional<Rank> first_lost_;
    std::string lost_why_;
    std::uint32_t waiting_frames_ = 0;

    bool events_ = false;
    bool armed_ = false;               // the next arrival is an event
    std::atomic<bool> fired_ = false;  // there was one since
    int bell_ = -1;                    // eventfd of interrupt()
};

}  // namespace loom::transport
