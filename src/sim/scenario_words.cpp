#include "sim/scenario_words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "loom/base/text.hpp"

namespace loom::sim {

Words::Words(std::string_view line, const Source& source) : source_(&source) {
    Cursor cursor(trim(line));
    while (!cursor.skip_blanks().done() && cursor.peek() != '#') {
        std::string word;
        while (!cursor.done() && !is_blank(cursor.peek())) {
            if (cursor.peek() != '"') {
                word += cursor.take_until(" \t\"");
                continue;
            }
            const auto quoted = cursor.take_quoted();
            if (!quoted) throw ParseError(source.file, source.line, "expected a closing double quote");
            word += *quoted;
        }
        words_.push_back(std::move(word));
    }
}

std::optional<std::string_view> Words::peek() const {
    return done() ? std::nullopt : std::optional<std::string_view>(words_[at_]);
}

void Words::refuse(const std::string& message) const {
    throw ParseError(source_->file, source_->line, message);
}

void Words::expected(std::string_view what) const {
    const auto word = peek();
    refuse(fmt::format("expected {}, got {}", what, word ? excerpt(*word) : "the end of the line"));
}

void Words::end() const {
    if (!done()) expected("the end of the line");
}

bool Words::take(std::string_view word) {
    if (peek() != word) return false;
    ++at_;
    return true;
}

std::string Words::text(std::string_view what) {
    if (done() || words_[at_].empty()) expected(what);
    return words_[at_++];
}

std::uint64_t Words::number(std::string_view what, std::uint64_t least, std::uint64_t most) {
    const auto word = peek();
    const auto value = word ? parse_decimal(*word) : std::nullopt;
    if (!value || *value < least || *value > most) expected(fmt::format("{} from {} to {}", what, least, most));
    ++at_;
    return *value;
}

double Words::real(std::string_view what, double least, double most) {
    if (!done() && !words_[at_].empty() && (is_digit(words_[at_].front()) || words_[at_].front() == '.')) {
        char* end = nullptr;
        const double value = std::strtod(words_[at_].c_str(), &end);
        if (*end == '\0' && std::isfinite(value) && value >= least && value <= most) {
            ++at_;
            return value;
        }
    }
    expected(fmt::format("{} from {:g} to {:g}", what, least, most));
}

Time Words::time(std::string_view what) {
    const auto word = peek();
    const auto value = word ? parse_time(*word) : std::nullopt;
    // A quarter of what fits: sums of a few cannot overflow.
    if (!value || value->ps > never.ps / 4) expected(fmt::format("{} such as 250ns or 1.5s", what));
    ++at_;
    return *value;
}

std::uint64_t Words::bytes(std::string_view what, std::uint64_t least, std::uint64_t most) {
    const auto word = peek();
    const auto value = word ? parse_bytes(*word) : std::nullopt;
    if (!value || *value < least || *value > most)
        expected(fmt::format("{} such as {} or 64KiB", what, std::max<std::uint64_t>(least, 4096)));
    ++at_;
    return *value;
}

bool Words::on_off(std::string_view what) {
    if (take("on")) return true;
    if (take("off")) return false;
    expected(fmt::format("{} on or off", what));
}

std::size_t Words::one_of(std::span<const std::string_view> choices) {
    std::string list;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (take(choices[i])) return i;
        list += i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ";
        list += choices[i];
    }
    expected(list);
}

std::string Words::rest(std::string_view what) {
    std::string joined = text(what);
    while (!done()) joined += ' ' + words_[at_++];
    return joined;
}

PortEnd take_end(Words& words, std::string_view what) {
    const std::string word = words.text(what);
    const auto colon = word.rfind(':');
    if (colon == std::string::npos) return {word, 0};
    const auto port = parse_decimal(std::string_view(word).substr(colon + 1));
    if (colon == 0 || !port || *port == 0 || *port > 254)
        words.refuse(fmt::format("expected {}, got {}", what, excerpt(word)));
    return {word.substr(0, colon), static_cast<unsigned>(*port)};
}

}  // namespace loom::sim
