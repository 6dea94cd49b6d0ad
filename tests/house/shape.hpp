// How large functions and classes are, found in the text of sources that clang-format has laid out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loom::house {

struct Function {
    std::string name;         // as it is written: "Engine::start"
    std::size_t line, lines;  // where it begins (return type and all), and how many to its closing brace
};

struct Member {
    std::string name;
    std::size_t line;
};

struct Class {
    std::string name;
    std::size_t line, last;             // its first and last line
    std::size_t public_members = 0;     // functions and data; not types, friends, what is deleted or defaulted
    std::size_t functions = 0;          // of any access, with their body or without; not deleted or defaulted
    std::vector<Member> declared = {};  // functions without their body, of any access
};

struct Shape {
    std::vector<Function> functions;
    std::vector<Class> classes;
};

// Looks at braces, parentheses and a few words; knows no templates and no macros. Lambdas belong to what they stand in.
[[nodiscard]] Shape shape_of(const std::string& source);

}  // namespace loom::house
