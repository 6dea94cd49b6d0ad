#include "manager/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/program.hpp"

extern char** environ;

namespace loom::manager {

namespace {

using Steady = std::chrono::steady_clock;

class Handle {
public:
    Handle() = default;
    explicit Handle(int fd) : fd_(fd) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { close(); }
    void reset(int fd) {
        close();
        fd_ = fd;
    }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    [[nodiscard]] int get() const { return fd_; }

private:
    int fd_ = -1;
};

struct Pipe {
    Handle read_end, write_end;
    Pipe() {
        std::array<int, 2> ends{};
        // Closed on exec: a child started by another thread must not keep ours open.
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw IoError(std::string("cannot make a pipe: ") + std::strerror(errno));
        read_end.reset(ends[0]);
        write_end.reset(ends[1]);
    }
};

class Actions {
public:
    Actions() { posix_spawn_file_actions_init(&actions_); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
    ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
    [[nodiscard]] posix_spawn_file_actions_t* get() { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

class Attributes {
public:
    Attributes() {
        posix_spawnattr_init(&attributes_);
        sigset_t none, usual;
        sigemptyset(&none);
        sigemptyset(&usual);
        for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&usual, signal);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &usual);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    ~Attributes() { posix_spawnattr_destroy(&attributes_); }
    [[nodiscard]] posix_spawnattr_t* get() { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

// Kills the whole group and reaps the child, unless it was reaped before.
class Reaper {
public:
    explicit Reaper(pid_t child) : child_(child) {}
    Reaper(const Reaper&) = delete;
    Reaper& operator=(const Reaper&) = delete;
    ~Reaper() {
        if (child_ <= 0) return;
        kill(-child_, SIGKILL);
        while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    // False while it runs.
    bool reap(int& status) {
        int raw = 0;
        const pid_t done = waitpid(child_, &raw, WNOHANG);
        if (done == 0 || (done < 0 && errno == EINTR)) return false;
        status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
        child_ = -1;
        return true;
    }

private:
    pid_t child_;
};

// False at the end.
bool take_some(int fd, std::string& text) {
    std::array<char, 16384> buffer;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    return count != 0;
}

std::string name_of(const std::vector<std::string>& arguments) {
    return std::filesystem::path(arguments.at(0)).filename().string();
}

}  // namespace

std::string find_tool(const std::string& name) {
    if (name.find('/') != std::string::npos && access(name.c_str(), X_OK) != 0)
        throw Error("cannot run " + name + ": " + std::strerror(errno));
    if (const std::filesystem::path tool = find_program(name, "/usr/sbin:/sbin"); !tool.empty()) return tool.string();
    throw Error(name + " is not there (looked in PATH, /usr/sbin and /sbin): install infiniband-diags");
}

ChildResult run_child(const std::vector<std::string>& arguments, Time limit, std::size_t most) {
    std::vector<std::string> words = arguments;
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    Pipe out, err;
    Actions actions;
    posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions.get(), out.write_end.get(), 1);
    posix_spawn_file_actions_adddup2(actions.get(), err.write_end.get(), 2);
    Attributes attributes;
    const auto end = Steady::now() + std::chrono::nanoseconds(limit.ps / 1000);
    pid_t child = -1;
    const int failure =
        posix_spawn(&child, arguments.at(0).c_str(), actions.get(), attributes.get(), pointers.data(), environ);
    if (failure != 0) throw Error("cannot run " + arguments.at(0) + ": " + std::strerror(failure));
    Reaper reaper(child);
    out.write_end.close();
    err.write_end.close();

    ChildResult result;
    const auto too_late = [&] { return Error(name_of(arguments) + " has not ended after " + to_string(limit)); };
    while (out.read_end.get() >= 0 || err.read_end.get() >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now()).count();
        if (left <= 0) throw too_late();
        std::array<pollfd, 2> both{{{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}}};
        if (poll(both.data(), both.size(), static_cast<int>(std::min<long long>(left, 1000))) <= 0) continue;
        if (both[0].revents != 0 && !take_some(out.read_end.get(), result.out)) out.read_end.close();
        if (both[1].revents != 0 && !take_some(err.read_end.get(), result.err)) err.read_end.close();
        if (result.out.size() + result.err.size() > most)
            throw Error(name_of(arguments) + " printed more than " + std::to_string(most) + " bytes");
    }
    // It closed its outputs, so it is about to end.
    for (auto pause = std::chrono::microseconds(50); !reaper.reap(result.status);) {
        if (Steady::now() > end) throw too_late();
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(5000));
    }
    return result;
}

std::string command_line(const std::vector<std::string>& arguments) {
    constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
    std::string line;
    for (const std::string& word : arguments) {
        if (!line.empty()) line += ' ';
        if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

}  // namespace loom::manager
