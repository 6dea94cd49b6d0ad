// Bound calls are started or kept.
#pragma once

#include "loom/coll/request.hpp"
#include "loom/coll/typed/bind.hpp"

namespace loom::coll::detail {

[[nodiscard]] inline Call call_of(const Bound& bound) {
    return bound.call;
}

[[nodiscard]] inline Call call_of(const BoundBlocks& bound) {
    Call call = bound.call;
    call.sent = bound.sent.blocks();
    call.received = bound.received.blocks();
    return call;
}

template <class Communicator, class B>
[[nodiscard]] Request begin(const Communicator& communicator, const B& bound) {
    return communicator.start(call_of(bound), bound.buffers,
                              bound.reduction.apply != nullptr ? &bound.reduction : nullptr);
}

template <class Communicator, class B>
[[nodiscard]] Persistent keep(const Communicator& communicator, const B& bound) {
    return communicator.prepare(call_of(bound), bound.buffers,
                                bound.reduction.apply != nullptr ? &bound.reduction : nullptr);
}

}  // namespace loom::coll::detail
