#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom {
namespace {

TEST(FileText, IsTheFileWhetherMappedOrCopied) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "file_text_test";
    const std::string content = "first\nsecond\0third\n";
    write_file(path, content);

    const FileText mapped(path, 1);
    const FileText copied(path);

    EXPECT_EQ(mapped.text(), content);
    EXPECT_EQ(copied.text(), content);
    std::filesystem::remove(path);
}

TEST(FileText, AnEmptyFileIsAnEmptyText) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "file_text_empty_test";
    write_file(path, "");

    const FileText mapped(path, 0);

    EXPECT_EQ(mapped.text(), "");
    std::filesystem::remove(path);
}

TEST(FileText, AMissingFileAndAFolderAreErrors) {
    EXPECT_THROW(FileText("/no/such/file", 1), IoError);
    EXPECT_THROW(FileText(testing::TempDir(), 1), IoError);
}

}  // namespace
}  // namespace loom
