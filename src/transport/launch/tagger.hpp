// Whole lines, each behind the number of the rank that wrote it.
#pragma once

#include <string>
#include <string_view>

#include "loom/base/ids.hpp"

namespace loom::transport::launching {

class Tagger {
public:
    // Without a tag: whole lines as they are.
    Tagger() = default;
    explicit Tagger(Rank rank) : tag_("[" + std::to_string(rank.value) + "] ") {}

    // What can be printed now: the lines that are whole, and what has grown too long to wait for its end.
    [[nodiscard]] std::string add(std::string_view text);
    // What was left without a newline, with one.
    [[nodiscard]] std::string rest();

private:
    static constexpr std::size_t longest_line = 64 * 1024;

    std::string tag_;
    std::string line_;
};

}  // namespace loom::transport::launching
