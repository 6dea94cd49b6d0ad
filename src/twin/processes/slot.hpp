// What a rank that is a process and the simulation share: a page or five, and whose turn it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace loom::twin {

enum class Turn : std::uint32_t { program, simulation };

// What the program asks. Arguments in the order in which they stand in Question::arguments.
enum class Ask : std::uint32_t {
    attach,   // its process
    compute,  // nothing more: the time ahead is all
    send,     // to, tag, address, bytes, message
    receive,  // from, tag, address, bytes, message
    work,     // kind, amount, message
    put,      // to, address, bytes, offset, message, key, bytes exposed, whether it notifies, value
    fetch,    // from, address, bytes, offset, message, key, bytes exposed and where, how (FetchKind), operand, expected
    progress,   // the ends come with every answer
    rest,       //
    sleep_for,  // microseconds, while nothing comes
    sleep,      // until, ps
    expose,     // address, bytes; answers a key
    unexpose,   // key
    notified,   // answers whether there is one, from, value
    lost,       // who; answers whether
    fence,      // the values put so far are in `text`: bytes of them, and whether this is the last part
    get,        // of, offset; answers whether there is one, bytes in all and in this part of them in `text`
    finished,   // it needs nobody any more
};

enum class FetchKind : std::uint64_t { get, fetch_add, compare_swap };

struct Question {
    Ask ask = Ask::attach;
    std::uint64_t arguments[11] = {};
};

// One for each rank, in memory that the launcher makes and the program maps. Whoever has the turn may touch the rest.
struct alignas(64) Slot {
    static constexpr std::uint32_t most_posted = 32;
    static constexpr std::uint32_t most_ends = 64;
    static constexpr std::size_t most_text = 8192;

    std::atomic<std::uint32_t> turn{0};
    std::atomic<std::uint32_t> stopped{0};  // the job comes to no end, or is over: nobody answers any more
    std::atomic<std::int64_t> now{0};       // virtual, ps; read at any time
    std::int64_t ahead = 0;                 // ps that the program has computed since its last turn, before it posted
    // Sends, receives, work and puts that were begun since, in their order; then what is to be answered.
    std::uint32_t posted = 0;
    Question post[most_posted] = {};
    Question question;
    std::uint64_t answers[4] = {};
    std::uint32_t any_lost = 0, first_lost = 0;
    // Of messages that have ended, in their order; more may follow with the next answer.
    struct End {
        std::uint64_t message;
        std::uint32_t outcome;
    };
    std::uint32_t ends = 0;
    End end[most_ends] = {};
    char text[most_text] = {};
};

// The whole file: this, then the slots.
struct SlotsHeader {
    static constexpr std::uint32_t current_version = 3;
    std::uint32_t version = current_version;
    std::uint32_t ranks = 0;
    std::int64_t look = 0;       // ps: what reading the clock costs
    double processor = 0;        // factor of measured processor time; 0: not measured
    std::uint64_t hosts_at = 0;  // bytes from the beginning: of each rank
    std::uint64_t slots_at = 0;
    std::uint64_t bytes = 0;  // of the file
    std::uint32_t level = 0;
    char parameters[4096] = {};  // what coll chooses by, as text
};

// Sleeps while the turn is not `wanted`; false when `milliseconds` have passed (0: never).
bool wait_for_turn(const Slot& slot, Turn wanted, unsigned milliseconds);
void give_turn(Slot& slot, Turn to);

}  // namespace loom::twin
