// A function with a stack of its own, which stops in its middle and goes on later.
#pragma once

#include <cstddef>
#include <functional>

namespace loom {

// The stack has an unmapped page below it: running over it ends the process instead of writing elsewhere. It is mapped
// lazily, so what a fibre never uses costs nothing. A switch takes some tens of nanoseconds. A fibre may be resumed
// from another thread than before, one at a time.
class Fibre {
public:
    // `body` must not throw. Throws Error when there is no memory for the stack.
    Fibre(std::size_t stack_bytes, std::function<void()> body);
    // Only before the first resume() or once it has ended.
    ~Fibre();
    Fibre(const Fibre&) = delete;
    Fibre& operator=(const Fibre&) = delete;

    // Returns when the body yields or has ended. Not from inside of it.
    void resume();
    // From inside the body: back to who resumed it.
    void yield();
    [[nodiscard]] bool ended() const { return ended_; }

private:
    // What the C++ library keeps of the exceptions that are being handled; by thread, so it must change with the stack.
    struct Exceptions {
        void* caught = nullptr;
        unsigned uncaught = 0;
    };
    static void enter(void* fibre);
    void run();
    void swap_exceptions();

    std::function<void()> body_;
    std::byte* memory_ = nullptr;  // the guard page, then the stack
    std::size_t bytes_ = 0;
    void* own_ = nullptr;     // where the body stands while it does not run
    void* caller_ = nullptr;  // where resume() stands while it does
    Exceptions exceptions_;
    bool ended_ = false;

    // For the sanitizers alone.
    void* fake_stack_ = nullptr;
    const void* caller_stack_ = nullptr;
    std::size_t caller_stack_bytes_ = 0;
    void* tsan_fibre_ = nullptr;
    void* tsan_caller_ = nullptr;
    friend struct FibreEntry;
};

}  // namespace loom
