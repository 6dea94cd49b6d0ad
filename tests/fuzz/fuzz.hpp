// What all fuzz targets share: a reader may refuse its input with loom::Error, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "loom/base/error.hpp"

namespace loom::fuzz {

template <class Read>
int refuse_or_read(const std::uint8_t* data, std::size_t size, Read&& read) {
    try {
        read(std::string_view(reinterpret_cast<const char*>(data), size));
    } catch (const Error&) {
    }
    return 0;
}

// A property of whatever was read; failing it is a finding like a crash.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "property does not hold: %s\n", what);
    std::abort();
}

}  // namespace loom::fuzz
