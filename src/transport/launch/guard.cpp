#include "transport/launch/guard.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "loom/base/error.hpp"
#include "loom/transport/launch.hpp"
#include "transport/launch/process.hpp"

namespace loom::transport::launching {

namespace {

// In the new process: nothing but system calls, since the launcher may have had threads.
[[noreturn]] void stand_guard(int pipe) {
    setpgid(0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(standard);
    std::array<pid_t, Launch::most_ranks> groups{};
    for (pid_t group = 0;;) {
        const ssize_t bytes = read(pipe, &group, sizeof group);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes != sizeof group) break;
        // Minus a group: forget it.
        const auto place = std::find(groups.begin(), groups.end(), group < 0 ? -group : 0);
        if (place != groups.end()) *place = std::max(group, 0);
    }
    for (const pid_t group : groups)
        if (group > 0) kill(-group, SIGKILL);
    _exit(0);
}

}  // namespace

Guard::Guard() {
    Pipe pipe = make_pipe();
    pid_ = fork();
    if (pid_ < 0) throw IoError(std::string("cannot start a process: ") + std::strerror(errno));
    if (pid_ == 0) {
        pipe.write.close();
        stand_guard(pipe.read.number());
    }
    ours_ = std::move(pipe.write);
}

Guard::~Guard() {
    ours_.close();
    waitpid(pid_, nullptr, 0);
}

void Guard::tell(pid_t group) const {
    while (write(ours_.number(), &group, sizeof group) < 0 && errno == EINTR) {
    }
}

void Guard::watch(pid_t group) {
    tell(group);
}

void Guard::forget(pid_t group) {
    tell(-group);
}

}  // namespace loom::transport::launching
