#include "house/shape.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

namespace loom::house {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \n");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

// Where what begins at `at` and is no code ends; `at` itself when code begins there.
std::size_t end_of_non_code(const std::string& text, std::size_t at) {
    const auto behind = [&](const std::string& closing, std::size_t from) {
        const std::size_t found = text.find(closing, from);
        return found == std::string::npos ? text.size() : found + closing.size();
    };
    if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
    if (text.compare(at, 2, "/*") == 0) return behind("*/", at + 2);
    if (text.compare(at, 2, "R\"") == 0 && (at == 0 || !is_word(text[at - 1]))) {
        const std::size_t open = text.find('(', at);
        return behind(")" + text.substr(at + 2, open - at - 2) + "\"", open);
    }
    const bool separator = text[at] == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1])) != 0;
    if ((text[at] == '"' || text[at] == '\'') && !separator) {
        std::size_t end = at + 1;
        while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
        return std::min(end + 1, text.size());
    }
    const std::size_t line = text.rfind('\n', at);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    if (text[at] == '#' && text.find_first_not_of(' ', begin) == at) {
        std::size_t end = text.find('\n', at);
        while (end != std::string::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
        return std::min(end, text.size());
    }
    return at;
}

// Comments, literals and preprocessor lines become blanks; lines stay where they are.
std::string code_of(std::string text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_non_code(text, at);
        const bool literal = end > at && (text[at] == '"' || text[at] == '\'');
        for (std::size_t i = at; i < end; ++i)
            if (text[i] != '\n') text[i] = ' ';
        if (literal) text[at] = '0';  // something stood here
        at = std::max(end, at + 1);
    }
    return text;
}

// The first of `wanted` outside of parentheses, braces and template arguments.
std::size_t find_outside(const std::string& text, const std::string& wanted, std::size_t from = 0) {
    int depth = 0;
    for (std::size_t i = from; i < text.size(); ++i) {
        if (depth == 0 && wanted.find(text[i]) != std::string::npos) return i;
        const bool arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
        if (text[i] == '(' || text[i] == '{' || text[i] == '[' || text[i] == '<') ++depth;
        if (text[i] == ')' || text[i] == '}' || text[i] == ']' || (text[i] == '>' && !arrow)) --depth;
    }
    return std::string::npos;
}

// The function that a declaration declares; empty when it declares none.
std::string function_name(const std::string& declaration) {
    if (const std::size_t at = declaration.find("operator"); at != std::string::npos) {
        const std::size_t open = declaration.find('(', at + 8);
        std::size_t begin = at;
        while (begin > 0 && (is_word(declaration[begin - 1]) || declaration[begin - 1] == ':')) --begin;
        return declaration.substr(begin, open == std::string::npos ? open : open - begin);
    }
    const std::size_t open = find_outside(declaration, "(=");
    if (open == std::string::npos || declaration[open] == '=') return {};
    std::string name;
    for (std::size_t at = open; at > 0; --at) {
        const char letter = declaration[at - 1];
        if (letter == '>' && name.starts_with("::")) {  // arguments of a class template are left out
            int depth = 1;
            while (--at > 1 && depth != 0)
                depth += declaration[at - 1] == '>' ? 1 : declaration[at - 1] == '<' ? -1 : 0;
            ++at;
            continue;
        }
        if (!is_word(letter) && letter != ':' && letter != '~') break;
        name.insert(name.begin(), letter);
    }
    return name;
}

struct Scope {
    enum class Kind { space, type, function, other } kind;
    std::size_t statement;  // where that began which the brace belongs to
    int parentheses;        // open ones before the brace
    std::size_t index = 0;  // of the class
    bool is_public = true;
    bool goes_on = false;  // the statement, behind the closing brace
};

class Scan {
public:
    explicit Scan(const std::string& source) : code_(code_of(source)) { scopes_.push_back({Scope::Kind::space, 0, 0}); }

