// A queue between a block and the host: one producer, one consumer, in the consumer's memory or where it reads best.
#pragma once

#include "loom/device/platform.hpp"

namespace loom::device {

// The flag says in which lap the entry was written, so nothing is ever reset.
struct alignas(32) Entry {
    std::uint32_t word[7];
    std::uint32_t flag;
};

struct Ring {
    Entry* entries;         // 1 << bits
    std::uint32_t* tail;    // written by the consumer every half ring, read by a producer who finds the ring full
    std::uint64_t* stamps;  // CPU device with delays: when each entry was written, in ns; else null
    std::uint32_t bits;

    [[nodiscard]] DCUDA_DEVICE std::uint32_t size() const { return 1u << bits; }
    [[nodiscard]] DCUDA_DEVICE std::uint32_t place(std::uint32_t at) const { return at & (size() - 1); }
    [[nodiscard]] DCUDA_DEVICE std::uint32_t lap(std::uint32_t at) const { return (at >> bits) + 1; }
};

// Each end's own count of entries, modulo 2^32.
struct Producer {
    std::uint32_t head;
    std::uint32_t tail;  // as far as it knows
};
struct Consumer {
    std::uint32_t tail;
};

// Costs the reading of a flag over the bus only when the ring seems full.
DCUDA_DEVICE inline bool has_room(const Ring& ring, Producer& producer) {
    if (producer.head - producer.tail < ring.size()) return true;
    producer.tail = load_acquire(ring.tail);
    return producer.head - producer.tail < ring.size();
}

// There must be room. One write of 28 bytes and the flag behind it.
DCUDA_DEVICE inline void push(const Ring& ring, Producer& producer, const Entry& entry) {
    const std::uint32_t at = ring.place(producer.head);
    Entry& to = ring.entries[at];
#if DCUDA_ON_GPU
    *reinterpret_cast<uint4*>(&to.word[0]) = make_uint4(entry.word[0], entry.word[1], entry.word[2], entry.word[3]);
    *reinterpret_cast<uint2*>(&to.word[4]) = make_uint2(entry.word[4], entry.word[5]);
    to.word[6] = entry.word[6];
#else
    std::memcpy(to.word, entry.word, sizeof to.word);
    if (ring.stamps != nullptr) ring.stamps[at] = static_cast<std::uint64_t>(loom::now().ps / 1000);
#endif
    store_release(&to.flag, ring.lap(producer.head));
    ++producer.head;
}

DCUDA_DEVICE inline bool has_entry(const Ring& ring, const Consumer& consumer) {
    return load_acquire(&ring.entries[ring.place(consumer.tail)].flag) == ring.lap(consumer.tail);
}

// There must be one.
DCUDA_DEVICE inline Entry pop(const Ring& ring, Consumer& consumer) {
    const Entry entry = ring.entries[ring.place(consumer.tail)];
    ++consumer.tail;
    if (consumer.tail % (ring.size() / 2) == 0) store_release(ring.tail, consumer.tail);
    return entry;
}

DCUDA_DEVICE inline void set_wide(Entry& entry, int word, std::uint64_t value) {
    entry.word[word] = static_cast<std::uint32_t>(value);
    entry.word[word + 1] = static_cast<std::uint32_t>(value >> 32);
}
DCUDA_DEVICE inline std::uint64_t wide(const Entry& entry, int word) {
    return entry.word[word] | static_cast<std::uint64_t>(entry.word[word + 1]) << 32;
}

}  // namespace loom::device
