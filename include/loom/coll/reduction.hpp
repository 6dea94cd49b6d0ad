// How two pieces of data become one: the operation of reductions, without its types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loom::coll {

// inout[i] = in[i] (op) inout[i] for `count` elements. Plain data; `state` must outlive its use.
struct Reduction {
    void (*apply)(const void* state, const std::byte* in, std::byte* inout, std::uint64_t count) = nullptr;
    const void* state = nullptr;
    std::uint32_t element = 1;  // bytes
    bool commutative = true;
};

}  // namespace loom::coll
