#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "loom/base/error.hpp"
#include "peer/harness/opensm.hpp"
#include "peer/harness/process.hpp"

namespace loom::peer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Command shell(const TemporaryFolder& folder, const std::string& script, double seconds = 20) {
    Command command;
    command.arguments = {"sh", "-c", script};
    command.directory = folder.path();
    command.output = folder.path() / "out";
    command.timeout = Seconds{seconds};
    return command;
}

// Two hosts on two switches joined by two cables.
constexpr const char* small_net =
    "Switch\t4 \"left\"\n[1]\t\"a\"[1]\t# \"a\" lid 0 4xQDR\n[3]\t\"right\"[3]\t# \"right\" lid 0 4xQDR\n"
    "[4]\t\"right\"[4]\t# \"right\" lid 0 4xQDR\n\n"
    "Switch\t4 \"right\"\n[1]\t\"b\"[1]\t# \"b\" lid 0 4xQDR\n[3]\t\"left\"[3]\t# \"left\" lid 0 4xQDR\n"
    "[4]\t\"left\"[4]\t# \"left\" lid 0 4xQDR\n\n"
    "Hca\t1 \"a\"\n[1]\t\"left\"[1]\t# \"left\" lid 0 4xQDR\n\n"
    "Hca\t1 \"b\"\n[1]\t\"right\"[1]\t# \"right\" lid 0 4xQDR\n\n";

TEST(Process, ReportsOutputAndStatus) {
    const TemporaryFolder folder;

    const Outcome outcome = run(shell(folder, "echo word; echo trouble >&2; exit 3"));

    EXPECT_EQ(outcome.status, 3);
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.output, "word\n");
    EXPECT_EQ(outcome.errors, "trouble\n");
}

TEST(Process, KillsTheWholeGroupAfterTheTimeLimit) {
    const TemporaryFolder folder;

    const Outcome outcome = run(shell(folder, "sleep 60 & echo $!; wait", 2));

    EXPECT_TRUE(outcome.timed_out);
    const pid_t grandchild = std::stoi(outcome.output);
    // The signal may still be on its way: wait for the end itself, which a process descriptor tells.
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, grandchild, 0));
    if (descriptor < 0) {
        EXPECT_EQ(errno, ESRCH);
        return;
    }
    pollfd ended{descriptor, POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 30'000), 1);
    close(descriptor);
}

TEST(Process, NamesAProgramThatIsNotThere) {
    const TemporaryFolder folder;
    Command command = shell(folder, "");
    command.arguments = {"no-such-program-here"};

    EXPECT_THROW((void)run(command), Error);
}

TEST(Process, BackgroundDiesWithItsObject) {
    const TemporaryFolder folder;
    auto background = std::make_unique<Background>(shell(folder, "exec sleep 60"));
    const pid_t child = background->id();
    ASSERT_TRUE(background->alive());

    background.reset();

    EXPECT_EQ(kill(child, 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST(OpensmLog, GivesEngineErrorsAndTheTimeOfTheComputation) {
    const std::string log =
        "Nov 15 04:52:01 591576 [D53786C0] 0x04 -> ucast_mgr_route: building routing with 'ftree' routing "
        "algorithm...\n"
        "Nov 15 04:52:01 591600 [AAAAAAA0] 0x10 -> osm_prepare_req_set: [\n"
        "Nov 15 04:52:01 592000 [D53786C0] 0x01 -> somewhere: ERR AB09: trouble\n"
        "Nov 15 04:52:02 593810 [D53786C0] 0x10 -> osm_prepare_req_set: [\n"
        "Nov 15 04:52:02 596077 [D53786C0] 0x02 -> osm_ucast_mgr_process: ftree tables configured on all switches\n"
        "Nov 15 04:52:02 600000 [D53786C0] 0x01 -> setup_routing_engines: Failed to setup routing engine "
        "'no_fallback'\n"
        "Nov 15 04:52:03 000000 [D53786C0] 0x02 -> SUBNET UP\n";
    OpensmRun run;

    read_log(log, run);

    EXPECT_TRUE(run.came_up);
    EXPECT_EQ(run.engine_used, "ftree");
    EXPECT_NEAR(run.routing_seconds, 1.002234, 1e-9);
    EXPECT_THAT(run.errors, testing::ElementsAre("somewhere: ERR AB09: trouble"));
}

TEST(Subnet, RefusesAFileThatIbsimRefuses) {
    EXPECT_THROW(Subnet("Switch nonsense\n"), Error);
}

TEST(Subnet, ComesUpUnderOpensmAndToolsSeeIt) {
    Subnet subnet(small_net);

    const OpensmRun run = subnet.opensm({.engine = "minhop"});
    const Outcome discovered = subnet.tool({"ibnetdiscover"});
    const IbdmchkRun checked = subnet.ibdmchk();

    EXPECT_TRUE(run.came_up);
    EXPECT_EQ(run.engine_used, "minhop");
    EXPECT_THAT(run.errors, IsEmpty());
    EXPECT_GT(run.routing_seconds, 0);
    EXPECT_THAT(run.lfts, HasSubstr("Unicast lids"));
    EXPECT_THAT(run.subnet, HasSubstr("{left}"));
    EXPECT_TRUE(discovered.ok()) << discovered.errors;
    EXPECT_THAT(discovered.output, HasSubstr("\"left\""));
    EXPECT_TRUE(checked.finished) << checked.outcome.output;
    EXPECT_FALSE(checked.credit_loops);
    EXPECT_EQ(checked.paths, 2u);
    EXPECT_THAT(checked.errors, IsEmpty());
}

TEST(Subnet, SeveralLiveSideBySide) {
    Subnet first(small_net);
    Subnet second(small_net);

    const OpensmRun one = first.opensm({.engine = "minhop"});
    const OpensmRun other = second.opensm({.engine = "sssp"});

    EXPECT_EQ(one.engine_used, "minhop");
    EXPECT_EQ(other.engine_used, "sssp");
}

}  // namespace
}  // namespace loom::peer
