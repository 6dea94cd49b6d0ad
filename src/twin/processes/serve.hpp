// Does for a rank that is a process what it asks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "loom/transport/transport.hpp"
#include "loom/transport/values.hpp"
#include "twin/endpoint.hpp"
#include "twin/processes/slot.hpp"

namespace loom::twin {

// What all have put, by rank.
using AllValues = std::vector<transport::Values>;

// The body of the rank's fibre: returns once the process has ended and said before that it was finished, throws
// RankLost when it ended otherwise, Error when it asks for nonsense.
class Server {
public:
    // `gone` says whether a rank's process has ended (any that is not `finished` is lost then).
    Server(Endpoint& endpoint, Slot& slot, AllValues& values, std::function<bool(Rank)> gone)
        : endpoint_(endpoint), slot_(slot), values_(values), gone_(std::move(gone)) {}

    void run();

private:
    // A message of the program, of which we have our own.
    struct Mirror {
        transport::Message message;
        std::uint64_t theirs = 0;
        Server* server = nullptr;
    };

    [[nodiscard]] bool next();
    void begin(const Question& question);
    void begin_put(const Question& question, Mirror& mine);
    void begin_fetch(const Question& question, Mirror& mine);
    void ended(Mirror& mirror);
    void serve(const Question& question);
    void give_ends();
    void fence(const Question& question);
    void give_value(const Question& question);
    [[nodiscard]] Rank rank_of(std::uint64_t number) const;
    [[nodiscard]] Mirror& mirror(std::uint64_t theirs);

    Endpoint& endpoint_;
    Slot& slot_;
    AllValues& values_;
    std::function<bool(Rank)> gone_;
    bool attached_ = false;
    bool finished_ = false;
    std::deque<Mirror> mirrors_;
    std::vector<Mirror*> idle_;
    std::deque<Slot::End> ended_;
    std::string put_so_far_;
};

}  // namespace loom::twin
