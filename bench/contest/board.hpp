// Memory that loom_bench shares with the ranks of one contestant: orders one way, times the other, and a place where
// the ranks meet that is the same for every library. Ranks that have nothing to do sleep, so that several contestants
// can be there at once and take turns within milliseconds.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "contest/library.hpp"

namespace loom::bench::coll {

inline constexpr std::uint32_t most_ranks = 16;
inline constexpr std::uint32_t most_rounds = 1024;
inline constexpr std::uint32_t everyone = ~std::uint32_t{0};

enum class Task : std::uint32_t {
    check,             // run once and look at every byte
    time,              // start and wait, again and again
    overlap_fixed,     // start, a fixed amount of work, wait; and the same work alone
    overlap_deadline,  // start, work until a deadline, wait
    leave,
};

struct Order {
    Task task = Task::leave;
    Operation operation = Operation::barrier;
    std::uint64_t bytes = 0;
    Kept kept = Kept::fresh;
    Progress progress = Progress::manual;
    double seconds = 0;       // to go on for, at least `least` rounds
    std::uint32_t least = 1;  // rounds after the first, which is not counted
    double work_seconds = 0;  // overlap: how long to compute
    std::uint32_t tests = 0;  // overlap: how often to test meanwhile
    // A rank, or everyone. A rank that computes alone has a core for that and nothing else; on another core are the
    // threads of its library and the whole other ranks, who sleep while they would compute: as if every rank had a
    // core to spare, on a machine that has too few for that.
    std::uint32_t computing = everyone;
};

// Seconds. Of each round the slowest rank counts, or beside work the one that computes alone; then the mean of the
// rounds, the extreme ones left out while every rank has a core.
struct Answer {
    std::uint32_t rounds = 0;
    double total = 0;      // from before the start until after the wait
    double start = 0;      // in the call that starts: median of all ranks and rounds
    double work = 0;       // overlap: the work alone
    double calls = 0;      // overlap: in calls of the library
    double processor = 0;  // overlap: processor time of all ranks per round, their threads included
};

struct Round {
    double total, start, work, calls;
};

struct Board {
    // The coordinator's order and the ranks' answer; both counters are futexes.
    std::atomic<std::uint32_t> ordered{0};
    std::atomic<std::uint32_t> answered{0};  // ranks that are ready, once for coming up and once for each order
    Order order;
    Answer answer;
    std::atomic<std::uint32_t> failed{0};
    std::array<char, 512> failure{};
    std::array<char, 256> description{};

    alignas(64) std::atomic<std::uint32_t> arrived{0};
    alignas(64) std::atomic<std::uint32_t> generation{0};
    std::chrono::steady_clock::time_point begin{};      // of the round for which the ranks have met
    alignas(64) std::atomic<std::uint32_t> stop_at{0};  // the round that does not take place any more
    alignas(64) std::array<std::array<Round, most_rounds>, most_ranks> rounds;
    std::array<double, most_ranks> processor{};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// A board in a file: made by the coordinator, opened by ranks. Throws std::runtime_error.
class BoardFile {
public:
    enum class How : unsigned char { make, open };
    BoardFile(const std::filesystem::path& path, How how);
    BoardFile(const BoardFile&) = delete;
    BoardFile& operator=(const BoardFile&) = delete;
    ~BoardFile();
    [[nodiscard]] Board& operator*() const { return *board_; }
    [[nodiscard]] Board* operator->() const { return board_; }

private:
    Board* board_;
};

// Sleeps until the counter differs from `seen` or the time is up; false then.
bool await_change(const std::atomic<std::uint32_t>& counter, std::uint32_t seen, double seconds);
void wake_all(std::atomic<std::uint32_t>& counter);

// Keeps the first complaint.
void fail(Board& board, const std::string& why);

}  // namespace loom::bench::coll
