// What to do between two looks that found nothing: spin while every rank of the host has a core, yield otherwise; in
// virtual time block.
#pragma once

#include <cstdint>
#include <span>

#include "loom/base/ids.hpp"

namespace loom::transport {

class Transport;

enum class Waiting : std::uint8_t {
    spin,
    yield,
    block,  // a transport in virtual time: Transport::rest() returns when something has come. Nobody can ask for it
};

// The cores that a process may run on, as bits by number (the first 1,024).
struct CoreSet {
    std::uint64_t words[16] = {};
    friend bool operator==(const CoreSet&, const CoreSet&) = default;
};
[[nodiscard]] CoreSet own_cores();  // read once
[[nodiscard]] std::uint32_t count(const CoreSet& cores);
[[nodiscard]] std::uint32_t usable_cores();  // of own_cores()

// yield when more ranks share our host than there are cores for them; LOOM_WAITING=spin|yield decides otherwise. Ranks
// that are bound to a core each know less than a core for all: `together` are the cores of all ranks of our host.
[[nodiscard]] Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank, const CoreSet& together);
[[nodiscard]] Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank);  // all run where we run

// Once between two looks. A pause instruction or a system call; block: as yield, of those who know no transport.
void pause(Waiting how);

// The pauses of one wait. A long one sleeps now and then even where every rank has a core, for some 75 us after a
// millisecond or more: the HCA's thread comes and goes more often than slices end, Linux (6.18) gives the core back to
// the one that spins each time, and kernel threads of that core had no turn for 0.4 s and longer. A rank that moved its
// memory to huge pages, which needs one of every core, waited for them, and everybody for that rank.
class Pauses {
public:
    explicit Pauses(Waiting how) : how_(how) {}
    // Of somebody who waits for nothing but this transport, whose waiting() is `how`.
    Pauses(Waiting how, Transport& transport) : how_(how), transport_(&transport) {}
    void next() {
        if (how_ == Waiting::spin) {
            if (++looks_ % looks_between_naps == 0) [[unlikely]]
                return nap();
        } else if (how_ == Waiting::block) {
            return rest();
        }
        pause(how_);
    }

    static constexpr std::uint32_t looks_between_naps = 1u << 14;  // of 50 ns and more

private:
    static void nap();
    void rest() const;

    Waiting how_;
    std::uint32_t looks_ = 0;
    Transport* transport_ = nullptr;
};

}  // namespace loom::transport
