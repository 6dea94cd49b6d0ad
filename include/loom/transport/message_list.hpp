// A queue of messages through their own links.
#pragma once

#include "loom/transport/message.hpp"

namespace loom::transport {

class MessageList {
public:
    [[nodiscard]] bool empty() const { return first_ == nullptr; }
    [[nodiscard]] Message* front() const { return first_; }
    void push(Message& message) {
        message.next = nullptr;
        message.previous = last_;
        (last_ != nullptr ? last_->next : first_) = &message;
        last_ = &message;
    }
    void remove(Message& message) {
        (message.previous != nullptr ? message.previous->next : first_) = message.next;
        (message.next != nullptr ? message.next->previous : last_) = message.previous;
    }
    // The oldest with the tag; null when there is none.
    [[nodiscard]] Message* find(Tag tag) const {
        Message* at = first_;
        while (at != nullptr && at->tag != tag) at = at->next;
        return at;
    }
    // The oldest with the tag; taken out. Null when there is none.
    [[nodiscard]] Message* take(Tag tag) {
        for (Message* at = first_; at != nullptr; at = at->next)
            if (at->tag == tag) {
                remove(*at);
                return at;
            }
        return nullptr;
    }
    [[nodiscard]] Message* pop() {
        Message* const message = first_;
        if (message != nullptr) remove(*message);
        return message;
    }

private:
    Message* first_ = nullptr;
    Message* last_ = nullptr;
};

}  // namespace loom::transport
