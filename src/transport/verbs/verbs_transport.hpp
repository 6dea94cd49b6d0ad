// Ranks connected by reliable queue pairs. Small messages are RDMA writes into a ring in the receiver's memory, which
// it polls. Large ones are written straight into the receiver's memory once it has said where (Hoefler 2008, LibOF).
// Inside a host with the software HCA, where cores copy, the receiver may read them instead, and the sender may say
// where they are without being asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"
#include "transport/verbs/datagrams.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/eager_messages.hpp"
#include "transport/verbs/frame_rings.hpp"
#include "transport/verbs/liveness.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs/notifications.hpp"
#include "transport/verbs/puts.hpp"
#include "transport/verbs/rendezvous_receiver.hpp"
#include "transport/verbs/rendezvous_sender.hpp"
#include "transport/verbs/requests.hpp"
#include "transport/verbs/self_messages.hpp"
#include "transport/verbs/transfers.hpp"
#include "transport/verbs/wakes.hpp"

namespace loom::transport {

// What holds for peers at one distance: on this host, or on others.
struct Distance {
    std::uint64_t ring_bytes = 0, eager_limit = 0;
    std::uint64_t most_kept = 0;  // bytes of early messages of one peer
};

struct Card;  // what a rank tells all others
struct Door;  // and one of them

// Opens the device, connects to all ranks, and hands every operation and every frame to the class it belongs to. Owns
// these classes, and the peers, in which they keep what concerns one rank.
class VerbsTransport final : public Transport, private Requests::Handler {
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
                    std::uint64_t value, Message& message) override;
    bool get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
             Message& message) override;
    bool atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what, std::uint64_t& before,
                Message& message) override;
    std::byte* map(Rank owner, const RemoteMemory& memory) override;
    void unmap(Rank owner, const RemoteMemory& memory, std::byte* mapped) override;
    std::optional<Notification> next_notification() override { return notifications_.next(); }
    std::span<std::byte> allocate(std::size_t bytes) override { return heap_.allocate(bytes); }
    void release(std::span<std::byte> memory) override { heap_.release(memory); }
    bool progress() override;
    void set_events(bool on) override;
    void sleep(std::chrono::microseconds most) override { wakes_.sleep(most); }
    void interrupt() override { wakes_.interrupt(); }
    void hush(bool on) override;
    Multicast* multicast() override;
    std::optional<Rank> lost() const override { return liveness_.first_lost(); }
    bool is_lost(Rank who) const override { return peers_[who.value].lost; }
    std::string_view lost_why() const override { return liveness_.why(); }

private:
    // connecting.cpp
    void connect_all();
    std::string open_peers(const Card& mine);
    void meet(Peer& peer, const Card& theirs, const Door& door);
    void flush();

    // verbs_transport.cpp
    bool take_frames(Peer& peer);
    bool take_wakes();
    bool look_around(bool now_and_then);
    void take_control(Peer& peer, const Frame frame);
    void take(Peer& peer, const ibv_wc& completion) override;
    [[nodiscard]] Peer* other(Rank rank) { return rank == me_ ? nullptr : &peers_[rank.value]; }

    Bootstrap& bootstrap_;
    Rank me_;
    Device device_;
    Distance near_, far_;  // on this host, on others
    std::vector<Peer> peers_;
    Registrations registrations_;
    SharedHeap heap_;
    Requests requests_;
    Liveness liveness_;
    FrameRings rings_;
    Transfers transfers_;
    RendezvousSender sender_;
    RendezvousReceiver receiver_;
    Notifications notifications_;
    EagerMessages eager_;
    SelfMessages self_;
    Puts puts_;
    Wakes wakes_;
    std::unique_ptr<Datagrams> datagrams_;

    std::vector<std::uint32_t> hosts_;
    std::uint64_t job_ = 0;  // a number that rank 0 drew
    bool any_far_ = false;
    Waiting waiting_ = Waiting::spin;
    std::uint32_t cores_ = 1;
    std::uint32_t looks_ = 0;
};

}  // namespace loom::transport
