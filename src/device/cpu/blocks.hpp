// The blocks of a kernel on the CPU device: fibres that stop where they wait.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/cpu/bell.hpp"
#include "loom/base/fibre.hpp"
#include "loom/device/block.hpp"
#include "loom/device/dcuda.hpp"

namespace loom::device {

struct BlockEnded {};  // thrown through a kernel that is to end

class CpuBlock final : public Block {
public:
    CpuBlock(std::uint32_t index, std::uint64_t stack, dcuda_kernel_t kernel, dcuda_context& context, Bell& bell);

    void wait(bool (*ready)(const void*), const void* subject, const Reason& why) override;
    void let_others(const Reason& why) override;
    [[noreturn]] void end() override { throw BlockEnded{}; }
    void ring() override { bell_.ring(); }

    // Lets it run if it can; false: it did not, or only looked at something in vain.
    bool step();
    [[nodiscard]] bool ended() const { return fibre_.ended(); }
    // What it waits for, or looked for in vain.
    [[nodiscard]] std::optional<Reason> waits() const;
    // It goes on although what it waits for is not there: to see what would happen then.
    void release() { released_ = true; }
    [[nodiscard]] std::exception_ptr thrown() const { return thrown_; }

private:
    void run(dcuda_kernel_t kernel);
    void stop_here();

    dcuda_context& context_;
    Bell& bell_;
    bool (*ready_)(const void*) = nullptr;
    const void* subject_ = nullptr;
    Reason why_;
    bool looked_ = false, released_ = false;
    std::exception_ptr thrown_;
    Fibre fibre_;
};

// Throws nothing but what `allocate` of the stacks does.
class Blocks {
public:
    Blocks(std::uint32_t count, std::uint64_t stack, dcuda_kernel_t kernel, dcuda_context& context, Bell& bell,
           Observer* observer);
    ~Blocks();

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }
    [[nodiscard]] CpuBlock& operator[](std::uint32_t index) { return *blocks_[index]; }
    // The blocks first, first + every, ...: one thread's part. True: one of them moved.
    bool step(std::uint32_t first, std::uint32_t every);
    [[nodiscard]] bool ended(std::uint32_t first = 0, std::uint32_t every = 1) const;
    // Of all blocks, the first.
    [[nodiscard]] std::exception_ptr thrown() const;

private:
    dcuda_context& context_;
    std::vector<std::unique_ptr<CpuBlock>> blocks_;
};

}  // namespace loom::device
