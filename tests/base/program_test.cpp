#include "loom/base/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "loom/base/error.hpp"

namespace loom {
namespace {

namespace fs = std::filesystem;

// A folder with programs `one` and `two`, a text that is none, and a folder `three`.
class Programs : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "loom-programs-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        for (const char* program : {"one", "two", "text"}) std::ofstream(folder_ / program) << "#!/bin/sh\n";
        for (const char* program : {"one", "two"}) chmod((folder_ / program).c_str(), 0755);
        fs::create_directory(folder_ / "three");
    }
    void TearDown() override {
        set("PATH", path_);
        set("LD_PRELOAD", preload_);
        fs::remove_all(folder_);
    }
    static std::optional<std::string> get(const char* name) {
        const char* value = std::getenv(name);
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    }
    static void set(const char* name, const std::optional<std::string>& value) {
        if (value)
            setenv(name, value->c_str(), 1);
        else
            unsetenv(name);
    }

    fs::path folder_;
    std::optional<std::string> path_ = get("PATH"), preload_ = get("LD_PRELOAD");
};

TEST_F(Programs, AreFoundInPathAndBeyond) {
    set("PATH", "/nonesuch:" + folder_.string());
    const fs::path in_path = find_program("one");
    set("PATH", "/nonesuch");

    EXPECT_EQ(in_path, folder_ / "one");
    EXPECT_EQ(find_program("one"), fs::path());
    EXPECT_EQ(find_program("one", "/none:" + folder_.string()), folder_ / "one");
}

TEST_F(Programs, AreFilesThatCanBeRun) {
    set("PATH", folder_.string());

    EXPECT_EQ(find_program("text"), fs::path());
    EXPECT_EQ(find_program("three"), fs::path());
    EXPECT_EQ(find_program((folder_ / "two").string()), folder_ / "two");
    EXPECT_EQ(find_program((folder_ / "text").string()), fs::path());
}

TEST_F(Programs, AreInTheUsualFoldersWithoutAPath) {
    set("PATH", std::nullopt);

    EXPECT_FALSE(find_program("sh").empty());
}

TEST_F(Programs, PreloadALibraryOnceAndFirst) {
    set("LD_PRELOAD", std::nullopt);
    EXPECT_EQ(preload_list("/a/b.so"), "/a/b.so");

    set("LD_PRELOAD", "/c/d.so");
    EXPECT_EQ(preload_list("/a/b.so"), "/a/b.so:/c/d.so");
    EXPECT_EQ(preload_list("/c/d.so"), "/c/d.so");
    EXPECT_THROW((void)preload_list("/with blank.so"), UsageError);
}

}  // namespace
}  // namespace loom
