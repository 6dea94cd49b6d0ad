// Puts, gets and atomics: messages that the target carries out itself and answers, and the notifications of puts.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "loom/transport/transport.hpp"
#include "transport/plugin/mpi/requests.hpp"

namespace loom::transport::plugin {

// Owns what is known of puts in both directions, and of the memory that others may put into.
class Puts {
public:
    Puts(Requests& requests, std::uint32_t ranks) : requests_(requests), arrived_(ranks) {}

    [[nodiscard]] RemoteMemory expose(std::span<std::byte> memory);
    void unexpose(const RemoteMemory& memory) { exposed_.erase(memory.key); }

    // Without `value` nobody is notified. Finished by the answer.
    void start(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
               std::optional<std::uint64_t> value, Message& message);
    // Finished by what comes back.
    void start_get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                   Message& message);
    void start_atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                      std::uint64_t& before, Message& message);
    void take_answer(Rank from, const Header& header);
    void take_got(Rank from, const Header& header, std::span<const std::byte> data);

    void take(Rank from, const Header& header, std::span<const std::byte> data);
    void serve_get(Rank from, const Header& header);
    void serve_atomic(Rank from, const Header& header);
    void take_data(const Pending& pending);  // a piece of a large one is there
    [[nodiscard]] std::optional<Notification> next_notification();

    // Those to the rank, which will not be answered any more.
    void forget(Rank who, std::vector<Message*>& over);

private:
    struct Exposed {
        std::byte* data = nullptr;
        std::uint64_t bytes = 0;
    };
    struct Arrived {
        std::uint64_t number = 0;
        std::uint64_t pieces = 1;  // that have not come yet
        std::uint64_t reference = 0;
        bool refused = false;
        bool notifies = false;
        std::uint64_t value = 0;
        Parcel data = {};  // of a small one behind a large one, which must not overtake it
        std::byte* into = nullptr;
    };
    struct Arrivals {
        std::deque<Arrived> waiting;  // until their turn to notify has come
        std::uint64_t begun = 0;
    };

    [[nodiscard]] std::byte* target_of(const Header& header) const;
    [[nodiscard]] std::uint64_t open(Rank with, Message& message);
    [[nodiscard]] Message* close(Rank with, const Header& header);
    void answer(Rank to, std::uint64_t reference, bool refused);
    void is_there(Rank from, std::uint64_t number);

    Requests& requests_;
    std::vector<Arrivals> arrived_;                     // by rank
    std::unordered_map<std::uint64_t, Message*> open_;  // by reference, until they are answered
    std::uint64_t next_reference_ = 1;
    std::unordered_map<std::uint64_t, Exposed> exposed_;
    std::uint64_t next_key_ = 1;
    std::deque<Notification> notifications_;
};

}  // namespace loom::transport::plugin
