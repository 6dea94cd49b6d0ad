// Runs a program in a test and keeps everything it said.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace loom::test {

// A folder that is gone when the test is over.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "loom-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
        path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

struct Outcome {
    int exit_code = -1;  // 128 + signal when it was killed
    std::string out;
    std::string err;
};

inline std::string slurp(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// The command goes to /bin/sh; standard input is empty.
inline Outcome shell(const std::string& command) {
    const TemporaryFolder folder;
    const std::string line =
        "{ " + command + "\n} </dev/null >'" + folder.file("out") + "' 2>'" + folder.file("err") + "'";
    const int status = std::system(line.c_str());
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = slurp(folder.path() / "out");
    outcome.err = slurp(folder.path() / "err");
    return outcome;
}

#ifdef LOOM_PROGRAM
// The built program with the given arguments (shell syntax).
inline Outcome loom_program(const std::string& arguments) {
    return shell("'" LOOM_PROGRAM "' " + arguments);
}
#endif

}  // namespace loom::test
