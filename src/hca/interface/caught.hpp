// The C interface lets no exception out: each of its functions ends in a handler that asks here what to answer. The
// handlers are for std::exception: a thread that is cancelled inside of a call unwinds through them.
#pragma once

#include <exception>

namespace loom::hca {

// ENOMEM where memory was short, EIO for what nobody expected.
[[nodiscard]] int errno_of(const std::exception& thrown) noexcept;

}  // namespace loom::hca
