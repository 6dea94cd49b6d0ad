// Puts: messages that the target stores away itself and answers, and the notifications that come with them.
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
               std::optional<std::uint32_t> value, Message& message);
    void take_answer(const Header& header);

    void take(Rank from, const Header& header, std::span<const std::byte> data);
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
        bool notifies = false;
        std::uint32_t value = 0;
    };
    struct Arrivals {
        std::deque<Arrived> waiting;  // until their turn to notify has come
        std::uint64_t begun = 0;
    };

    [[nodiscard]] std::byte* target_of(const Header& header) const;
    void is_there(Rank from, const Header& header, std::uint64_t number, bool refused);

    Requests& requests_;
    std::vector<Arrivals> arrived_;                     // by rank
    std::unordered_map<std::uint64_t, Message*> open_;  // by reference, until they are answered
    std::uint64_t next_reference_ = 1;
    std::unordered_map<std::uint64_t, Exposed> exposed_;
    std::uint64_t next_key_ = 1;
    std::deque<Notification> notifications_;
};

}  // namespace loom::transport::plugin
