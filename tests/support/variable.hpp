// A variable of the environment for as long as a test lasts.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace loom::test {

// As it was before when it ends. Threads that read the environment start after it and end before it.
class Variable {
public:
    Variable(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* old = std::getenv(name_.c_str())) before_ = old;
        setenv(name_.c_str(), value.c_str(), 1);
    }
    ~Variable() {
        if (before_)
            setenv(name_.c_str(), before_->c_str(), 1);
        else
            unsetenv(name_.c_str());
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    std::string name_;
    std::optional<std::string> before_;
};

}  // namespace loom::test
