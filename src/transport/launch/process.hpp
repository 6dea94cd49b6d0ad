// One rank's process: started, told to stop, gone.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/descriptor.hpp"

namespace loom::transport::launching {

struct Pipe {
    Descriptor read;
    Descriptor write;
};

// Throws IoError.
[[nodiscard]] Pipe make_pipe();

// Everything a new process needs, made ready before the fork.
struct Start {
    std::vector<std::string> program;  // empty: body
    std::function<int()> body;
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    int socket = -1;                                               // kept open, under this number
    int input = -1;                                                // -1: ours
    int output = -1;                                               // -1: ours
    int error = -1;                                                // -1: ours
    std::optional<int> core;
    sigset_t signals{};        // the mask it gets
    std::vector<int> not_its;  // descriptors of the launcher, for a body, which no exec closes
};

struct Process {
    pid_t pid = -1;
    Descriptor handle;  // readable once it has ended
};

// In its own process group, killed when this thread ends. Throws UsageError when the program cannot be run, IoError
// when no process can be had.
[[nodiscard]] Process start(const Start& what);

}  // namespace loom::transport::launching
