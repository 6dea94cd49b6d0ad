// Which bytes of its buffers a rank's part of a call touches, so that input and output that share some are refused.
#pragma once

#include <cstdint>

#include "loom/coll/buffers.hpp"
#include "loom/coll/call.hpp"

namespace loom::coll {

// Offsets from the first byte to behind the last; nothing: both 0.
struct ByteRange {
    std::uint64_t first = 0, end = 0;
};

struct Touched {
    ByteRange input, output;

    // Two comparisons: whether the ranges meet. Blocks with gaps between them may then still lie apart.
    [[nodiscard]] bool may_meet(const Buffers& buffers) const {
        const auto in = reinterpret_cast<std::uintptr_t>(buffers.input);
        const auto out = reinterpret_cast<std::uintptr_t>(buffers.output);
        return in + input.first < out + output.end && out + output.first < in + input.end;
    }
};

// Of a call that passed check_call. A buffer that MPI calls not significant is not touched, but for exscan's output at
// rank 0: what is wrong on all other ranks is to be refused on all.
[[nodiscard]] Touched touched_by(const Group& group, const Call& call);
// Bytes of all buffers of a call that the ranks of this host have together, as far as this rank can tell: the others'
// blocks are taken to be like its own.
[[nodiscard]] std::uint64_t touched_together(const Group& group, const Call& call);
// Throws UsageError when a block of the input shares bytes with one of the output.
void refuse_overlap(const Group& group, const Call& call, const Buffers& buffers);

}  // namespace loom::coll
