// Other people's programs, run with a time limit and never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace loom::peer {

using Seconds = std::chrono::duration<double>;

struct Command {
    std::vector<std::string> arguments;                            // the first is looked up in PATH (and /usr/sbin)
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    std::filesystem::path directory;                               // to run in
    std::filesystem::path output;  // standard output goes here, standard error to the same name + ".err"
    Seconds timeout{60};           // then its whole process group is killed
    int network = -1;              // descriptor of the network namespace to run in, if not ours
};

struct Outcome {
    int status = -1;  // exit status; 128 + signal when killed
    bool timed_out = false;
    double seconds = 0;       // wall time
    long peak_kilobytes = 0;  // largest resident set
    std::string output;
    std::string errors;  // standard error

    [[nodiscard]] bool ok() const { return status == 0 && !timed_out; }
};

// Runs to the end. Throws Error when the program cannot be started.
[[nodiscard]] Outcome run(const Command& command);

// Runs until destroyed; then its process group is killed and reaped. It also dies with the thread
// that started it, so a crashed test leaves nothing behind.
class Background {
public:
    explicit Background(const Command& command);
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background();

    [[nodiscard]] bool alive();
    [[nodiscard]] pid_t id() const { return child_; }
    // Waits until it ends, or the command's time limit since its start; once.
    [[nodiscard]] Outcome wait();

private:
    Command command_;
    std::chrono::steady_clock::time_point begin_;
    pid_t child_;
};

// A folder of its own under the system's temporary folder, removed with everything in it.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

// The content of a file, empty when there is none: peers write some files only when they succeed.
[[nodiscard]] std::string content_or_empty(const std::filesystem::path& path);

}  // namespace loom::peer
