// Messages of the same two ranks in the order of their sends, where the network lets them overtake each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "twin/waiting_messages.hpp"

namespace loom::twin {

// One rank's: as a sender it numbers its messages, as a receiver it holds back those that come too soon.
class InOrder {
public:
    [[nodiscard]] std::uint64_t number(Rank to) { return sent_[to.value]++; }

    [[nodiscard]] bool is_due(Rank from, std::uint64_t number) { return passages_[from.value].due == number; }
    // Null: nobody will want it, but it has its turn.
    void hold(Rank from, std::uint64_t number, std::unique_ptr<Early> message) {
        passages_[from.value].held.emplace(number, std::move(message));
    }
    // The one that was due has come: calls `deliver` with those whose turn it is now.
    template <class Deliver>
    void pass(Rank from, Deliver deliver) {
        Passage& passage = passages_[from.value];
        for (++passage.due; !passage.held.empty() && passage.held.begin()->first == passage.due; ++passage.due) {
            std::unique_ptr<Early> next = std::move(passage.held.begin()->second);
            passage.held.erase(passage.held.begin());
            if (next != nullptr) deliver(std::move(next));
        }
    }

private:
    struct Passage {
        std::uint64_t due = 0;
        std::map<std::uint64_t, std::unique_ptr<Early>> held;  // by number
    };
    std::unordered_map<std::uint32_t, std::uint64_t> sent_;  // by receiver
    std::unordered_map<std::uint32_t, Passage> passages_;    // by sender
};

}  // namespace loom::twin
