// Without root, and where the kernel lets nobody copy between processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include "hca/clients/play.hpp"

namespace loom::test {
namespace {

constexpr const char* runs[] = {"rc send", "rc send_imm", "rc write", "rc write_imm", "rc read",
                                "rc cas",  "rc fadd",     "uc send",  "uc write",     "ud send"};

Played check_run(const std::string& run, const Side& server, const Side& client) {
    const Words words = split(run);
    return check({"--transport", words.at(0), "--operation", words.at(1), "--sizes", "0,1,1024,5000,65536,1M", "-n",
                  "24", "--sge", "2"},
                 server, client);
}

void expect_all_right(const Played& played, const std::string& run) {
    ASSERT_TRUE(played.ok()) << played.said();
    const bool atomic = run == "rc cas" || run == "rc fadd";
    const std::uint64_t sizes = atomic ? 1 : run.starts_with("ud") ? 3 : 6;
    EXPECT_EQ(played.server.answer()["messages"].get<std::uint64_t>() +
                  played.client.answer()["messages"].get<std::uint64_t>(),
              24 * sizes);
}

// Runs the checker as a user who owns nothing, from copies that anybody may read: root's clone may be closed to others.
class Nobody {
public:
    Nobody() {
        std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
        for (const std::filesystem::path file : {VERBS_CHECKER, LOOM_VERBS_LIBRARY_PATH}) {
            const std::filesystem::path copy = folder_.path() / file.filename();
            std::filesystem::copy_file(file, copy);
            std::filesystem::permissions(copy, std::filesystem::perms(0755));
        }
        side_.before = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"};
        side_.copies = folder_.path();
    }

    [[nodiscard]] const Side& side() const { return side_; }

private:
    peer::TemporaryFolder folder_;
    Side side_;
};

TEST(OrdinaryUser, CanDoEverything) {
    if (geteuid() != 0) GTEST_SKIP() << "all tests are run by an ordinary user already";
    const Nobody nobody;
    for (const char* run : runs) {
        SCOPED_TRACE(run);

        const Played played = check_run(run, nobody.side(), nobody.side());

        expect_all_right(played, run);
        EXPECT_EQ(played.sent().roce, 0u);
        if (std::string(run) == "rc write") {
            EXPECT_GT(played.sent().direct, 0u) << played.said();
        }
    }
}

TEST(OrdinaryUser, DoesNotReachAnotherUsersProcess) {
    if (geteuid() != 0) GTEST_SKIP() << "needs two users";
    const Nobody nobody;

    const Played played = check({"--sizes", "8", "-n", "1", "--timeout", "8", "--patience", "2"}, {}, nobody.side());

    EXPECT_FALSE(played.ok());
    EXPECT_NE(played.client.outcome.output.find("transport retry counter exceeded"), std::string::npos)
        << played.said();
}

TEST(DeniedCopies, AreDoneByTheTargetItself) {
    Side side;
    side.before = {DENY_COPIES};
    for (const char* run : runs) {
        SCOPED_TRACE(run);

        const Played played = check_run(run, side, side);

        expect_all_right(played, run);
        EXPECT_EQ(played.sent().direct, 0u) << played.said();
        EXPECT_EQ(played.sent().roce, 0u);
        if (std::string(run) == "rc write" || std::string(run) == "rc read") {
            EXPECT_GE(played.sent().target, 24u * (1 << 20)) << played.said();
        }
    }
}

TEST(DeniedCopies, OfOneSideAloneAreNoTroubleEither) {
    Side denied;
    denied.before = {DENY_COPIES};
    for (const char* run : runs) {
        SCOPED_TRACE(run);

        expect_all_right(check_run(run, denied, {}), run);
        expect_all_right(check_run(run, {}, denied), run);
    }
}

}  // namespace
}  // namespace loom::test
