// What ranks say to each other over MPI: a header, and the data of small messages behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loom/transport/message.hpp"

namespace loom::transport::plugin {

inline constexpr std::uint64_t eager_limit = 8192;  // bytes of data that travel in a parcel

struct Header {
    enum class Kind : std::uint32_t {
        small = 1,
        large,
        small_put,
        large_put,
        answer,
        credit,
        get,
        small_got,
        large_got,
        atomic
    };

    Kind kind = Kind::small;
    std::uint32_t value = 0;      // of an answer: whether the put was refused; of an atomic: its kind
    std::uint64_t tag = 0;        // of a message; of a put: what it notifies; of an atomic: the operand
    std::uint64_t bytes = 0;      // of the data
    std::uint64_t place = 0;      // MPI tag of the data of large ones
    std::uint64_t reference = 0;  // of a put, for its answer; of a credit: bytes used up, in all
    std::uint64_t key = 0;        // of a put's memory
    std::uint64_t offset = 0;
    std::uint64_t notifies = 0;  // of an atomic: what is expected
};
using Parcel = std::vector<std::byte>;  // a header and what follows it

inline void finish(Message& message, Message::Outcome outcome) {
    message.outcome = outcome;
    message.finished(message);
}

}  // namespace loom::transport::plugin
