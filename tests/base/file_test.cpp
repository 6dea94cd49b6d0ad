#include "loom/base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <ostream>
#include <string>

#include "loom/base/error.hpp"

namespace loom {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
    std::filesystem::path folder_ =
        std::filesystem::path(::testing::TempDir()) /
        ("loom_files_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Files, WhatIsWrittenIsReadBack) {
    const std::string bytes("a\0b\nc", 5);

    write_file(folder_ / "x", bytes);

    EXPECT_EQ(read_file(folder_ / "x"), bytes);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AFailureHalfWayLeavesTheOldContentAndNoTemporary) {
    write_file(folder_ / "x", "old");

    EXPECT_THROW(write_file(folder_ / "x",
                            [](std::ostream& out) {
                                out << "half";
                                throw Error("no more");
                            }),
                 Error);

    EXPECT_EQ(read_file(folder_ / "x"), "old");
    EXPECT_EQ(entries(), 1u);
}

// A limit to what a process may write to a file stands for a full disk.
TEST_F(Files, AFullDiskLeavesTheOldContentAndNoTemporary) {
    write_file(folder_ / "x", "old");
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 100;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);

    std::string message;
    try {
        write_file(folder_ / "x", std::string(1000, 'y'));
    } catch (const IoError& error) {
        message = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);

    EXPECT_THAT(message, HasSubstr("x: cannot write: File too large"));
    EXPECT_EQ(read_file(folder_ / "x"), "old");
    EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ADeviceThatTakesNothingIsAnError) {
    EXPECT_THROW(write_file("/dev/full", "x"), IoError);
    EXPECT_NO_THROW(write_file("/dev/null", "x"));
}

TEST_F(Files, WhatCannotBeOpenedIsNamedWithTheReason) {
    try {
        (void)read_file(folder_ / "absent");
        FAIL();
    } catch (const IoError& error) {
        EXPECT_THAT(error.what(), HasSubstr("absent: cannot read: No such file or directory"));
    }
    EXPECT_THROW((void)read_file(folder_), IoError);
    EXPECT_THROW(write_file(folder_ / "no" / "x", "y"), IoError);
}

TEST(File, ADeviceThatNeverEndsIsRefused) {
    try {
        (void)read_file("/dev/zero");
        FAIL() << "no error";
    } catch (const IoError& error) {
        EXPECT_STREQ(error.what(), "/dev/zero: is too long, expected at most 64.0 MiB");
    }
}

TEST(Lines, PassOverAByteOrderMark) {
    Lines lines("\xef\xbb\xbfone\n\xef\xbb\xbftwo");
    std::string_view first, second;

    EXPECT_TRUE(lines.next(first));
    EXPECT_TRUE(lines.next(second));

    EXPECT_EQ(first, "one");
    EXPECT_EQ(second, "\xef\xbb\xbftwo");
}

TEST(Lines, AreCountedAndFreedOfCarriageReturns) {
    Lines lines("one\r\n\nthree");
    std::string_view line;

    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "one");
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "");
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "three");
    EXPECT_EQ(lines.number(), 3u);
    EXPECT_FALSE(lines.next(line));
}

}  // namespace
}  // namespace loom
