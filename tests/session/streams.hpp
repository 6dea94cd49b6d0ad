// Messages that carry their number, and a check that they arrive as their scheme promises.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "loom/base/random.hpp"
#include "loom/session/request.hpp"

namespace loom::session::test {

// The number, then bytes that follow from it.
inline Bytes numbered(std::uint64_t number, std::size_t size) {
    Bytes message(std::max<std::size_t>(size, 8));
    std::memcpy(message.data(), &number, 8);
    for (std::size_t i = 8; i < message.size(); ++i) message[i] = static_cast<std::byte>(number * 31 + i * 7);
    return message;
}

inline std::uint64_t number_of(const Bytes& message) {
    std::uint64_t number = 0;
    if (message.size() >= 8) std::memcpy(&number, message.data(), 8);
    return number;
}

inline bool intact(const Bytes& message) {
    return message.size() >= 8 && message == numbered(number_of(message), message.size());
}

}  // namespace loom::session::test
