#include "manager/child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "loom/base/error.hpp"

namespace loom::manager {
namespace {

using testing::HasSubstr;

ChildResult shell(const std::string& script, Time limit = milliseconds(60'000), std::size_t most = 1 << 20) {
    return run_child({"/bin/sh", "-c", script}, limit, most);
}

std::string failure(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(Child, GivesOutputErrorsAndStatusApart) {
    const ChildResult result = shell("echo out; echo err >&2; exit 3");

    EXPECT_EQ(result.out, "out\n");
    EXPECT_EQ(result.err, "err\n");
    EXPECT_EQ(result.status, 3);
}

TEST(Child, HasNoInputAndIsNoShell) {
    EXPECT_EQ(run_child({"/bin/cat"}, milliseconds(60'000)).out, "");
    EXPECT_EQ(run_child({"/bin/echo", "$HOME", "; rm x", "'"}, milliseconds(60'000)).out, "$HOME ; rm x '\n");
}

TEST(Child, MayPrintMoreThanAPipeHolds) {
    const ChildResult result = shell("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2");

    EXPECT_EQ(result.out.size(), 300'000u);
    EXPECT_EQ(result.err.size(), 200'000u);
}

TEST(Child, IsKilledWithItsChildrenWhenItTakesTooLong) {
    const std::string why = failure([] { (void)shell("sleep 600 & sleep 600", milliseconds(200)); });

    EXPECT_EQ(why, "sh has not ended after 200 ms");
}

TEST(Child, IsKilledWhenItClosesItsOutputsAndStays) {
    EXPECT_EQ(failure([] { (void)shell("exec >&- 2>&-; sleep 600", milliseconds(200)); }),
              "sh has not ended after 200 ms");
}

TEST(Child, MayNotPrintWithoutEnd) {
    EXPECT_EQ(failure([] { (void)shell("yes", milliseconds(60'000), 100'000); }), "sh printed more than 100000 bytes");
}

TEST(Child, MayNotComplainMoreThanItMayPrint) {
    const auto printing = [](const std::string& script) {
        return failure([&] { (void)shell(script, milliseconds(60'000), 100'000); });
    };

    EXPECT_EQ(printing("head -c 200000 /dev/zero >&2"), "sh printed more than 100000 bytes");
    EXPECT_EQ(printing("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2"), "sh printed more than 100000 bytes");
    EXPECT_EQ(printing("head -c 60000 /dev/zero >&2"), "none");
}

TEST(Child, TellsASignal) {
    EXPECT_EQ(shell("kill -9 $$").status, 128 + 9);
}

TEST(Child, ThatIsNotThere) {
    EXPECT_THAT(failure([] { (void)run_child({"/no/such/program"}, milliseconds(1000)); }),
                HasSubstr("cannot run /no/such/program: No such file"));
    EXPECT_EQ(
        failure([] { (void)find_tool("no-such-tool-of-any-subnet"); }),
        "no-such-tool-of-any-subnet is not there (looked in PATH, /usr/sbin and /sbin): install infiniband-diags");
    EXPECT_EQ(find_tool("/bin/sh"), "/bin/sh");
}

TEST(CommandLine, QuotesWhatAShellWouldChange) {
    EXPECT_EQ(command_line({"perfquery", "-x", "3", "1,2"}), "perfquery -x 3 1,2");
    EXPECT_EQ(command_line({"a b", "", "it's"}), "'a b' '' 'it'\\''s'");
}

}  // namespace
}  // namespace loom::manager
