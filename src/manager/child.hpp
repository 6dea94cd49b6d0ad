// Other programs, run without a shell, with a time limit, and never left behind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loom/base/time.hpp"

namespace loom::manager {

struct ChildResult {
    int status = 0;  // 128 + signal when a signal ended it
    std::string out;
    std::string err;
};

// The path of a program: in PATH, then where subnet tools live (/usr/sbin, /sbin). Throws Error that says which package
// to install.
[[nodiscard]] std::string find_tool(const std::string& name);

// arguments[0] is a path. Standard input is empty; the child has a process group of its own, so that the interrupt key
// reaches us alone. Throws Error when it cannot be started, has not ended in `limit`, or prints more than `most` bytes;
// its group is then killed. May be called from several threads.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& arguments, Time limit,
                                    std::size_t most = std::size_t{64} << 20);

// As one would type it; words that a shell would not take as they are stand in quotes.
[[nodiscard]] std::string command_line(const std::vector<std::string>& arguments);

}  // namespace loom::manager
