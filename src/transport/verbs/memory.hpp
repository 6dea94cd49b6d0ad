// Memory that adapters may use: our own in memfds, which peers of this host reach with plain stores, and the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "transport/verbs/device.hpp"

namespace loom::transport {

// Zeroed, page-aligned, in a memfd that cannot shrink, registered for everything. Throws Error.
class SharedMemory {
public:
    SharedMemory(const Device& device, std::size_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return {base_, bytes_}; }
    [[nodiscard]] const ibv_mr& mr() const { return *mr_; }

    // Gives these bytes, still all zero, their pages now, so that nobody waits for the kernel at the first touch. Both
    // are multiples of 4096. Costs about a microsecond a page.
    void provide(std::uint64_t offset, std::uint64_t bytes);

private:
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
    MrPtr mr_;
};

class Registrations;

// Pieces of shared memory for whoever asks, out of few large ones: each costs a descriptor.
class SharedHeap {
public:
    SharedHeap(const Device& device, Registrations& registrations) : device_(device), registrations_(registrations) {}

    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes);  // 64-byte aligned, of any content. Throws Error.
    void release(std::span<std::byte> memory);

private:
    struct Chunk {
        std::unique_ptr<SharedMemory> memory;
        std::map<std::uint64_t, std::uint64_t> free;  // bytes by offset; neighbours are one
    };
    const Device& device_;
    Registrations& registrations_;
    std::vector<Chunk> chunks_;
};

// A registration that somebody uses.
struct Registration {
    MrPtr mr;
    std::uint64_t begin, end;
    bool writable;
    bool shared = false;  // others of this host reach the memory with plain stores
    std::uint32_t users = 0;
    std::list<Registration>::iterator self{};
};

// Registrations of the program's memory, kept for the next use. On the software HCA a registration names addresses and
// pins nothing, so that memory which was given back and taken again stays right; a real adapter would go on using the
// old pages, and there every use registers anew (LOOM_REGISTRATION_CACHE=on|off decides otherwise).
class Registrations {
public:
    explicit Registrations(const Device& device);

    // Holds the registration until release(). Throws Error when the memory cannot be registered. A hit costs a search
    // in a tree; the last one used costs less.
    [[nodiscard]] Registration& acquire(std::span<const std::byte> memory, bool writable);
    // The same, of a registration of this memory's pages alone: for peers that are given its key.
    [[nodiscard]] Registration& acquire_exactly(std::span<const std::byte> memory, bool writable);
    void release(Registration& registration);
    // Our own memory, registered as long as it lives.
    void adopt(SharedMemory& memory);
    // The memory goes away: registrations of it that nobody holds must not serve what will be at these addresses next.
    void forget(std::span<const std::byte> memory);

    // Off: every registration has what was asked for and no more.
    void take_whole_mappings(bool on) { whole_mappings_ = on; }
    [[nodiscard]] std::uint64_t made() const { return made_; }  // how often one had to be made

private:
    [[nodiscard]] Registration& make_around(std::uint64_t address, std::uint64_t end, bool writable);
    [[nodiscard]] Registration& make(std::uint64_t begin, std::uint64_t end, bool writable);
    void drop(Registration& registration);

    const Device& device_;
    bool keep_;
    bool whole_mappings_;
    std::list<Registration> entries_;  // the last used first
    std::multimap<std::uint64_t, Registration*> by_begin_;
    Registration* last_ = nullptr;
    std::vector<Registration*> adopted_;
    std::uint64_t made_ = 0;
};

}  // namespace loom::transport
