// Where the data of a call lies.
#pragma once

#include <cstddef>

namespace loom::coll {

struct Buffers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

}  // namespace loom::coll
