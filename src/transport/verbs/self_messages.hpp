// Messages of a rank to itself.
#pragma once

#include <cstring>

#include "loom/transport/message_list.hpp"
#include "transport/verbs/finish.hpp"

namespace loom::transport {

class SelfMessages {
public:
    // `message` has its tag, data and length. What Transport::send() and receive() answer.
    bool send(Message& message) {
        Message* const receive = receives_.take(message.tag);
        if (receive == nullptr) return wait(sends_, message);
        return meet(message, *receive, message, *receive);
    }
    bool receive(Message& message) {
        Message* const send = sends_.take(message.tag);
        if (send == nullptr) return wait(receives_, message);
        return meet(*send, message, message, *send);
    }

private:
    static bool wait(MessageList& list, Message& message) {
        message.outcome = Message::Outcome::pending;
        list.push(message);
        return false;
    }
    // The one that waited is called back.
    static bool meet(const Message& send, const Message& receive, Message& second, Message& first) {
        const bool fits = send.bytes == receive.bytes;
        if (fits && send.bytes != 0) std::memcpy(receive.data, send.data, send.bytes);
        second.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
        finish(first, second.outcome);
        return true;
    }

    MessageList sends_, receives_;
};

}  // namespace loom::transport
