// Ends an operation.
#pragma once

#include "loom/transport/message.hpp"

namespace loom::transport {

inline void finish(Message& message, Message::Outcome outcome) {
    message.outcome = outcome;
    message.finished(message);
}

}  // namespace loom::transport
