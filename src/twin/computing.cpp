#include "loom/twin/computing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::twin {

namespace {

constexpr std::uint64_t most_ranks = 1u << 24;
constexpr std::uint64_t most_spans = 1u << 24;  // of a line

std::optional<double> parse_factor(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 1e6)) return {};
    return value;
}

// One line of a file of charges, without its comment.
class Line {
public:
    Line(std::string_view text, const std::string& file, std::size_t number)
        : cursor_(text), file_(file), number_(number) {}

    void read(Charges& charges) {
        cursor_.skip_blanks();
        if (cursor_.done()) return;
        std::uint64_t first = 0, last = 0;
        const bool all_others = cursor_.take('*');
        if (!all_others) {
            first = last = rank();
            if (cursor_.take('-')) last = rank();
            if (last < first) fail(fmt::format("expected a rank from {} on", first));
        }
        if (!cursor_.skip_blanks().take(':')) fail("expected ':' behind the rank");
        const std::vector<Time> mine = spans();
        if (all_others) return give(charges.others, mine);
        if (charges.ranks.size() <= last) charges.ranks.resize(last + 1);
        for (std::uint64_t rank = first; rank <= last; ++rank) give(charges.ranks[rank], mine);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ParseError(file_, number_, what + ", found " + excerpt(cursor_.rest()));
    }
    std::uint64_t rank() {
        const Cursor before = cursor_;
        const auto value = cursor_.take_decimal();
        if (!value || *value >= most_ranks) cursor_ = before;
        if (!value || *value >= most_ranks) fail(fmt::format("expected a rank below {}, or '*'", most_ranks));
        return *value;
    }
    std::vector<Time> spans() {
        std::vector<Time> result;
        for (cursor_.skip_blanks(); !cursor_.done(); cursor_.skip_blanks()) {
            const std::string_view word = Cursor(cursor_).take_word();
            const std::size_t star = word.find('*');
            const auto span = parse_time(word.substr(0, star));
            if (!span) fail("expected a time like 5us");
            const auto count = star == std::string_view::npos ? 1 : parse_decimal(word.substr(star + 1));
            if (!count || *count == 0 || *count > most_spans - result.size())
                fail(fmt::format("expected a count from 1 to {} behind '*'", most_spans - result.size()));
            result.insert(result.end(), *count, *span);
            cursor_.take_word();
        }
        if (result.empty()) fail("expected a time like 5us");
        return result;
    }
    void give(std::vector<Time>& spans, const std::vector<Time>& mine) const {
        if (!spans.empty())
            throw ParseError(file_, number_, "expected one line for each rank: this one has charges already");
        spans = mine;
    }

    Cursor cursor_;
    const std::string& file_;
    std::size_t number_;
};

// The words of set().
class Words {
public:
    explicit Words(std::string_view text) : text_(text), cursor_(text) {}

    [[nodiscard]] std::string_view next() { return cursor_.skip_blanks().take_word(); }
    [[nodiscard]] std::string_view rest() { return trim(std::exchange(cursor_, Cursor({})).rest()); }
    [[nodiscard]] double factor() {
        const auto value = parse_factor(next());
        if (!value) fail("a factor from 0 to 1000000");
        return *value;
    }
    [[nodiscard]] double factor_or_one() { return cursor_.skip_blanks().done() ? 1 : factor(); }
    [[nodiscard]] std::uint32_t number(const char* what) {
        const auto value = parse_decimal(next());
        if (!value || *value >= most_ranks) fail(what);
        return static_cast<std::uint32_t>(*value);
    }
    [[nodiscard]] double part() {
        std::string_view word = next();
        const bool is_percent = word.ends_with('%');
        if (is_percent) word.remove_suffix(1);
        const auto value = parse_factor(word);
        if (!value || *value > 100 || (!is_percent && next() != "%")) fail("a part from 0% to 100%");
        return *value / 100;
    }
    void end() {
        if (!cursor_.skip_blanks().done()) fail("nothing more");
    }
    [[noreturn]] void fail(const char* expected) const {
        throw UsageError("computing " + excerpt(text_) + ": expected " + expected);
    }

private:
    std::string_view text_;
    Cursor cursor_;
};

}  // namespace

Charges parse_charges(std::string_view text, const std::string& file) {
    Charges charges;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trim(text.substr(0, end));
        Line(trim(line.substr(0, line.find('#'))), file, number).read(charges);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return charges;
}

Charges read_charges(const std::string& file) {
    return parse_charges(read_file(file), file);
}

void set(Computing& computing, std::string_view text) {
    using How = Computing::How;
    Words words(text);
    const std::string_view what = words.next();
    Computing next = computing;
    if (what == "none") {
        next.how = How::none;
    } else if (what == "declared" || what == "measured") {
        next.how = what == "declared" ? How::declared : How::measured;
        next.factor = words.factor_or_one();
    } else if (what == "charged") {
        next.how = How::charged;
        const std::string file(words.rest());
        if (file.empty()) words.fail("a file of charges");
        next.charges = read_charges(file);
    } else if (what == "noise") {
        next.noise = words.part();
    } else if (what == "straggler") {
        const Rank rank{words.number("a rank")};
        next.stragglers.push_back({rank, words.factor()});
    } else if (what == "stragglers") {
        next.random_stragglers = words.number("how many ranks");
        next.random_factor = words.factor();
    } else {
        words.fail("none, declared, measured, charged, noise, straggler or stragglers");
    }
    words.end();
    computing = std::move(next);
}

std::string to_string(const Computing& computing) {
    std::string text;
    switch (computing.how) {
        case Computing::How::none:
            return "none";
        case Computing::How::declared:
            text = "declared";
            break;
        case Computing::How::measured:
            text = "measured (differs from run to run)";
            break;
        case Computing::How::charged:
            text = "charged";
            break;
    }
    if (computing.factor != 1) text += fmt::format(", times {:g}", computing.factor);
    if (computing.noise != 0) text += fmt::format(", noise {:g} %", computing.noise * 100);
    for (const Straggler& each : computing.stragglers)
        text += fmt::format(", rank {} times {:g}", each.rank.value, each.factor);
    if (computing.random_stragglers != 0)
        text += fmt::format(", {} ranks drawn by the seed times {:g}", computing.random_stragglers,
                            computing.random_factor);
    return text;
}

}  // namespace loom::twin
