// Messages between the ranks of a team for what all of them do together.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/transport/transport.hpp"

namespace loom::window {

// No communicator of collectives has this context: their tags and ours never meet.
inline constexpr std::uint64_t message_context = 13;
inline constexpr std::uint32_t most_teams = (1u << 20) - 1;

// One message with its memory.
struct Parcel {
    transport::Message message;
    std::vector<std::byte> data;
    bool ended = false;
};

// Messages that are under way together.
class Parcels {
public:
    explicit Parcels(transport::Transport& transport) : transport_(transport) {}

    // `team` and `round` say what it is about.
    void send(Rank to, std::uint32_t team, std::uint32_t round, std::span<const std::byte> data);
    [[nodiscard]] Parcel& receive(Rank from, std::uint32_t team, std::uint32_t round, std::uint64_t bytes);

    // Whether all have ended; those that have are forgotten with the next clear().
    [[nodiscard]] bool ended();
    // Throws RankLost or Error when one ended otherwise than well.
    void check() const;
    void clear() { open_.clear(); }
    // Those under way stay for ever: nobody may take their memory from the transport.
    void abandon();

private:
    [[nodiscard]] Parcel& make(Rank peer);
    transport::Transport& transport_;
    std::list<Parcel> open_;
};

}  // namespace loom::window
