// Puts, gets and atomics that the transport has, and whose memory is ours until they are finished.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "loom/transport/message.hpp"

namespace loom::window {

struct Operation {
    transport::Message message;
    // Called once when it is finished, with `owner` and `number`; owner null: nobody wants to hear of it any more.
    void (*ended)(Operation&) = nullptr;
    void* owner = nullptr;
    std::uint64_t number = 0;
    Rank target;                                    // of the world
    alignas(16) std::array<std::byte, 16> value{};  // a scalar on its way, or what an atomic brings
};

class Operations {
public:
    Operation& begin() {
        if (free_.empty()) {
            Operation& made = all_->emplace_back();
            made.message.owner = &made;
            made.message.finished = [](transport::Message& message) {
                auto& operation = *static_cast<Operation*>(message.owner);
                operation.ended(operation);
            };
            free_.push_back(&made);
        }
        Operation& operation = *free_.back();
        free_.pop_back();
        ++open_;
        return operation;
    }
    void end(Operation& operation) {
        --open_;
        free_.push_back(&operation);
    }
    [[nodiscard]] std::uint64_t open() const { return open_; }
    // Those that are open tell nobody, and stay for ever: an adapter may still write what was given to it.
    void abandon() {
        for (Operation& each : *all_) each.ended = [](Operation&) {};
        if (open_ != 0) (void)all_.release();
    }

private:
    std::unique_ptr<std::deque<Operation>> all_ = std::make_unique<std::deque<Operation>>();
    std::vector<Operation*> free_;
    std::uint64_t open_ = 0;
};

}  // namespace loom::window
