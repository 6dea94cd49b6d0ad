#include "peer/harness/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/program.hpp"

extern char** environ;

namespace loom::peer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view beyond_path = "/usr/sbin:/sbin";  // subnet tools live where ordinary users do not look

std::vector<std::string> merged_environment(const Command& command) {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const auto& [name, value] : command.environment) variables[name] = value;
    variables["PATH"] += ':' + std::string(beyond_path);
    std::vector<std::string> entries;
    for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
    return entries;
}

std::string program_of(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;  // in the folder that the process changes to
    const std::filesystem::path found = find_program(name, beyond_path);
    if (found.empty())
        throw Error("cannot run " + name + ": no such program; install the packages listed in packages.txt");
    return found.string();
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& text : strings) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// Everything that allocates happens before the fork: after it only async-signal-safe calls.
pid_t start(const Command& command) {
    const std::string program = program_of(command.arguments.at(0));
    std::vector<std::string> argument_text = command.arguments;
    std::vector<std::string> environment_text = merged_environment(command);
    const auto arguments = pointers(argument_text);
    const auto environment = pointers(environment_text);
    const std::string directory = command.directory.string();
    const std::string output = command.output.string();
    const std::string errors = output + ".err";
    const pid_t parent = getpid();

    const pid_t child = fork();
    if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        const int in = open("/dev/null", O_RDONLY);
        const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (in < 0 || out < 0 || err < 0 || chdir(directory.c_str()) != 0) _exit(127);
        if (command.network >= 0 && setns(command.network, CLONE_NEWNET) != 0) _exit(127);
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        execve(program.c_str(), arguments.data(), environment.data());
        _exit(127);
    }
    setpgid(child, child);  // both sides set it, so that it holds whoever comes first
    return child;
}

int status_of(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

Outcome run(const Command& command) {
    return Background(command).wait();
}

Background::Background(const Command& command) : command_(command), begin_(Clock::now()), child_(start(command)) {}

Outcome Background::wait() {
    const pid_t child = std::exchange(child_, -1);
    Outcome outcome;
    if (child <= 0) return outcome;
    int status = 0;
    rusage usage{};
    auto pause = std::chrono::microseconds(500);
    while (wait4(child, &status, WNOHANG, &usage) == 0) {
        if (Clock::now() - begin_ > command_.timeout) {
            outcome.timed_out = true;
            kill(-child, SIGKILL);
            wait4(child, &status, 0, &usage);
            break;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(10000));
    }
    kill(-child, SIGKILL);  // whatever it left running
    outcome.seconds = Seconds(Clock::now() - begin_).count();
    outcome.status = status_of(status);
    outcome.peak_kilobytes = usage.ru_maxrss;
    outcome.output = content_or_empty(command_.output);
    outcome.errors = content_or_empty(command_.output.string() + ".err");
    return outcome;
}

Background::~Background() {
    if (child_ <= 0) return;
    kill(-child_, SIGKILL);
    waitpid(child_, nullptr, 0);
}

bool Background::alive() {
    if (child_ <= 0) return false;
    if (waitpid(child_, nullptr, WNOHANG) == 0) return true;
    kill(-child_, SIGKILL);
    child_ = -1;
    return false;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "loom-peer-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error("cannot make " + pattern + ": " + std::strerror(errno));
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string content_or_empty(const std::filesystem::path& path) {
    return std::filesystem::exists(path) ? read_file(path) : std::string{};
}

}  // namespace loom::peer
