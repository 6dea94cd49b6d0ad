#include "transport/launch/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "loom/base/error.hpp"

extern char** environ;

namespace loom::transport::launching {

namespace {

// All of it is safe between fork and exec: no memory is asked for.
bool prepare(const Start& what, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before we asked
    if (what.core) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(static_cast<unsigned>(*what.core), &cores);
        if (sched_setaffinity(0, sizeof cores, &cores) != 0) return false;
    }
    if (what.input >= 0 && dup2(what.input, STDIN_FILENO) < 0) return false;
    if (what.output >= 0 && dup2(what.output, STDOUT_FILENO) < 0) return false;
    if (what.error >= 0 && dup2(what.error, STDERR_FILENO) < 0) return false;
    if (fcntl(what.socket, F_SETFD, 0) < 0) return false;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE})
        ::signal(signal, SIG_DFL);
    return sigprocmask(SIG_SETMASK, &what.signals, nullptr) == 0;
}

[[noreturn]] void run_body(const Start& what) {
    for (const int descriptor : what.not_its) ::close(descriptor);
    for (const auto& [name, value] : what.environment) setenv(name.c_str(), value.c_str(), 1);
    int code = 1;
    try {
        code = what.body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(code);
}

// Our environment with what is added in place of what it replaces.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
    std::vector<std::string> lines;
    for (char** line = environ; *line != nullptr; ++line) {
        const std::string text = *line;
        bool replaced = false;
        for (const auto& [name, value] : added) replaced = replaced || text.starts_with(name + '=');
        if (!replaced) lines.push_back(text);
    }
    for (const auto& [name, value] : added) lines.push_back(name + '=' + value);
    return lines;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
}

}  // namespace

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError(std::string("cannot make a pipe: ") + std::strerror(errno));
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Process start(const Start& what) {
    std::vector<std::string> words = what.program;
    std::vector<std::string> lines = environment_with(what.environment);
    const std::vector<char*> arguments = pointers(words);
    const std::vector<char*> environment = pointers(lines);
    Pipe trouble = make_pipe();  // closed by exec, or the number of the error
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) throw IoError(std::string("cannot start a process: ") + std::strerror(errno));
    if (pid == 0) {
        const bool ready = prepare(what, parent);
        if (ready && what.program.empty()) {
            trouble.read.close();
            trouble.write.close();
            run_body(what);
        }
        if (ready) execvpe(arguments[0], arguments.data(), environment.data());
        const int number = errno;
        (void)!write(trouble.write.number(), &number, sizeof number);
        _exit(127);
    }
    setpgid(pid, pid);  // whoever is first: it must hold before we send signals
    trouble.write.close();
    int number = 0;
    ssize_t bytes = 0;
    while ((bytes = read(trouble.read.number(), &number, sizeof number)) < 0 && errno == EINTR) {
    }
    if (bytes > 0) {
        waitpid(pid, nullptr, 0);
        const char* hint = number == ENOEXEC ? " (a script begins with a line like #!/bin/sh)" : "";
        throw UsageError("cannot run " + (words.empty() ? "a rank" : words.front()) + ": " + std::strerror(number) +
                         hint);
    }
    Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!handle.open()) {
        const int error = errno;
        kill(-pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        throw IoError(std::string("cannot watch a process: ") + std::strerror(error));
    }
    return {pid, std::move(handle)};
}

}  // namespace loom::transport::launching
