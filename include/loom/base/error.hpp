// The error policy: typed exceptions inside, one line outside, exit codes 0, 1, 2.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace loom {

// Anything the user can understand and act on. what() is one line, no trailing full stop.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The command line or an argument is wrong. Exit code 2.
class UsageError : public Error {
public:
    using Error::Error;
};

// A file, packet or other input is wrong. what() is "FILE:LINE: MESSAGE" (or "FILE: MESSAGE"
// when line is 0), and MESSAGE says what was expected. Exit code 2.
class ParseError : public Error {
public:
    ParseError(std::string file, std::size_t line, const std::string& message)
        : Error(line == 0 ? file + ": " + message : file + ":" + std::to_string(line) + ": " + message),
          file_(std::move(file)),
          line_(line) {}

    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] std::size_t line() const noexcept { return line_; }

private:
    std::string file_;
    std::size_t line_;
};

// The operating system refused (open, write, rename). Exit code 2.
class IoError : public Error {
public:
    using Error::Error;
};

}  // namespace loom
