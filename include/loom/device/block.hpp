// A block on the CPU device, as the device functions see it.
#pragma once

#include <cstdint>

#include "loom/device/layout.hpp"

struct dcuda_state;

namespace loom::device {

// Where a kernel is: the call that it is in.
struct Place {
    Function function = Function::kernel;
    const char* file = "";
    int line = 0;
};

// What a block waits for.
struct Reason {
    Function function = Function::kernel;
    std::uint32_t tag = 0;
    std::uint32_t count = 0;
    std::int32_t communicator = 0;
};

// Sees what ranks do to each other's memory, for LOOM_DEVICE_CHECK. Ranks are those of the world. `offset` is counted
// in the target's device's memory.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void access(std::uint32_t rank, const void* memory, std::uint64_t bytes, bool write, const Place& at) = 0;
    virtual void local_put(std::uint32_t rank, std::uint32_t target, const void* to, const void* from,
                           std::uint64_t bytes, const Place& at) = 0;
    virtual void remote_put(std::uint32_t rank, std::uint32_t target, std::int32_t window, std::uint64_t offset,
                            const void* from, std::uint64_t bytes, const Place& at) = 0;
    virtual void local_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) = 0;
    virtual void remote_notify(std::uint32_t rank, std::uint32_t target, std::uint32_t tag) = 0;
    virtual void consumed(std::uint32_t rank, std::uint32_t tag, std::uint32_t count) = 0;
    virtual void barrier_entered(std::uint32_t rank, std::int32_t communicator) = 0;
    virtual void barrier_left(std::uint32_t rank, std::int32_t communicator) = 0;
    virtual void flushed(std::uint32_t rank, std::int32_t window) = 0;
    // Of hosts: the oldest remote_notify of the rank that was not issued yet is on its way; the oldest that is on its
    // way from one device to another has arrived.
    virtual void issued(std::uint32_t rank, std::uint32_t from, std::uint32_t to) = 0;
    virtual void arrived(std::uint32_t from, std::uint32_t to) = 0;
};

class Block {
public:
    virtual ~Block() = default;

    // Others run until `ready` answers true. Does not return when the kernel is to end.
    virtual void wait(bool (*ready)(const void*), const void* subject, const Reason& why) = 0;
    // After a fruitless look at something: others may run.
    virtual void let_others(const Reason& why) = 0;
    [[noreturn]] virtual void end() = 0;
    // Something was written that the host, or another block, may wait for.
    virtual void ring() = 0;

    [[nodiscard]] std::uint32_t index() const { return index_; }
    Place place;
    Observer* observer = nullptr;
    const dcuda_state* state = nullptr;      // from dcuda_gpu_init to dcuda_gpu_finish
    std::uint32_t consumed[tag_count] = {};  // by dcuda_gpu_finish: notifications that were used up
    bool finished = false;

protected:
    explicit Block(std::uint32_t index) : index_(index) {}

private:
    std::uint32_t index_;
};

// The block that runs in this thread; null outside of a kernel.
[[nodiscard]] Block* this_block();

}  // namespace loom::device
