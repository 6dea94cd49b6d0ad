#include "house/arrows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using namespace loom::house;
using testing::ElementsAre;
using testing::IsEmpty;

void put(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

TEST(Arrows, PointDownEverywhere) {
    const std::filesystem::path root = LOOM_SOURCE_DIR;
    const Rooms rooms = read_rooms(root / "CMakeLists.txt");

    const auto offences = wrong_includes(root, rooms);

    EXPECT_GE(rooms.size(), 7u);
    EXPECT_THAT(offences, IsEmpty());
}

class PlantedInclude : public testing::Test {
protected:
    PlantedInclude() {
        put(root() / "CMakeLists.txt",
            "loom_room(base)\nloom_room(fabric base)\nloom_room(routing fabric)\n# loom_room(ghost)\n");
    }
    [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }
    [[nodiscard]] std::vector<std::string> offences() const {
        return wrong_includes(root(), read_rooms(root() / "CMakeLists.txt"));
    }

private:
    loom::test::TemporaryFolder folder_;
};

TEST_F(PlantedInclude, IsCaughtWhenItPointsUp) {
    put(root() / "include/loom/fabric/a.hpp", "// first\n#include \"loom/routing/b.hpp\"\n");

    EXPECT_THAT(offences(),
                ElementsAre("include/loom/fabric/a.hpp:2: loom/routing/b.hpp: 'fabric' must not know 'routing'"));
}

TEST_F(PlantedInclude, IsCaughtInATest) {
    put(root() / "tests/base/a_test.cpp", "#include \"loom/fabric/b.hpp\"\n");

    EXPECT_THAT(offences(), ElementsAre("tests/base/a_test.cpp:1: loom/fabric/b.hpp: 'base' must not know 'fabric'"));
}

TEST_F(PlantedInclude, IsCaughtWhenItNamesNoRoom) {
    put(root() / "src/base/a.cpp", "#include \"loom/ghost/b.hpp\"\n");

    EXPECT_THAT(offences(), ElementsAre("src/base/a.cpp:1: loom/ghost/b.hpp: there is no room 'ghost'"));
}

TEST_F(PlantedInclude, IsCaughtWhenItReachesIntoAnotherRoom) {
    put(root() / "src/routing/a.cpp", "#include \"fabric/private.hpp\"\n");
    put(root() / "include/loom/base/a.hpp", "#include \"base/private.hpp\"\n");

    EXPECT_THAT(offences(),
                ElementsAre("include/loom/base/a.hpp:1: base/private.hpp: a public header includes a private one",
                            "src/routing/a.cpp:1: fabric/private.hpp: the private headers of 'fabric' are its own"));
}

TEST_F(PlantedInclude, IsFineWhenItPointsDown) {
    put(root() / "include/loom/routing/a.hpp", "#include \"loom/base/b.hpp\"\n#include \"loom/fabric/c.hpp\"\n");
    put(root() / "src/routing/a.cpp",
        "#include \"loom/routing/a.hpp\"\n#include \"routing/private.hpp\"\n#include \"near.hpp\"\n");
    put(root() / "src/cli/main.cpp", "#include \"loom/routing/a.hpp\"\n");

    EXPECT_THAT(offences(), IsEmpty());
}

}  // namespace
