#include "device/cpu/blocks.hpp"

namespace loom::device {

namespace {

thread_local Block* current = nullptr;

}  // namespace

Block* this_block() {
    return current;
}

CpuBlock::CpuBlock(std::uint32_t index, std::uint64_t stack, dcuda_kernel_t kernel, dcuda_context& context, Bell& bell)
    : Block(index), context_(context), bell_(bell), fibre_(stack, [this, kernel] { run(kernel); }) {}

void CpuBlock::run(dcuda_kernel_t kernel) {
    try {
        kernel(&context_);
    } catch (const BlockEnded&) {
    } catch (...) {
        thrown_ = std::current_exception();
        store_release(context_.ended, 1u);
    }
    state = nullptr;  // it was on this stack
    bell_.ring();
}

void CpuBlock::stop_here() {
    fibre_.yield();
    if (load_acquire(context_.ended) != 0) end();
}

void CpuBlock::wait(bool (*ready)(const void*), const void* subject, const Reason& why) {
    why_ = why;
    subject_ = subject;
    ready_ = ready;
    stop_here();
}

void CpuBlock::let_others(const Reason& why) {
    why_ = why;
    looked_ = true;
    stop_here();
    looked_ = false;
}

bool CpuBlock::step() {
    if (fibre_.ended()) return false;
    if (ready_ != nullptr && !released_ && load_acquire(context_.ended) == 0 && !ready_(subject_)) return false;
    ready_ = nullptr;
    released_ = false;
    Block* const before = current;
    current = this;
    fibre_.resume();
    current = before;
    return !looked_ || fibre_.ended();
}

std::optional<Reason> CpuBlock::waits() const {
    if (fibre_.ended() || (ready_ == nullptr && !looked_)) return {};
    return why_;
}

Blocks::Blocks(std::uint32_t count, std::uint64_t stack, dcuda_kernel_t kernel, dcuda_context& context, Bell& bell,
               Observer* observer)
    : context_(context) {
    for (std::uint32_t i = 0; i < count; ++i) {
        blocks_.push_back(std::make_unique<CpuBlock>(i, stack, kernel, context, bell));
        blocks_.back()->observer = observer;
    }
}

Blocks::~Blocks() {
    store_release(context_.ended, 1u);
    for (const auto& block : blocks_)
        while (!block->ended())
            block->step();  // those that wait end there; those that never began end at their first wait
}

bool Blocks::step(std::uint32_t first, std::uint32_t every) {
    bool moved = false;
    for (std::uint32_t i = first; i < blocks_.size(); i += every) moved |= blocks_[i]->step();
    return moved;
}

bool Blocks::ended(std::uint32_t first, std::uint32_t every) const {
    for (std::uint32_t i = first; i < blocks_.size(); i += every)
        if (!blocks_[i]->ended()) return false;
    return true;
}

std::exception_ptr Blocks::thrown() const {
    for (const auto& block : blocks_)
        if (block->thrown() != nullptr) return block->thrown();
    return nullptr;
}

}  // namespace loom::device
