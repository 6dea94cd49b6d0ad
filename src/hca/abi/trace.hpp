// LOOM_VERBS_TRACE: one line for each call, on standard error or in a file. When it is off, a call costs the look at a
// flag; the operations of the data path come from tables without any tracing in them (operations.cpp).
#pragma once

#include "hca/device/config.hpp"

namespace loom::hca::abi {

[[nodiscard]] inline bool tracing() {
    return config().trace;
}

// Writes "PID:THREAD what\n" with one write, so that the lines of threads and processes do not mix. Keeps errno.
void trace_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

// "0", or the name of an errno.
[[nodiscard]] const char* error_name(int error);

}  // namespace loom::hca::abi

#define trace(...) (::loom::hca::abi::tracing() ? ::loom::hca::abi::trace_line(__VA_ARGS__) : void())
