#include "house/named.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using namespace loom::house;
using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

TEST(Documents, NameWhatIsThere) {
    const fs::path root = LOOM_SOURCE_DIR;
    std::vector<std::string> documents{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}, missing;
    std::size_t walks = 0;
    for (const auto& entry : fs::directory_iterator(root / "docs"))
        if (entry.path().extension() == ".md") documents.push_back("docs/" + entry.path().filename().string());

    for (const std::string& document : documents) {
        const bool walk = document.starts_with("docs/walk-");
        walks += walk ? 1 : 0;
        const auto found = missing_names(root, document, walk ? Look::functions : Look::files);
        missing.insert(missing.end(), found.begin(), found.end());
    }

    EXPECT_THAT(missing, IsEmpty());
    EXPECT_EQ(walks, 3u);
}

class PlantedDocument : public testing::Test {
protected:
    PlantedDocument() {
        put("src/base/file.cpp", "int work() { return 1; }\n");
        put("include/loom/base/file.hpp", "int work();\n");
    }
    void put(const std::string& path, const std::string& text) const {
        fs::create_directories((folder_.path() / path).parent_path());
        std::ofstream(folder_.path() / path) << text;
    }
    [[nodiscard]] std::vector<std::string> missing(const std::string& text, Look look = Look::functions) const {
        put("docs/page.md", text);
        return missing_names(folder_.path(), "docs/page.md", look);
    }

private:
    loom::test::TemporaryFolder folder_;
};

TEST_F(PlantedDocument, MayNameWhatIsThere) {
    EXPECT_THAT(missing("`src/base/file.cpp`: `work()`, [more](page.md#top), `loom/base/file.hpp`, `src/NAME.cpp`,\n"
                        "[site](https://example.org), `include/loom/<room>/x.hpp`, `src/base/`, `Base::work()`\n"),
                IsEmpty());
}

TEST_F(PlantedDocument, MayNotNameAFileThatIsGone) {
    EXPECT_THAT(missing("one\n`src/base/gone.cpp`\n`loom/base/gone.hpp` [gone](gone.md)\n", Look::files),
                ElementsAre("docs/page.md:2: no file src/base/gone.cpp", "docs/page.md:3: no file loom/base/gone.hpp",
                            "docs/page.md:3: no file gone.md"));
}

TEST_F(PlantedDocument, MayNotNameAFunctionThatIsElsewhere) {
    EXPECT_THAT(missing("`src/base/file.cpp` `Base::play()`, `work()`\n"),
                ElementsAre("docs/page.md:1: no Base::play() in src/base/file.cpp"));
    EXPECT_THAT(missing("`src/base/file.cpp` `Base::play()`\n", Look::files), IsEmpty());
}

}  // namespace