    Shape run() {
        for (at_ = 0; at_ < code_.size(); ++at_) {
            const char c = code_[at_];
            if (c == '(') ++parentheses_;
            if (c == ')') --parentheses_;
            if (c == '{') open();
            if (c == '}') close();
            if (c == ';' && parentheses_ == 0) end_statement();
            if (c == ':' && scopes_.back().kind == Scope::Kind::type) change_access();
        }
        return shape_;
    }

private:
    [[nodiscard]] std::size_t line_of(std::size_t at) const {
        return 1 + static_cast<std::size_t>(std::count(code_.begin(), code_.begin() + static_cast<long>(at), '\n'));
    }
    [[nodiscard]] std::string statement() const { return trimmed(code_.substr(statement_, at_ - statement_)); }
    [[nodiscard]] std::size_t first_line() const { return line_of(code_.find_first_not_of(" \n", statement_)); }

    void open() {
        Scope scope{Scope::Kind::other, statement_, parentheses_};
        const Scope::Kind around = scopes_.back().kind;
        if (parentheses_ > 0 || around == Scope::Kind::function || around == Scope::Kind::other)
            scope.goes_on = parentheses_ > 0;
        else
            classify(scope);
        parentheses_ = 0;
        scopes_.push_back(scope);
        if (!scope.goes_on) statement_ = at_ + 1;
    }

    void classify(Scope& scope) {
        static const std::regex type(R"(^(template\s*<[^]*>\s*)?(class|struct|union)\b[^]*[^)]$)");
        static const std::regex key(R"((class|struct|union)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*([\w:]*))");
        const std::string text = statement();
        std::smatch match;
        if (text.starts_with("namespace") || text.starts_with("inline namespace") || text.starts_with("extern 0") ||
            text.starts_with("extern  ") || text == "extern") {
            scope.kind = Scope::Kind::space;
        } else if (text.starts_with("enum")) {
            scope.kind = Scope::Kind::other;
        } else if (std::regex_search(text, type) && std::regex_search(text, match, key) &&
                   find_outside(text, "=(") == std::string::npos) {
            scope.kind = Scope::Kind::type;
            scope.is_public = match[1] != "class";
            scope.index = shape_.classes.size();
            shape_.classes.push_back({match[2], first_line(), 0});
        } else if (std::string("= \n").find(code_[at_ - 1]) == std::string::npos || text.ends_with("=") ||
                   function_name(text).empty()) {
            scope.goes_on = true;  // an initializer
        } else {
            scope.kind = Scope::Kind::function;
        }
    }

    void close() {
        if (scopes_.size() == 1) return;
        const Scope scope = scopes_.back();
        scopes_.pop_back();
        parentheses_ = scope.parentheses;
        statement_ = scope.statement;
        if (scope.kind == Scope::Kind::function) {
            const std::size_t end = at_;
            at_ = code_.find('{', statement_);
            const std::size_t first = first_line();
            shape_.functions.push_back({function_name(statement()), first, line_of(end) - first + 1});
            at_ = end;
            if (scopes_.back().kind == Scope::Kind::type) {
                Class& type = shape_.classes[scopes_.back().index];
                ++type.functions;
                if (scopes_.back().is_public) ++type.public_members;
            }
        }
        if (scope.kind == Scope::Kind::type) shape_.classes[scope.index].last = line_of(at_);
        if (!scope.goes_on) statement_ = at_ + 1;
    }

    void end_statement() {
        if (scopes_.back().kind == Scope::Kind::type) take_member(statement());
        statement_ = at_ + 1;
    }

    void take_member(std::string text) {
        static const std::regex no_member(
            R"(^(using|typedef|friend|static_assert|(class|struct|union|enum)[\s\w]*$)|=\s*(delete|default)$)");
        if (text.empty() || std::regex_search(text, no_member)) return;
        Class& type = shape_.classes[scopes_.back().index];
        const std::string function = function_name(text);
        if (!function.empty()) {
            type.declared.push_back({function, first_line()});
            ++type.functions;
        }
        if (!scopes_.back().is_public) return;
        ++type.public_members;
        if (!function.empty()) return;
        for (std::size_t at = 0; (at = find_outside(text, ",", at)) != std::string::npos; ++at) ++type.public_members;
    }

    void change_access() {
        const std::string word = statement();
        if (word != "public" && word != "protected" && word != "private") return;
        scopes_.back().is_public = word == "public";
        statement_ = at_ + 1;
    }

    const std::string code_;
    Shape shape_;
    std::vector<Scope> scopes_;
    std::size_t at_ = 0, statement_ = 0;
    int parentheses_ = 0;
};

}  // namespace

Shape shape_of(const std::string& source) {
    return Scan(source).run();
}

}  // namespace loom::house
