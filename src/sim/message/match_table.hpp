// Messages and receives that wait for each other, found by (receiving rank, sending rank, tag).
#pragma once

#include <cstdint>
#include <vector>

#include "loom/traffic/schedule.hpp"

namespace loom::sim {

// A queue of operations, linked through an array that the engine keeps.
struct OpQueue {
    static constexpr std::uint32_t none = 0xffffffffu;
    traffic::OpIndex head = none;
    traffic::OpIndex tail = none;
    [[nodiscard]] bool empty() const { return head == none; }
};

// Open addressing with linear probing, at most half full; an entry goes when its queue is empty, so that the table is
// as large as the most that ever waited. 24 bytes a slot.
class MatchTable {
public:
    struct Key {
        std::uint32_t to, from, tag;
        friend bool operator==(const Key&, const Key&) = default;
    };
    enum class Waiting : std::uint32_t { nothing, receives, messages };
    struct Slot {
        Key key{};
        Waiting waiting = Waiting::nothing;
        OpQueue queue;
    };

    // The slot of a key, empty when nothing waits; good until the next call.
    [[nodiscard]] Slot& find(const Key& key) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        return slots_[place(key)];
    }
    // After an empty slot got its first operation.
    void add(Slot& slot, const Key& key, Waiting waiting) {
        slot.key = key;
        slot.waiting = waiting;
        ++used_;
    }
    // After the last operation of a slot was taken: moves those up that had to step over it.
    void remove(Slot& slot) {
        --used_;
        std::size_t hole = static_cast<std::size_t>(&slot - slots_.data());
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = (hole + 1) & mask; slots_[at].waiting != Waiting::nothing; at = (at + 1) & mask) {
            const std::size_t home = hash(slots_[at].key) & mask;
            if (((at - home) & mask) < ((at - hole) & mask)) continue;
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole] = {};
    }
    template <class Visit>
    void visit(const Visit& visit) const {
        for (const Slot& slot : slots_)
            if (slot.waiting != Waiting::nothing) visit(slot);
    }

private:
    static std::size_t hash(const Key& key) {
        std::uint64_t value = (std::uint64_t{key.to} << 32 | key.from) * 0x9e3779b97f4a7c15u;
        value = (value ^ value >> 32 ^ key.tag) * 0xd6e8feb86659fd93u;
        return value >> 24;
    }
    [[nodiscard]] std::size_t place(const Key& key) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash(key) & mask;
        while (slots_[at].waiting != Waiting::nothing && !(slots_[at].key == key)) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.waiting != Waiting::nothing) slots_[place(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace loom::sim
