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
#include "loom/transport/message_list.hpp"
#include "loom/transport/transport.hpp"
#include "transport/plugin/mpi/library.hpp"
#include "transport/plugin/mpi/puts.hpp"
#include "transport/plugin/mpi/requests.hpp"

namespace loom::transport::plugin {

class MpiTransport final : public Transport, private Requests::Handler {
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
    [[nodiscard]] RemoteMemory expose(std::span<std::byte> memory) override { return puts_.expose(memory); }
    void unexpose(const RemoteMemory& memory) override { puts_.unexpose(memory); }
    [[nodiscard]] bool put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                           Message& message) override;
    [[nodiscard]] bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint64_t value, Message& message) override;
    [[nodiscard]] bool get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                           Message& message) override;
    [[nodiscard]] bool atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                              std::uint64_t& before, Message& message) override;
    [[nodiscard]] std::optional<Notification> next_notification() override { return puts_.next_notification(); }
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
    // Bytes of small messages that may be on their way to a rank, or be kept there because nobody asked for them yet.
    // Beyond it the data stays with the sender, as that of large ones does.
    static constexpr std::uint64_t most_early = 256 << 10;

    struct Unexpected {
        Header header;
        Parcel data;
    };
    struct Peer {
        MessageList receives;
        std::deque<Unexpected> unexpected;
        std::uint64_t given = 0, used = 0;  // bytes of small messages to it, in all, and used up as far as we know
        std::uint64_t used_of_its = 0, credited = 0;  // of its small messages, and as far as it knows
        bool lost = false;
    };

    void find_hosts(Bootstrap& bootstrap);
    void receive_large(Rank from, const Header& header, Message& message);
    void take_parcel(Rank from, const Header& header, std::span<const std::byte> data) override;
    void take_message(Rank from, const Header& header, std::span<const std::byte> data);
    void take_over(Pending& pending) override;
    void use_up(Rank from, std::uint64_t bytes);
    [[nodiscard]] bool may_give(Peer& peer, std::uint64_t bytes);
    void look_for_the_lost();
    void lose(Rank who);
    bool is_lost(Rank who, Message& message) const;

    Bootstrap& bootstrap_;
    World world_;
    Requests requests_;
    Puts puts_;
    std::vector<std::uint32_t> hosts_;
    std::vector<Peer> peers_;
    std::unordered_map<const std::byte*, std::unique_ptr<std::byte[]>> allocated_;
    std::optional<Rank> lost_;
    std::uint32_t looks_ = 0;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool interrupted_ = false;
};

}  // namespace loom::transport::plugin
