// Another process of this user, host and network namespace: our connection to it, the outbox that each writes for the
// other, and what we have mapped of its memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hca/host/shared.hpp"

namespace loom::hca {

struct Qp;

struct Peer {
    enum class State : std::uint8_t { connecting, up, dead } state = State::connecting;
    std::uint32_t slot = 0;
    std::uint64_t nonce = 0;
    bool self = false;
    bool can_copy = false;  // process_vm_* works from here
    pid_t pid = 0;
    int socket = -1, pidfd = -1, out_fd = -1;
    int ignored = -1;       // the socket of its call, when ours counts
    bool said_bye = false;  // it ended in order
    bool leaving = false;
    bool was_waited_for = false;           // long enough, by datagrams to a group
    bool broken = false;                   // it says what cannot be
    const Directory* directory = nullptr;  // theirs
    Outbox* out = nullptr;                 // ours
    const Outbox* in = nullptr;            // theirs

    // As producer.
    std::uint64_t tail = 0, taken = 0;            // entries written; of these known to be consumed
    std::uint64_t bulk_tail = 0, bulk_taken = 0;  // bytes
    // As consumer.
    std::uint64_t head = 0, bulk_head = 0;

    bool touched = false;
    std::vector<Qp*> blocked;  // queue pairs that wait for room, for the connection, or for order

    std::vector<std::vector<std::uint8_t>> held;  // datagrams for it that came before it was up

    struct Mapping {
        std::uint8_t* base = nullptr;
        std::size_t length = 0;
    };
    std::uint64_t last_inode = 0;  // of the mapping used last; 0: none
    Mapping last_mapping;
    std::unordered_map<std::uint64_t, Mapping> mappings;  // of their shared memory, by inode

    void forget_mappings();

    // Pipes for what is lent to it and by it, one for each Lending: ours (loans.cpp) and theirs (lending.cpp).
    struct Pipe {
        int fd = -1;    // to read from
        int into = -1;  // to lend into, of ours
        std::uint64_t inode = 0;
        QpNumber qpn;             // whose loan it is
        std::uint32_t pages = 0;  // that have room
        // Of ours: what is lent in it now, 0 when it is free; of theirs: the last that was tried.
        std::uint64_t number = 0;
        void close();
    };
    std::array<Pipe, lendings> ours, theirs;
    std::uint32_t close_pipes();           // the pages that ours had room for
    std::uint64_t lent = 0;                // number of the last lending
    std::uint32_t untaken = 0, pause = 0;  // lendings in a row that it did not want; how many more it is spared

    Peer() = default;
    Peer(const Peer&) = delete;
    ~Peer();
    // Something was written that has not been taken in.
    [[nodiscard]] bool has_mail() const {
        return in->entries[head & (ring_entries - 1)].tag.load(std::memory_order_relaxed) == head + 1;
    }
    [[nodiscard]] bool has_ended() const;  // as the kernel knows it
    bool room(std::uint32_t payload);      // for one more entry with that much payload (wire/ring.cpp)
};

}  // namespace loom::hca
