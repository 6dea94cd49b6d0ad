// Functions, classes and section maps stay readable, or a list says why not.
#include "house/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "house/sections.hpp"
#include "house/sources.hpp"

namespace {

using namespace loom::house;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t longest_function = 80;
constexpr std::size_t most_public_members = 40;
constexpr std::size_t most_functions = 40;  // of a class
constexpr std::size_t most_files_of_a_class = 3;

// Offences against a rule that the list does not name, and names in the list that are no longer needed.
class Judgement {
public:
    explicit Judgement(const char* list) : list_(list), allowed_(allowed_in(list)) {}

    void offence(const std::string& name, const std::string& what) {
        if (allowed_.contains(name))
            needed_.insert(name);
        else
            offences_.push_back(name + ": " + what);
    }
    void expect_none() const {
        EXPECT_THAT(offences_, IsEmpty()) << "split it, or give a reason in tests/house/" << list_;
        for (const auto& [name, reason] : allowed_)
            EXPECT_TRUE(needed_.contains(name)) << name << " is no longer needed in tests/house/" << list_;
    }

private:
    std::string list_;
    std::map<std::string, std::string> allowed_;
    std::set<std::string> needed_;
    std::vector<std::string> offences_;
};

// "src/hca" of "src/hca/wire/ring.cpp": a list need not know where in a room something stands.
std::string area(const std::string& path) {
    return path.substr(0, path.find('/', path.find('/') + 1));
}

template <class Visit>
void each_shape(const std::vector<std::string>& tops, Visit&& visit) {
    each_file(tops, {".cpp", ".hpp"},
              [&](const std::string& path, const std::string& text) { visit(path, shape_of(text)); });
}

TEST(Shape, OfFunctionsIsShort) {
    Judgement judgement("long_functions.txt");
    std::size_t functions = 0;

    each_shape({"include", "src", "tests", "bench", "examples"}, [&](const std::string& path, const Shape& shape) {
        functions += shape.functions.size();
        for (const Function& each : shape.functions)
            if (each.lines > longest_function)
                judgement.offence(area(path) + " " + each.name, path + ", " + std::to_string(each.lines) + " lines");
    });

    judgement.expect_none();
    EXPECT_GT(functions, 5000u);
}

TEST(Shape, OfClassesIsNarrow) {
    Judgement judgement("large_classes.txt");
    std::map<std::string, std::set<std::string>> files;  // of "AREA CLASS"

    each_shape({"include", "src", "tests", "bench"}, [&](const std::string& path, const Shape& shape) {
        for (const Class& each : shape.classes) {
            if (each.public_members > most_public_members)
                judgement.offence(area(path) + " " + each.name,
                                  path + ", " + std::to_string(each.public_members) + " public members");
            if (each.functions > most_functions)
                judgement.offence(area(path) + " " + each.name,
                                  path + ", " + std::to_string(each.functions) + " functions");
        }
        if (!path.starts_with("src/") || !path.ends_with(".cpp")) return;
        for (const Function& each : shape.functions)
            if (const std::size_t end = each.name.rfind("::"); end != std::string::npos)
                files[area(path) + " " + each.name.substr(0, end)].insert(path);
    });
    for (const auto& [name, its] : files)
        if (its.size() > most_files_of_a_class)
            judgement.offence(name, "its methods stand in " + std::to_string(its.size()) + " files");

    judgement.expect_none();
}

TEST(Shape, OfHeadersIsAsTheirSectionMapsSay) {
    Judgement judgement("section_maps.txt");
    std::map<std::string, std::string> sources;
    each_file({"include", "src", "tests", "bench"}, {".cpp", ".hpp"},
              [&](const std::string& path, const std::string& text) { sources[path] = text; });

    for (const auto& [path, text] : sources)
        if (path.ends_with(".hpp"))
            for (const std::string& offence : wrong_sections(path, sources)) judgement.offence(path, offence);

    judgement.expect_none();
}

TEST(PlantedShape, OfFunctionsIsFound) {
    const Shape shape = shape_of(
        "namespace a {\n"
        "template <class T>\n"
        "std::map<int, T> Engine::start(const T& how,\n"
        "                               int n = 3) const {\n"
        "    if (n) {\n"
        "    }\n"
        "    return {};\n"
        "}\n"
        "Engine::Engine() : a_{1}, b_([] { return 2; }) {}\n"
        "bool operator==(const A& a, const A& b) {\n"
        "    return true;  // } {\n"
        "}\n"
        "const char* text = R\"x(void f() {)x\";\n"
        "constexpr int all[] = {\n    1'000,\n};\n"
        "struct B {\n"
        "    int inside() { return '}'; }\n"
        "};\n"
        "#define LATER() \\\n    void f() {\n"
        "}\n"
        "template <class T>\n"
        "void Level<std::vector<T>, int>::play() {\n"
        "}\n");

    std::vector<std::string> found;
    for (const Function& each : shape.functions)
        found.push_back(each.name + " " + std::to_string(each.line) + " " + std::to_string(each.lines));
    EXPECT_THAT(found, ElementsAre("Engine::start 2 7", "Engine::Engine 9 1", "operator== 10 3", "inside 18 1",
                                   "Level::play 23 3"));
}

TEST(PlantedShape, OfClassesIsFound) {
    const Shape shape = shape_of(
        "class A : public Base<int> {\n"
        "public:\n"
        "    A();\n"
        "    A(const A&) = delete;\n"
        "    using X = int;\n"
        "    enum class Kind { one, two };\n"
        "    struct Inner {\n"
        "        int x, y = 2;\n"
        "        std::map<int, int> z;\n"
        "    };\n"
        "    int get() const { return 1; }\n"
        "    std::function<void(int)> call{};\n"
        "private:\n"
        "    void hidden(int a, int b);\n"
        "    int state_;\n"
        "};\n");

    ASSERT_EQ(shape.classes.size(), 2u);
    EXPECT_EQ(shape.classes[0].name, "A");
    EXPECT_EQ(shape.classes[0].public_members, 3u) << "A(), get(), call";
    EXPECT_EQ(shape.classes[0].functions, 3u) << "A(), get(), hidden()";
    EXPECT_EQ(shape.classes[0].last, 16u);
    ASSERT_EQ(shape.classes[0].declared.size(), 2u);
    EXPECT_EQ(shape.classes[0].declared[1].name, "hidden");
    EXPECT_EQ(shape.classes[0].declared[1].line, 14u);
    EXPECT_EQ(shape.classes[1].name, "Inner");
    EXPECT_EQ(shape.classes[1].public_members, 3u);
    EXPECT_EQ(shape.classes[1].functions, 0u);
}

TEST(PlantedShape, OfAHeaderWithAWrongMapIsFound) {
    const std::string header =
        "class A {\n"
        "    // one.cpp: the first\n"
        "    void f();\n"
        "    void g();\n"
        "    int x;\n"
        "\n"
        "    // two.cpp\n"
        "    void h();\n"
        "\n"
        "    // three.cpp\n"
        "    void k();\n"
        "\n"
        "private:\n"
        "    void anywhere();\n"
        "};\n";
    const std::map<std::string, std::string> sources{{"src/room/a.hpp", header},
                                                     {"src/room/sub/one.cpp", "void A::f() {}\n"},
                                                     {"src/room/three.cpp", "void A::k() {}\n"},
                                                     {"src/other/two.cpp", "void A::h() {}\n"}};

    EXPECT_THAT(wrong_sections("src/room/a.hpp", sources),
                ElementsAre("line 2: no file one.cpp of this room has A::g()", "line 7: no file two.cpp in this room"));
}

}  // namespace
