#include "hca/interface/caught.hpp"

#include <cerrno>
#include <new>
#include <system_error>

namespace loom::hca {

int errno_of(const std::exception& thrown) noexcept {
    if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) return ENOMEM;
    const auto* refused = dynamic_cast<const std::system_error*>(&thrown);
    return refused != nullptr ? refused->code().value() : EIO;
}

}  // namespace loom::hca
