// Measures the costs of messages between rank 0 and others, by round trips of n messages of s bytes (Hoefler 2008,
// II.2.4), with few messages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "coll/talk.hpp"
#include "coll/trips.hpp"
#include "loom/model/walk.hpp"

namespace loom::coll {

// What rank 0 asks of another. Sent as bytes between processes of one build.
struct Command {
    enum class Kind : std::uint32_t {
        rounds,  // `rounds` times: receive `count` messages of `bytes`, answer with one of them
        take,    // receive one of `bytes` that was sent before
        end,     // what was decided follows, `bytes` long
    };
    Kind kind = Kind::end;
    std::uint32_t count = 0;
    std::uint32_t rounds = 0;
    std::uint32_t shared = 0;  // receive into memory of Transport::allocate
    std::uint64_t bytes = 0;
};

// Serves rank 0 until it says the end, and answers with what it decided.
[[nodiscard]] std::vector<std::byte> serve(Talk& talk);
// On rank 0: the end, and what it decided.
void tell_all(Talk& talk, std::string_view text);

// On rank 0: round trips with a partner that serves. Each takes some milliseconds at most, and three rounds.
[[nodiscard]] std::unique_ptr<Trips> make_meter(Talk& talk, Rank partner);
// The lower quartile: others on the machine only ever make things slower. Of at least one; changes their order.
[[nodiscard]] Time typical(std::vector<Time>& times);

// On rank 0, with at least one other, who serve. All other ranks wait meanwhile as they would in a collective: with
// more ranks than cores a dependency then costs what it really does, the turns of those who look in vain.
// Nothing when the machine is too busy with other things to tell.
[[nodiscard]] std::optional<model::Charges> measure(Talk& talk);

}  // namespace loom::coll
