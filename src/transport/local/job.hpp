// The local transport: ranks are threads of one process and share what is declared here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "loom/transport/message_list.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport::local {

// Messages up to this size are copied into the parcel, so that their send is finished at once; the receiver copies
// longer ones from the sender's buffer.
inline constexpr std::uint64_t eager_bytes = 8192;
// And as long as no more than this is on its way from one rank to another, or kept there because nobody asked for it
// yet.
inline constexpr std::uint64_t most_early = 256 << 10;

// What goes from thread to thread.
struct Parcel {
    enum class Kind : std::uint8_t {
        eager,         // payload behind the header
        direct,        // payload still at the sender
        direct_taken,  // the same parcel on its way back: the sender's buffer is free
        notification,
    };
    Parcel* next = nullptr;
    Kind kind = Kind::eager;
    Rank from;
    Tag tag;
    std::uint64_t bytes = 0;
    const std::byte* source = nullptr;                  // of direct
    Message* message = nullptr;                         // of direct, the sender's
    Message::Outcome outcome = Message::Outcome::done;  // of direct_taken
    std::uint64_t value = 0;                            // of notification

    [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Many threads put, one takes everything at once, in the order in which each putter put.
class Inbox {
public:
    Inbox() = default;
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;
    ~Inbox();

    void put(Parcel* parcel);
    [[nodiscard]] Parcel* take();  // a list, oldest first
    [[nodiscard]] bool empty() const { return newest_.load() == nullptr; }

private:
    std::atomic<Parcel*> newest_{nullptr};
};

struct ParcelList {
    Parcel* first = nullptr;
    Parcel* last = nullptr;
    void append(Parcel* parcel);
    [[nodiscard]] Parcel* take(Tag tag);  // the oldest with this tag; null when there is none
};

class Endpoint;

// All ranks. Endpoints live until every thread has ended.
struct Job {
    explicit Job(std::uint32_t ranks);
    ~Job();
    // From the thread of a rank whose body threw.
    void lose(Rank rank);

    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<std::uint32_t> hosts;
    std::vector<std::atomic<bool>> gone;
    std::atomic<std::uint32_t> losses{0};
    static constexpr std::uint32_t nobody = 0xffffffffu;
    std::atomic<std::uint32_t> first_lost{nobody};  // in time
};

class Endpoint final : public Transport {
public:
    Endpoint(Job& job, Rank me);
    ~Endpoint() override;

    [[nodiscard]] std::string_view name() const override { return "local"; }
    [[nodiscard]] std::string description() const override;
    [[nodiscard]] Rank rank() const override { return me_; }
    [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(job_.endpoints.size()); }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const override { return job_.hosts; }

    [[nodiscard]] bool send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) override;
    [[nodiscard]] bool receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) override;

    [[nodiscard]] RemoteMemory expose(std::span<std::byte> memory) override;
    void unexpose(const RemoteMemory& memory) override;
    [[nodiscard]] bool put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                           Message& message) override;
    [[nodiscard]] bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint64_t value, Message& message) override;
    [[nodiscard]] std::optional<Notification> next_notification() override;
    [[nodiscard]] bool get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                           Message& message) override;
    [[nodiscard]] bool atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                              std::uint64_t& before, Message& message) override;
    [[nodiscard]] std::byte* map(Rank, const RemoteMemory& memory) override {
        return reinterpret_cast<std::byte*>(memory.address);
    }

    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes) override;
    void release(std::span<std::byte> memory) override;

    bool progress() override;
    void set_events(bool on) override;
    void sleep(std::chrono::microseconds most) override;
    void interrupt() override;
    [[nodiscard]] std::optional<Rank> lost() const override;
    [[nodiscard]] bool is_lost(Rank who) const override { return job_.gone[who.value].load(); }
    [[nodiscard]] std::string_view lost_why() const override { return "it ended with an exception"; }

private:
    struct Peer {
        MessageList receives;                       // posted, not matched
        MessageList sends;                          // whose payload the peer has not taken yet
        ParcelList unexpected;                      // arrived, not matched
        std::uint64_t given = 0;                    // bytes of parcels with payload that were sent to it, in all
        std::uint64_t used = 0;                     // of those, what it has used up as far as we know
        std::atomic<std::uint64_t> used_of_its{0};  // bytes of its parcels that we have used up, in all; it reads them
    };
    struct Free {
        void operator()(std::byte* memory) const;
    };

    [[nodiscard]] bool may_give(Rank to, std::uint64_t bytes);
    // Whether an access to memory of `whose` is on: else message.outcome says lost. Throws UsageError.
    [[nodiscard]] bool may_access(Rank whose, const RemoteMemory& where, std::uint64_t offset, std::uint64_t bytes,
                                  Message& message) const;
    void deliver(Rank to, Parcel* parcel);
    void arrived(Parcel* parcel);
    // Copies the payload; the parcel goes back to its sender or into the pool.
    void hand_over(Parcel* parcel, Message& message);
    void fail_lost();
    [[nodiscard]] Parcel* new_parcel(std::uint64_t payload);
    void recycle(Parcel* parcel);

    Job& job_;
    Rank me_;
    std::vector<Peer> peers_;
    std::deque<Notification> notifications_;
    std::unordered_map<std::byte*, std::unique_ptr<std::byte[], Free>> allocated_;
    Parcel* pool_ = nullptr;  // of small parcels, all of one size
    std::uint32_t pooled_ = 0;
    std::uint64_t next_key_ = 1;

    alignas(64) Inbox inbox_;
    std::atomic<bool> events_{false};
    std::mutex mutex_;  // of the two below
    std::condition_variable woken_;
    bool signalled_ = false;
};

}  // namespace loom::transport::local
