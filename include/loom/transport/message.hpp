// A started send, receive or put: what the transport keeps about it until it is finished.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loom/base/error.hpp"
#include "loom/base/ids.hpp"

namespace loom::transport {

// What a receive and a send must have in common besides their ranks. Whoever uses a transport divides the bits.
using Tag = Id<struct MessageTagTag, std::uint64_t>;

// A large message under way, as the verbs transport names it to the other rank.
using TransferId = Id<struct TransferIdTag, std::uint64_t>;
inline constexpr TransferId no_transfer{0};

// A rank ended, or can no longer be reached.
class RankLost : public Error {
public:
    RankLost(Rank who, const std::string& why) : Error(why), rank(who) {}
    Rank rank;
};

// Owned by the caller, who keeps it in place and untouched from the start of an operation until it is finished. Free to
// use again then, also inside `finished`.
struct Message {
    enum class Outcome : std::uint8_t {
        pending,
        done,
        mismatched,  // sender and receiver disagree about the length; the memory for it may hold anything
        lost,        // the other rank is gone
    };

    // Must be set. Called once, from progress() or from starting another operation, when an operation that did not
    // finish at once has finished, whatever its outcome; never when starting it answered `true`. May start operations.
    void (*finished)(Message&) = nullptr;
    void* owner = nullptr;    // free for the caller
    std::uint32_t index = 0;  // free for the caller
    // The caller's hint: it and the others of its kind move more than the caches of the host hold together. Where a
    // copy goes past them then is the transport's matter.
    bool past_caches = false;
    // And another: its data lies in huge pages.
    bool huge_pages = false;
    Outcome outcome = Outcome::done;

    // The rest belongs to the transport while the operation is pending.
    Rank peer;
    std::uint32_t pieces = 0;  // of its data, that are under way
    Tag tag;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    TransferId transfer;  // no_transfer: it needs none, or has none yet
    Message* next = nullptr;
    Message* previous = nullptr;
};

}  // namespace loom::transport
