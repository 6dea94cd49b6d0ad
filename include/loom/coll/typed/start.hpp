// Bound calls are started or kept.
#pragma once

#include "loom/coll/request.hpp"
#include "loom/coll/typed/bind.hpp"

namespace loom::coll::detail {

// The operation is used until the request is finished, beyond the end of the call.
template <class Op>
consteval void check_lifetime() {
    static_assert(std::is_lvalue_reference_v<Op> || Stateless<std::remove_cvref_t<Op>>,
                  "an operation with state must be a variable that lives until the request is finished");
}

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
