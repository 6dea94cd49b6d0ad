// What a program has begun and can wait for: the end of a send, or a message.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace loom::session {

using Bytes = std::vector<std::byte>;

// One thread ends it, another may ask. What is behind done() may be read once done() has said so.
class Pending {
public:
    [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
    [[nodiscard]] bool failed() const { return failed_; }            // the session ended before
    [[nodiscard]] bool has_message() const { return has_message_; }  // a receive, and there was something new
    [[nodiscard]] Bytes& message() { return message_; }

    void end() { done_.store(true, std::memory_order_release); }
    void end(Bytes message) {
        message_ = std::move(message);
        has_message_ = true;
        end();
    }
    void fail() {
        failed_ = true;
        end();
    }

private:
    std::atomic<bool> done_{false};
    bool failed_ = false, has_message_ = false;
    Bytes message_;
};
using Request = std::shared_ptr<Pending>;

}  // namespace loom::session
