#include "hca/abi/trace.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace loom::hca::abi {

namespace {

int trace_fd() {
    static const int fd = [] {
        if (config().trace_file.empty()) return STDERR_FILENO;
        const char* path = config().trace_file.c_str();
        const int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (opened < 0) std::fprintf(stderr, "loom-verbs: cannot write the trace to %s: %s\n", path, strerror(errno));
        return opened;
    }();
    return fd;
}

}  // namespace

void trace_line(const char* format, ...) {
    const int kept = errno;
    char line[1024];
    int length = std::snprintf(line, sizeof line, "%d:%ld ", getpid(), syscall(SYS_gettid));
    std::va_list arguments;
    va_start(arguments, format);
    length += std::vsnprintf(line + length, sizeof line - static_cast<std::size_t>(length), format, arguments);
    va_end(arguments);
    std::size_t size = static_cast<std::size_t>(length);
    if (size > sizeof line - 1) size = sizeof line - 1;
    line[size < sizeof line - 1 ? size : sizeof line - 1] = '\n';
    if (size < sizeof line) ++size;
    [[maybe_unused]] const ssize_t written = write(trace_fd(), line, size);
    errno = kept;
}

const char* error_name(int error) {
    if (error == 0) return "0";
    const char* name = strerrorname_np(error);
    return name == nullptr ? "an unknown error" : name;
}

}  // namespace loom::hca::abi
