#include "loom/base/fibre.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "loom/base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace loom {

namespace context = boost::context::detail;

namespace {

// What instrumented code needs more of a stack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t stack_factor = 8;
#else
constexpr std::size_t stack_factor = 1;
#endif

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

struct FibreEntry {
    static void run(context::transfer_t from) {
        Fibre& fibre = *static_cast<Fibre*>(from.data);
        fibre.caller_ = from.fctx;
        fibre.run();
    }
};

Fibre::Fibre(std::size_t stack_bytes, std::function<void()> body) : body_(std::move(body)) {
    const std::size_t page = page_bytes();
    bytes_ = page + (stack_bytes * stack_factor + page - 1) / page * page;
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        throw Error("no memory for a stack, " + std::to_string(bytes_) + " bytes: " + std::strerror(errno));
    memory_ = static_cast<std::byte*>(memory);
    if (mprotect(memory_, page, PROT_NONE) != 0) {
        const int why = errno;
        munmap(memory_, bytes_);
        throw Error(std::string("no guard page below a stack: ") + std::strerror(why) +
                    " (are there more stacks than half of vm.max_map_count?)");
    }
    own_ = context::make_fcontext(memory_ + bytes_, bytes_ - page, FibreEntry::run);
#if defined(__SANITIZE_THREAD__)
    tsan_fibre_ = __tsan_create_fiber(0);
#endif
}

Fibre::~Fibre() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(tsan_fibre_);
#endif
    munmap(memory_, bytes_);
}

void Fibre::swap_exceptions() {
    auto* const ours = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    std::swap(ours->caught, exceptions_.caught);
    std::swap(ours->uncaught, exceptions_.uncaught);
}

void Fibre::resume() {
    swap_exceptions();
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, memory_ + page_bytes(), bytes_ - page_bytes());
#endif
#if defined(__SANITIZE_THREAD__)
    tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_fibre_, 0);
#endif
    own_ = context::jump_fcontext(own_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    swap_exceptions();
}

void Fibre::yield() {
#if defined(__SANITIZE_ADDRESS__)
    // The last time its fake stack goes with it.
    __sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack_, caller_stack_, caller_stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
    caller_ = context::jump_fcontext(caller_, nullptr).fctx;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack_, &caller_stack_bytes_);
#endif
}

void Fibre::run() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_stack_bytes_);
#endif
    body_();
    ended_ = true;
    yield();
}

}  // namespace loom
