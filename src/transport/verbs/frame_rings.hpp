// Frames in rings of cache lines: one ring in each peer's memory, which we write, and one in ours, which it writes and
// we poll. An inbox beside them says what has been taken.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "transport/verbs/liveness.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs/requests.hpp"

namespace loom::transport {

// A frame that has come. Its payload lies in the ring until consume().
struct Frame {
    Kind kind;
    Tag tag;
    const std::byte* payload;
    std::uint64_t bytes;
};

// Owns the memory of inboxes, of our rings, and of the mirrors in which long frames are put together.
class FrameRings final : public PeerKeeper {
public:
    struct Sizes {
        std::uint64_t near = 0, far = 0;  // bytes of a ring on this host, on others
    };
    FrameRings(const Device& device, Requests& requests, Liveness& liveness, Rank me, std::uint32_t ranks, Sizes sizes);

    // Start-up: our ends, then the peer's, which lie at the same offsets of its memory.
    void open(Peer& peer, std::uint64_t secret);
    void connect(Peer& peer, std::uint32_t key, std::uint64_t memory, std::uint64_t secret);
    // Before anybody writes: gives our rings for peers of this host their pages, unless they are too many; then touches
    // theirs, after they have done so.
    [[nodiscard]] bool provide(std::span<const Peer> peers);
    void touch(std::span<Peer> peers);
    [[nodiscard]] const SharedMemory& memory() const { return *memory_; }

    [[nodiscard]] bool has_room(Peer& peer, std::uint64_t lines);
    // Into a ring that has room. A peer that sleeps (Inbox::wants_events) is woken by an immediate.
    void write(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload);
    // At once, or once there is room and all that waits has left.
    void send(Peer& peer, Kind kind, Tag tag, std::span<const std::byte> payload);
    template <class Payload>
    void send(Peer& peer, Kind kind, Tag tag, const Payload& payload) {
        send(peer, kind, tag, std::as_bytes(std::span(&payload, 1)));
    }

    [[nodiscard]] bool any_waiting() const { return waiting_frames_ != 0; }
    [[nodiscard]] bool has_waiting(const Peer& peer) const { return waiting_frames_ != 0 && !peer.waiting.empty(); }
    void wait(Peer& peer, WaitingFrame frame);
    void wait_no_longer(Peer& peer);  // the first of them

    [[nodiscard]] std::size_t ranks() const { return watches_.size(); }
    // Whether a frame may have come. Costs a look at its first word.
    [[nodiscard]] bool has_news(std::size_t rank) const {
        const Watch& next = watches_[rank];
        return next.word != nullptr && (__atomic_load_n(next.word, __ATOMIC_RELAXED) ^ next.mark) >> 32 == 0;
    }
    // The next frame, if it is there as a whole.
    [[nodiscard]] static bool look(const Peer& peer, Frame& frame);
    // Takes the next frame, of so many lines, out of the ring, and now and then tells the peer.
    void consume(Peer& peer, std::uint64_t lines);
    void consume_skip(Peer& peer) { consume(peer, peer.in.lines - peer.in.head % peer.in.lines); }

    // Notifications among frames: what is written behind one, and what has come behind one.
    static void hide_what_follows(Peer& peer) { peer.out.marks.next(); }
    void show_what_follows(Peer& peer) {
        peer.in.marks.next();
        watch(peer);
    }

    // What inboxes say beside: the peer keeps as many of our early messages as it will; it sleeps.
    [[nodiscard]] static bool is_full(const Peer& peer) {
        return __atomic_load_n(&peer.out.inbox->is_full, __ATOMIC_RELAXED) != 0;
    }
    void tell_full(Peer& peer, bool full) { requests_.write_word(peer, offsetof(Inbox, is_full), full ? 1 : 0); }
    void tell_sleeping(Peer& peer, bool on);

    [[nodiscard]] bool awaits(const Peer& peer) const override { return !peer.waiting.empty(); }
    void forget(Peer& peer, MessageList& over) override;

private:
    [[nodiscard]] bool is_near(const Peer& peer) const { return !peer.far && peer.rank != me_; }
    void skip_to_start(Peer& peer);
    void watch(const Peer& peer);

    // Where a peer's next frame begins, and what its first word is then: all that a look in vain needs.
    struct Watch {
        const std::uint64_t* word = nullptr;
        std::uint64_t mark = 0;
    };

    Requests& requests_;
    Liveness& liveness_;
    Rank me_;
    std::uint32_t ranks_;
    Sizes sizes_;
    std::unique_ptr<SharedMemory> memory_;  // inboxes, rings, mirrors
    std::uint32_t memory_key_;
    std::uint32_t waiting_frames_ = 0;
    std::vector<Watch> watches_;  // by rank; of ourselves none
};

inline bool FrameRings::look(const Peer& peer, Frame& frame) {
    const std::uint64_t at = peer.in.head % peer.in.lines * line;
    const std::byte* const begin = peer.in.base + at;
    const std::uint64_t mark = peer.in.marks.now();
    const std::uint64_t what = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(begin), __ATOMIC_ACQUIRE) ^ mark;
    if (what >> 32 != 0) return false;
    const std::uint64_t bytes = what & most_payload;
    if (at + frame_bytes(bytes) > peer.in.lines * line) return false;
    const std::byte* const end = begin + header_bytes + round_up(bytes, 8);
    if (__atomic_load_n(reinterpret_cast<const std::uint64_t*>(end), __ATOMIC_ACQUIRE) != mark) return false;
    frame.kind = static_cast<Kind>(what >> 28);
    std::memcpy(&frame.tag.value, begin + 8, 8);
    frame.payload = begin + header_bytes;
    frame.bytes = bytes;
    return true;
}

}  // namespace loom::transport
