// From a handle of the MPI library to what we keep about it.
#pragma once

#include <cstdint>
#include <vector>

namespace loom::mpi {

// Open addressing on a power of two, at most half full, so that a lookup is mostly one comparison. Keys are handles as
// numbers; no_key must not be one. Not thread-safe.
template <class Value>
class Handles {
public:
    static constexpr std::uint64_t no_key = ~std::uint64_t{0};

    Handles() : slots_(64) {}

    [[nodiscard]] Value* find(std::uint64_t key) const {
        for (std::size_t i = place(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].key == key) return slots_[i].value;
            if (slots_[i].key == no_key) return nullptr;
        }
    }

    // Replaces what was there.
    void put(std::uint64_t key, Value* value) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        std::size_t i = place(key);
        while (slots_[i].key != key && slots_[i].key != no_key) i = (i + 1) & (slots_.size() - 1);
        used_ += slots_[i].key == no_key ? 1 : 0;
        slots_[i] = {key, value};
    }

    void remove(std::uint64_t key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t hole = place(key);
        while (slots_[hole].key != key) {
            if (slots_[hole].key == no_key) return;
            hole = (hole + 1) & mask;
        }
        --used_;
        // Whoever was pushed past the hole moves back into it, so that no lookup ends early.
        for (std::size_t i = (hole + 1) & mask; slots_[i].key != no_key; i = (i + 1) & mask)
            if (((i - place(slots_[i].key)) & mask) >= ((i - hole) & mask)) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        slots_[hole] = {};
    }

    template <class Visit>
    void each(Visit&& visit) const {
        for (const Slot& slot : slots_)
            if (slot.key != no_key) visit(*slot.value);
    }

    [[nodiscard]] std::size_t size() const { return used_; }

private:
    struct Slot {
        std::uint64_t key = no_key;
        Value* value = nullptr;
    };

    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (slots_.size() - 1);
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        used_ = 0;
        for (const Slot& slot : old)
            if (slot.key != no_key) put(slot.key, slot.value);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace loom::mpi
