// Pieces of memory to read or write one after another, with what was done taken off the front.
#pragma once

#include <sys/uio.h>

#include <cstddef>

namespace loom::hca {

struct IoList {
    iovec* first;
    std::size_t count;

    void skip(std::size_t bytes) {
        for (; count > 0 && bytes >= first->iov_len; ++first, --count) bytes -= first->iov_len;
        if (count == 0) return;
        first->iov_base = static_cast<char*>(first->iov_base) + bytes;
        first->iov_len -= bytes;
    }
};

}  // namespace loom::hca
