// The transport on MPI point-to-point. Every message begins with a header on one MPI tag, since MPI's tags are too
// narrow for ours; we match on our own. Small messages follow their header at once, large ones come by themselves, on
// an MPI tag that the header names, straight into the receiver's memory. Puts are messages that the target answers.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/transport.hpp"
#include "transport/lists.hpp"
#include "transport/plugin/mpi/library.hpp"

namespace loom::transport::plugin {

class MpiTransport final : public Transport {
public:
    explicit MpiTransport(Bootstrap& bootstrap);
    ~MpiTransport() override;
    MpiTransport(const MpiTransport&) = delete;
    MpiTransport& operator=(const MpiTransport&) = delete;

    [[nodiscard]] std::string_view name() const override { return "mpi"; }
    [[nodiscard]] std::string description() const override;
    [[nodiscard]] Rank rank() const override { return Rank{static_cast<std::uint32_t>(world_.rank())}; }
    [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(world_.size()); }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const override { return hosts_; }
    [[nodiscard]] bool likes_huge_pages() const override { return has_company(hosts_, rank()); }

    [[nodiscard]] bool send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) override;
    [[nodiscard]] bool receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) override;
    [[nodiscard]] RemoteMemory expose(std::span<std::byte> memory) override;
    void unexpose(const RemoteMemory& memory) override;
    [[nodiscard]] bool put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                           Message& message) override;
    [[nodiscard]] bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint32_t value, Message& message) override;
    [[nodiscard]] std::optional<Notification> next_notification() override;
    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes) override;
    void release(std::span<std::byte> memory) override;
    bool progress() override;
    // MPI has nothing that would wake us: sleep() looks up often instead.
    void set_events(bool) override {}
    void sleep(std::chrono::microseconds most) override;
    void interrupt() override;
    [[nodiscard]] std::optional<Rank> lost() const override { return lost_; }
    [[nodiscard]] bool is_lost(Rank who) const override { return peers_[who.value].lost; }
    [[nodiscard]] std::string_view lost_why() const override { return "it ended"; }  // so the launcher said

private:
    static constexpr std::uint64_t eager_limit = 8192;
    static constexpr std::size_t posted_receives = 16;
    // Bytes of small messages that may be on their way to a rank, or be kept there because nobody asked for them yet.
    // Beyond it the data stays with the sender, as that of large ones does.
    static constexpr std::uint64_t most_early = 256 << 10;

    enum class Kind : std::uint32_t { small = 1, large, small_put, large_put, answer, credit };

    struct Header {
        Kind kind = Kind::small;
        std::uint32_t value = 0;      // of a notification; of an answer: whether the put was refused
        std::uint64_t tag = 0;        // of a message
        std::uint64_t bytes = 0;      // of the data
        std::uint64_t place = 0;      // MPI tag of the data of large ones
        std::uint64_t reference = 0;  // of a put, for its answer; of a credit: bytes used up, in all
        std::uint64_t key = 0;        // of a put's memory
        std::uint64_t offset = 0;
        std::uint64_t notifies = 0;
    };
    using Parcel = std::vector<std::byte>;  // a header and what follows it

    struct Unexpected {
        Header header;
        Parcel data;
    };
    struct ArrivedPut {
        std::uint64_t number = 0;
        std::uint64_t pieces = 1;  // that have not come yet
        bool notifies = false;
        std::uint32_t value = 0;
    };
    struct Peer {
        MessageList receives;
        std::deque<Unexpected> unexpected;
        std::uint64_t larges = 0;     // how many we sent, puts included: the place of the next
        std::deque<ArrivedPut> puts;  // until their turn to notify has come
        std::uint64_t puts_begun = 0;
        std::uint64_t given = 0, used = 0;  // bytes of small messages to it, in all, and used up as far as we know
        std::uint64_t used_of_its = 0, credited = 0;  // of its small messages, and as far as it knows
        bool lost = false;
    };
    // What a request of MPI stands for, and what is to be done when it is over.
    struct Pending {
        enum class What : std::uint8_t { parcel, send, receive, put_data } what = What::parcel;
        Rank peer;
        Message* message = nullptr;     // of send and receive
        std::shared_ptr<Parcel> bytes;  // of parcel, and where the data of a refused message goes
        std::uint64_t number = 0;       // of put_data
        Header header;                  // of put_data
        bool refused = false;
    };
    struct Exposed {
        std::byte* data = nullptr;
        std::uint64_t bytes = 0;
    };

    void find_hosts(Bootstrap& bootstrap);
    void post_receive(std::size_t slot);
    void send_parcel(Rank to, const Header& header, std::span<const std::byte> data);
    std::uint64_t send_data(Rank to, std::span<const std::byte> data, Message* message);
    static std::uint64_t pieces_of(std::uint64_t bytes);
    void receive_data(Rank from, const Header& header, std::byte* into, const Pending& pending);
    void receive_large(Rank from, const Header& header, Message& message);
    bool put_anyhow(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                    std::uint32_t value, bool notifies, Message& message);
    std::byte* target_of(const Header& header);
    void take_parcel(Rank from, const Header& header, std::span<const std::byte> data);
    void take_message(Rank from, const Header& header, std::span<const std::byte> data);
    void take_put(Rank from, const Header& header, std::span<const std::byte> data);
    void take_answer(const Header& header);
    void use_up(Rank from, std::uint64_t bytes);
    [[nodiscard]] bool may_give(Peer& peer, std::uint64_t bytes);
    void put_is_there(Rank from, const Header& header, std::uint64_t number, bool refused);
    void take_over(Pending& pending);
    void let_go_of_parcels();
    void look_for_the_lost();
    void lose(Rank who);
    bool is_lost(Rank who, Message& message) const;
    static void finish(Message& message, Message::Outcome outcome);

    Bootstrap& bootstrap_;
    World world_;
    std::uint64_t places_ = 0;  // MPI tags that there are for data
    std::vector<std::uint32_t> hosts_;
    std::vector<Peer> peers_;
    std::vector<Parcel> slots_;
    std::vector<MPI_Request> slot_requests_;
    std::size_t next_slot_ = 0;
    std::vector<MPI_Request> requests_;  // side by side with pending_
    std::vector<Pending> pending_;
    std::vector<std::shared_ptr<Parcel>> spare_;
    std::vector<int> indices_;                          // kept for its memory
    std::unordered_map<std::uint64_t, Message*> puts_;  // by reference, until they are answered
    std::uint64_t next_reference_ = 1;
    std::unordered_map<std::uint64_t, Exposed> exposed_;
    std::uint64_t next_key_ = 1;
    std::deque<Notification> notifications_;
    std::unordered_map<const std::byte*, std::unique_ptr<std::byte[]>> allocated_;
    std::optional<Rank> lost_;
    std::uint32_t looks_ = 0;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool interrupted_ = false;
};

}  // namespace loom::transport::plugin
