// Receives that wait for messages, and messages that wait for receives, of one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "loom/sim/live.hpp"
#include "loom/transport/message.hpp"

namespace loom::twin {

struct Outgoing;

// A message that came before its receive.
struct Early {
    Rank peer;
    transport::Tag tag;
    std::uint64_t bytes = 0;
    std::unique_ptr<std::byte[]> data;
    bool counted_by_sender = false;
    Outgoing* held = nullptr;  // the data is still the sender's
    sim::LiveMessage name;
    std::uint64_t number = 0;  // in the order of arrival
    Early* next = nullptr;
};

// First in, first out among those of one rank and tag. Linked through `next`; a table of as many rows as there are
// entries at most, so that a rank that talks to all others finds each in one step.
template <class Entry>
class WaitingMessages {
public:
    void push(Entry& entry) {
        if (count_ == rows_.size()) grow();
        append(entry);
        ++count_;
    }
    // The oldest; null when there is none.
    Entry* take(Rank peer, transport::Tag tag) {
        if (count_ == 0) return nullptr;
        for (Entry** at = &row(peer, tag); *at != nullptr; at = &(*at)->next) {
            Entry* const found = *at;
            if (found->peer != peer || found->tag != tag) continue;
            *at = found->next;
            --count_;
            return found;
        }
        return nullptr;
    }
    // Takes out all for which `wanted` says so, and calls `take` with each.
    template <class Wanted, class Take>
    void take_if(Wanted wanted, Take take) {
        for (Entry*& first : rows_)
            for (Entry** at = &first; *at != nullptr;) {
                Entry* const entry = *at;
                if (!wanted(*entry)) {
                    at = &entry->next;
                    continue;
                }
                *at = entry->next;
                --count_;
                take(*entry);
            }
    }
    // Forgets all, without looking at any.
    void clear() {
        rows_.clear();
        count_ = 0;
    }
    template <class Visit>
    void visit(Visit visit) const {
        for (const Entry* entry : rows_)
            for (; entry != nullptr; entry = entry->next) visit(*entry);
    }
    // At least those of this rank and tag.
    template <class Visit>
    void visit_row(Rank peer, transport::Tag tag, Visit visit) const {
        if (count_ == 0) return;
        for (const Entry* entry = rows_[place(peer, tag)]; entry != nullptr; entry = entry->next) visit(*entry);
    }
    [[nodiscard]] std::size_t size() const { return count_; }

private:
    [[nodiscard]] std::size_t place(Rank peer, transport::Tag tag) const {
        const std::uint64_t mixed = (tag.value + peer.value * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
        return (mixed >> 32) & (rows_.size() - 1);
    }
    [[nodiscard]] Entry*& row(Rank peer, transport::Tag tag) { return rows_[place(peer, tag)]; }
    void append(Entry& entry) {
        entry.next = nullptr;
        Entry** at = &row(entry.peer, entry.tag);
        while (*at != nullptr) at = &(*at)->next;
        *at = &entry;
    }
    void grow() {
        std::vector<Entry*> old(rows_.empty() ? 4 : 2 * rows_.size());
        old.swap(rows_);
        for (Entry* entry : old)
            while (entry != nullptr) {
                Entry* const next = entry->next;
                append(*entry);
                entry = next;
            }
    }

    std::vector<Entry*> rows_;  // a power of two
    std::size_t count_ = 0;
};

}  // namespace loom::twin
