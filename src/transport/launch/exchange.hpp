// The launcher's side of the bootstrap, apart from sockets and processes: who has put what, and who waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "transport/launch/packet.hpp"

namespace loom::transport::launching {

class Exchange {
public:
    using Send = std::function<void(Rank to, const Packet&)>;

    Exchange(std::uint32_t ranks, Send send) : ranks_(ranks), send_(std::move(send)) {}

    // A packet came from `from`. Anything is answered, nonsense with `failed`.
    void handle(Rank from, const Packet& packet);
    // The process of `who` has ended; `how` follows its name in what the others are told. They are told that it is
    // lost unless it was finished (`forgiven`: or has ended well without ever joining).
    void ended(Rank who, const std::string& how, bool forgiven);

    [[nodiscard]] bool joined(Rank rank) const { return ranks_[rank.value].joined; }
    [[nodiscard]] bool finished(Rank rank) const { return ranks_[rank.value].finished; }

private:
    struct Member {
        std::map<std::string, std::string, std::less<>> values;
        std::size_t bytes = 0;
        bool joined = false;
        bool finished = false;
        bool waiting = false;  // in the fence
        bool ended = false;
        bool lost = false;  // ended, and others miss it
        std::string how;
        std::string complaint;  // about a put, told at the next fence
    };

    void put(Member& member, const Packet& packet);
    void get(Rank from, const Packet& packet);
    void try_fence();
    void fail(Rank to, const std::string& why);

    std::vector<Member> ranks_;
    std::optional<Rank> gone_;  // because of whom a fence can no longer come about: the first that was lost, if any was
    Send send_;
};

}  // namespace loom::transport::launching
