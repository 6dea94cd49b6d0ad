// The words of a scenario's line, taken one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/time.hpp"
#include "loom/sim/scenario.hpp"

namespace loom::sim {

// Words are parted by blanks; a part between double quotes may hold blanks. '#' at the start of a word begins a
// comment.
class Words {
public:
    Words(std::string_view line, const Source& source);

    [[nodiscard]] bool done() const { return at_ == words_.size(); }
    [[nodiscard]] const Source& source() const { return *source_; }
    // The next word is this one, and is taken.
    bool take(std::string_view word);

    // Throw ParseError "expected WHAT, got ..." when the next word is none of the kind.
    std::string text(std::string_view what);
    std::uint64_t number(std::string_view what, std::uint64_t least, std::uint64_t most);
    double real(std::string_view what, double least, double most);
    Time time(std::string_view what);
    std::uint64_t bytes(std::string_view what, std::uint64_t least = 0, std::uint64_t most = std::uint64_t{1} << 56);
    bool on_off(std::string_view what);
    // Position of the word in `choices`.
    std::size_t one_of(std::span<const std::string_view> choices);
    // What is left of the line, as one text.
    std::string rest(std::string_view what);

    // Throws ParseError when words are left.
    void end() const;
    [[noreturn]] void expected(std::string_view what) const;  // ..., got the next word
    [[noreturn]] void refuse(const std::string& message) const;

private:
    [[nodiscard]] std::optional<std::string_view> peek() const;

    const Source* source_;
    std::vector<std::string> words_;
    std::size_t at_ = 0;
};

// "NODE:PORT", or "NODE" alone, which gives port 0.
struct PortEnd {
    std::string node;
    unsigned port = 0;
};
[[nodiscard]] PortEnd take_end(Words& words, std::string_view what);

// Settings of the simulated fabric: packet options, congestion control, delays, LogGOPS. False: no such word.
bool take_setting(Scenario& scenario, std::string_view word, Words& words);

}  // namespace loom::sim
