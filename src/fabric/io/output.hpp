// Text on its way to a stream, in large pieces.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <ostream>
#include <string_view>
#include <utility>

namespace loom::fabric::io {

class Output {
public:
    explicit Output(std::ostream& out) : out_(out) {}
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() { flush(); }

    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        if (text_.size() > (1u << 20)) flush();
    }
    void raw(std::string_view text) { text_.append(text.data(), text.data() + text.size()); }

private:
    void flush() {
        out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
        text_.clear();
    }

    std::ostream& out_;
    fmt::memory_buffer text_;
};

}  // namespace loom::fabric::io
