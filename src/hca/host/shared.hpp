// What processes of one host show each other. Each segment is a memfd that its owner maps writable and then seals:
// others can only read it. Whatever is read from another process's segment is read once, into a local, and checked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hca/protocol/numbers.hpp"

namespace loom::hca {

constexpr std::uint64_t segment_magic = 0x32534252'45564c4cull;  // changes with the layout

constexpr std::uint32_t mrs_per_process = 1u << 16;
constexpr std::size_t max_sges = 32;  // of one work request

// How bytes went: the paths that counters tell apart.
enum class Way : std::uint8_t { store, direct, target, roce };
constexpr std::size_t ways = 4;

// Of one HCA in one process. Written by the owner alone.
struct PortCounters {
    std::atomic<std::uint64_t> sent_bytes[ways];  // payload of this process's requests, by path
    std::atomic<std::uint64_t>
        received_bytes[ways];  // payload of others' requests; direct writes and reads pass unseen
    std::atomic<std::uint64_t> sent_packets, received_packets;
    std::atomic<std::uint64_t> retransmitted, timeouts, rnr_naks, sequence_naks, dropped, bad_packets, cnp_sent,
        cnp_received;
    std::atomic<std::uint64_t> completion_errors;
};

// Counters have one writer: no locked instruction is needed.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// A queue pair as others see it.
struct QpEntry {
    std::atomic<std::uint64_t> what;   // qpn | state << 24 | type << 32 | remote access << 40; 0: none
    std::atomic<std::uint64_t> whose;  // pd | destination qpn << 32
};

// Registered memory as others see it. `key` is written last when it appears and first when it goes.
struct MrEntry {
    std::atomic<std::uint64_t> key;  // rkey | remote access << 32; 0: none
    std::atomic<std::uint64_t> iova, length, address, pd;
    // Memory that may be mapped: descriptor in the owner's process, what file it is, and where byte 0 lies in it.
    std::atomic<std::uint64_t> share_fd, share_inode, share_offset;
};

struct GroupEntry {
    std::atomic<std::uint64_t> gid[2];
    std::atomic<std::uint64_t> members;  // queue pairs attached; 0: the entry is free
};

constexpr std::size_t max_hcas = 256, max_groups = 256;

struct Directory {
    std::uint64_t magic;
    std::uint32_t slot;
    std::int32_t pid;
    std::uint64_t nonce;
    std::uint32_t hcas;
    alignas(64) std::atomic<std::uint32_t> wake;   // 1: the owner sleeps, ring its bell after writing to it
    alignas(64) std::atomic<std::uint32_t> epoch;  // of deregistrations
    alignas(64) PortCounters counters[max_hcas];
    GroupEntry groups[max_groups];
    QpEntry qps[qps_per_process];
    MrEntry mrs[mrs_per_process];
};

// One message from one process to another: the packet, and its payload when it is short.
struct alignas(64) Entry {
    static constexpr std::uint8_t solicited = 1, ack_request = 2, extended = 4, in_bulk = 8, global = 16, placed = 32,
                                  carried = 64;
    static constexpr std::size_t small_size = 80, extension_size = 32;

    std::atomic<std::uint64_t> tag;  // position + 1, written last
    std::uint8_t op, service, flags, syndrome;
    std::uint32_t dest_qpn, src_qpn, psn;
    std::uint32_t length;  // of the payload
    std::uint32_t imm;
    std::uint32_t qkey_or_msn;
    std::uint32_t bulk;  // where in the bulk ring
    std::uint16_t slid, dlid;
    std::uint32_t spare;
    std::uint8_t small[small_size];  // extension (address, rkey, length, two operands) and short payload
};
static_assert(sizeof(Entry) == 128 && offsetof(Entry, small) == 48);

constexpr std::uint64_t ring_entries = 1024, bulk_bytes = 256 * 1024;
constexpr std::uint32_t ring_mtu = 16384;  // payload of one entry at most

// Memory that the other is expected to read next. Its pages lie in a pipe, which costs the kernel less than to look for
// them in another process's tables. `number` is written last when it appears and first when it goes.
struct alignas(64) Lending {
    std::atomic<std::uint64_t> number;  // 0: nothing is lent here
    std::atomic<std::uint64_t> address, length;
    std::atomic<std::uint64_t> pipe, inode;  // descriptor in the owner's process, and which file that is
};
constexpr std::size_t lendings = 4;

// Everything that one process writes for one other.
struct Outbox {
    std::uint64_t magic;
    alignas(64) std::atomic<std::uint64_t> consumed;  // entries taken from the other's outbox
    std::atomic<std::uint64_t> bulk_consumed;
    alignas(64) std::atomic<std::uint32_t> copying[2];  // copies into the other's memory under way, by epoch
    std::atomic<std::uint32_t> can_pull;                // the owner may read the other's memory
    std::atomic<std::uint64_t> lent_taken[lendings];    // numbers of the other's lendings that were read to their end
    std::array<Lending, lendings> lent;
    alignas(64) std::array<Entry, ring_entries> entries;
    alignas(64) std::array<std::uint8_t, bulk_bytes> bulk;
};

}  // namespace loom::hca
