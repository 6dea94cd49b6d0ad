#include "loom/traffic/goal.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <ostream>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::traffic {
namespace {

constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A position in the whole text that knows its line.
class Scanner {
public:
    Scanner(std::string_view text, const std::string& file) : rest_(text), file_(&file) {}

    [[nodiscard]] std::size_t line() const { return line_; }
    [[nodiscard]] bool done() const { return rest_.empty(); }
    [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

    // Blanks and comments up to the end of the line; a comment that spans lines counts as a blank.
    void skip_blanks() {
        for (;;) {
            const char c = peek();
            if (is_blank(c) || c == '\r')
                rest_.remove_prefix(1);
            else if (c == '/' && rest_.size() > 1 && (rest_[1] == '/' || rest_[1] == '*'))
                skip_comment();
            else
                return;
        }
    }
    // The ends of statements, too.
    void skip_to_statement() {
        for (;;) {
            skip_blanks();
            const char c = peek();
            if (c == '\n')
                ++line_;
            else if (c != ';')
                return;
            rest_.remove_prefix(1);
        }
    }
    bool take(char c) {
        if (peek() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    // A letter and the letters, digits and underscores after it; empty when there is none.
    std::string_view take_word() {
        if (!is_letter(peek())) return {};
        std::size_t count = 1;
        while (count < rest_.size() && (is_letter(rest_[count]) || is_digit(rest_[count]) || rest_[count] == '_'))
            ++count;
        return take_front(count);
    }
    // A number up to `most`; `what` says which one is missing.
    std::uint64_t number(std::uint64_t most, std::string_view what) {
        skip_blanks();
        std::size_t count = 0;
        std::uint64_t value = 0;
        for (; count < rest_.size() && is_digit(rest_[count]); ++count) {
            const auto digit = static_cast<std::uint64_t>(rest_[count] - '0');
            if (value > (most - digit) / 10 || digit > most) expected(fmt::format("{} from 0 to {}", what, most));
            value = value * 10 + digit;
        }
        if (count == 0) expected(fmt::format("{} from 0 to {}", what, most));
        rest_.remove_prefix(count);
        return value;
    }

    [[noreturn]] void expected(std::string_view what) const {
        const std::string_view here = rest_.substr(0, rest_.find('\n'));
        fail(fmt::format("expected {}, got {}", what,
                         done() ? "the end of the file" : (here.empty() ? "the end of the line" : excerpt(here))));
    }
    [[noreturn]] void fail(const std::string& message) const { throw ParseError(*file_, line_, message); }

private:
    std::string_view take_front(std::size_t count) {
        const std::string_view front = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return front;
    }
    void skip_comment() {
        if (rest_[1] == '/') {
            rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
            return;
        }
        const std::size_t end = rest_.find("*/", 2);
        if (end == std::string_view::npos) fail("expected the end of the comment that begins here");
        for (const char c : rest_.substr(0, end))
            if (c == '\n') ++line_;
        rest_.remove_prefix(end + 2);
    }

    std::string_view rest_;
    const std::string* file_;
    std::size_t line_ = 1;
};

// The labels of one rank. Open addressing; forgetting them all costs nothing.
class Labels {
public:
    void forget() {
        ++generation_;
        count_ = 0;
    }
    // False when the label is taken.
    bool give(std::string_view label, std::uint32_t op) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[find_slot(label)];
        if (slot.generation == generation_) return false;
        slot = {label, op, generation_};
        ++count_;
        return true;
    }
    [[nodiscard]] const std::uint32_t* find(std::string_view label) const {
        const Slot& slot = slots_[find_slot(label)];
        return slot.generation == generation_ ? &slot.op : nullptr;
    }

private:
    struct Slot {
        std::string_view label;
        std::uint32_t op = 0;
        std::uint32_t generation = 0;
    };

    [[nodiscard]] std::size_t find_slot(std::string_view label) const {
        std::uint64_t hash = label.size();
        for (const char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15u;
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (hash >> 32) & mask;
        while (slots_[at].generation == generation_ && slots_[at].label != label) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.generation == generation_) slots_[find_slot(slot.label)] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t count_ = 0;
    std::uint32_t generation_ = 1;
};

class Reader {
public:
    Reader(std::string_view text, const std::string& file)
        : file_(file), scan_(text, file), ranks_(read_ranks(text.size())), builder_(ranks_), block_(ranks_, 0) {}

    Schedule read() {
        for (scan_.skip_to_statement(); !scan_.done(); scan_.skip_to_statement()) {
            if (scan_.take_word() != "rank") scan_.expected("\"rank\" and its number");
            read_block();
        }
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            if (block_[rank] == 0)
                scan_.fail(fmt::format("expected a block for each of the {} ranks, rank {} has none", ranks_, rank));
        try {
            return builder_.build();
        } catch (const ScheduleError& error) {
            throw ParseError(file_, block_[error.rank.value], error.what());
        }
    }

private:
    struct Dependency {
        std::string_view later, earlier;
        std::size_t line;
        bool on_start;
    };

    std::size_t read_ranks(std::size_t text_size) {
        scan_.skip_to_statement();
        if (scan_.take_word() != "num_ranks") scan_.expected("\"num_ranks\" and their number first");
        const std::uint64_t ranks = scan_.number(any_rank.value - 1, "the number of ranks");
        if (ranks == 0) scan_.fail("expected at least 1 rank, got 0");
        // A block is "rank 0{}" at least, so that a large number in a small file cannot ask for memory.
        if (ranks > text_size / 8)
            scan_.fail(fmt::format("expected a block for each of the {} ranks, the file is too short for them", ranks));
        return ranks;
    }

    void read_block() {
        const std::size_t line = scan_.line();
        rank_ = Rank{static_cast<std::uint32_t>(scan_.number(any_rank.value - 1, "a rank"))};
        if (rank_.value >= ranks_) scan_.fail(fmt::format("expected a rank below {}, got {}", ranks_, rank_.value));
        if (block_[rank_.value] != 0)
            scan_.fail(fmt::format("expected one block for each rank, rank {} has one in line {}", rank_.value,
                                   block_[rank_.value]));
        block_[rank_.value] = line;
        scan_.skip_to_statement();
        if (!scan_.take('{')) scan_.expected("\"{\"");
        labels_.forget();
        forward_.clear();
        for (scan_.skip_to_statement(); !scan_.take('}'); scan_.skip_to_statement()) read_statement();
        for (const Dependency& dependency : forward_) {
            const std::uint32_t* later = labels_.find(dependency.later);
            const std::uint32_t* earlier = labels_.find(dependency.earlier);
            if (!later || !earlier)
                throw ParseError(file_, dependency.line,
                                 fmt::format("expected a label of rank {}, none is called {}", rank_.value,
                                             excerpt(later ? dependency.earlier : dependency.later)));
            builder_.require(rank_, *later, *earlier, dependency.on_start);
        }
    }

    void read_statement() {
        const std::string_view word = scan_.take_word();
        if (word.empty()) scan_.expected("a statement or \"}\"");
        scan_.skip_blanks();
        if (scan_.take(':')) {
            scan_.skip_blanks();
            const std::uint32_t op = read_operation(scan_.take_word());
            if (!labels_.give(word, op))
                scan_.fail(fmt::format("expected a label of its own, rank {} has given {} before", rank_.value,
                                       excerpt(word)));
        } else if (is_letter(scan_.peek())) {
            const std::string_view how = scan_.take_word();
            const bool on_start = how == "irequires";
            if (!on_start && how != "requires") scan_.expected("\":\", \"requires\" or \"irequires\" after the label");
            scan_.skip_blanks();
            const std::string_view earlier = scan_.take_word();
            if (earlier.empty()) scan_.expected("the label that is waited for");
            require({word, earlier, scan_.line(), on_start});
        } else {
            read_operation(word);
        }
        scan_.skip_blanks();
        const char end = scan_.peek();
        if (end != '\n' && end != ';' && end != '}' && !scan_.done()) scan_.expected("the end of the statement");
    }

    // Edges are kept in the order of the text, so that those after the first unknown label wait for the end, too.
    void require(const Dependency& dependency) {
        const std::uint32_t* later = labels_.find(dependency.later);
        const std::uint32_t* earlier = labels_.find(dependency.earlier);
        if (forward_.empty() && later && earlier)
            builder_.require(rank_, *later, *earlier, dependency.on_start);
        else
            forward_.push_back(dependency);
    }

    std::uint32_t read_operation(std::string_view word) {
        Op op;
        if (word == "calc") {
            op.kind = OpKind::compute;
            constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
            op.amount = scan_.number(most, "nanoseconds") * 1000;
        } else if (word == "send" || word == "recv") {
            op.kind = word == "send" ? OpKind::send : OpKind::receive;
            read_message(op);
        } else {
            scan_.expected("\"send\", \"recv\" or \"calc\"");
        }
        read_options(op);
        return builder_.add(rank_, op);
    }

    void read_message(Op& op) {
        const bool sends = op.kind == OpKind::send;
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        op.amount = scan_.number(most, "a number of bytes");
        scan_.skip_blanks();
        if (scan_.take_word() != "b") scan_.expected("\"b\" after the number of bytes");
        scan_.skip_blanks();
        if (scan_.take_word() != (sends ? "to" : "from")) scan_.expected(sends ? "\"to\"" : "\"from\"");
        scan_.skip_blanks();
        if (!sends && scan_.peek() == '-') {
            take_any();
            op.peer = any_rank;
            return;
        }
        op.peer = Rank{static_cast<std::uint32_t>(scan_.number(any_rank.value - 1, "a rank"))};
        if (op.peer.value >= ranks_) scan_.fail(fmt::format("expected a rank below {}, got {}", ranks_, op.peer.value));
    }

    void read_options(Op& op) {
        unsigned given = 0;
        for (;;) {
            scan_.skip_blanks();
            if (!is_letter(scan_.peek())) return;
            const std::string_view word = scan_.take_word();
            const bool message = op.kind != OpKind::compute;
            const unsigned which = word == "cpu" ? 1 : word == "nic" ? 2 : 4;
            if ((given & which) != 0) scan_.fail(fmt::format("expected {} once in a statement", excerpt(word)));
            given |= which;
            if (word == "cpu") {
                op.cpu = static_cast<std::uint8_t>(scan_.number(255, "a core"));
            } else if (message && word == "nic") {
                op.nic = static_cast<std::uint8_t>(scan_.number(255, "an adapter"));
            } else if (message && word == "tag") {
                scan_.skip_blanks();
                if (op.kind == OpKind::receive && scan_.peek() == '-') {
                    take_any();
                    op.tag = any_tag;
                } else {
                    op.tag = static_cast<std::uint32_t>(scan_.number(any_tag - 1, "a tag"));
                }
            } else {
                scan_.fail(fmt::format("expected {} or the end of the statement, got {}",
                                       message ? "\"tag\", \"cpu\", \"nic\"" : "\"cpu\"", excerpt(word)));
            }
        }
    }

    void take_any() {
        scan_.take('-');
        if (scan_.number(1, "1 after \"-\"") != 1) scan_.fail("expected a number or -1");
    }

    const std::string& file_;
    Scanner scan_;
    std::size_t ranks_;
    ScheduleBuilder builder_;
    std::vector<std::size_t> block_;  // the line of each rank's block, 0: none yet
    Rank rank_;                       // the block that is being read
    Labels labels_;
    std::vector<Dependency> forward_;
};

using Buffer = fmt::basic_memory_buffer<char, 1 << 16>;

void write_message(const Op& op, Buffer& text) {
    const bool sends = op.kind == OpKind::send;
    auto out = std::back_inserter(text);
    fmt::format_to(out, "{} {}b {} ", sends ? "send" : "recv", op.amount, sends ? "to" : "from");
    if (op.peer == any_rank)
        fmt::format_to(out, "-1");
    else
        fmt::format_to(out, "{}", op.peer.value);
    if (op.tag == any_tag)
        fmt::format_to(out, " tag -1");
    else
        fmt::format_to(out, " tag {}", op.tag);
}

}  // namespace

bool looks_like_goal(std::string_view text) {
    static const std::string nowhere;
    Scanner scan(text, nowhere);
    try {
        scan.skip_to_statement();
    } catch (const ParseError&) {
        return false;
    }
    return scan.take_word() == "num_ranks";
}

Schedule read_goal(std::string_view text, const std::string& file) {
    return Reader(text, file).read();
}

void write_goal(const Schedule& schedule, std::ostream& out) {
    Buffer text;
    auto end = std::back_inserter(text);
    fmt::format_to(end, "num_ranks {}\n", schedule.ranks());
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        fmt::format_to(end, "\nrank {} {{\n", rank);
        const OpIndex first = schedule.first(Rank{rank});
        const auto ops = schedule.ops(Rank{rank});
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            fmt::format_to(end, "l{}: ", i + 1);
            switch (op.kind) {
                case OpKind::compute:
                    fmt::format_to(end, "calc {}", op.amount / 1000 + (op.amount % 1000 >= 500 ? 1 : 0));
                    break;
                case OpKind::send:
                case OpKind::receive:
                    write_message(op, text);
                    break;
                case OpKind::copy:
                case OpKind::reduce:
                    throw Error(fmt::format("rank {}, operation {}: GOAL has no word for {}", rank, i,
                                            op.kind == OpKind::copy ? "copy" : "reduce"));
            }
            if (op.cpu != 0) fmt::format_to(end, " cpu {}", op.cpu);
            if (op.nic != 0 && op.kind != OpKind::compute) fmt::format_to(end, " nic {}", op.nic);
            text.push_back('\n');
        }
        for (std::uint32_t i = 0; i < ops.size(); ++i)
            for (const Successor& successor : schedule.successors(first + i))
                fmt::format_to(end, "l{} {}requires l{}\n", successor.op - first + 1, successor.on_start ? "i" : "",
                               i + 1);
        fmt::format_to(end, "}}\n");
        if (text.size() >= (1u << 15)) {
            out.write(text.data(), static_cast<std::streamsize>(text.size()));
            text.clear();
        }
    }
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace loom::traffic
