// Programs with the library preloaded, as they come from the distribution.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

Outcome preloaded(const std::string& command, const std::string& hcas = "ib") {
    return shell("LOOM_VERBS_HCAS='" + hcas + "' LD_PRELOAD='" LOOM_VERBS_LIBRARY "' timeout 20 " + command);
}

TEST(Preloaded, DevicesAreListed) {
    const Outcome outcome = preloaded("ibv_devices", "3");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    for (const char* name : {"loom0", "loom1", "loom2"}) EXPECT_THAT(outcome.out, HasSubstr(name));
}

TEST(Preloaded, DevicesAreDescribed) {
    const Outcome outcome = preloaded("ibv_devinfo -v", "ib,roce:127.0.0.1");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("link_layer:\t\tInfiniBand"));
    EXPECT_THAT(outcome.out, HasSubstr("link_layer:\t\tEthernet"));
    EXPECT_THAT(outcome.out, HasSubstr("PORT_ACTIVE (4)"));
    EXPECT_THAT(outcome.out, HasSubstr("port_lid:\t\t1"));
    EXPECT_THAT(outcome.out, HasSubstr("::ffff:127.0.0.1, RoCE v2"));
    EXPECT_THAT(outcome.out, HasSubstr("ATOMIC_HCA (1)"));
}

TEST(Preloaded, ABadSettingIsOneLineAndNoDevice) {
    const Outcome outcome = preloaded("ibv_devices", "three");

    EXPECT_THAT(outcome.out, Not(HasSubstr("loom0")));
    EXPECT_EQ(outcome.err,
              "loom-verbs: LOOM_VERBS_HCAS='three': expected a number of HCAs, or a list like ib,ib or "
              "roce:10.9.0.1,roce:fd00::1; no device is listed\n");
}

TEST(Preloaded, AMisspelledSettingIsOneLine) {
    const Outcome outcome = shell("LOOM_VERBS_HCA=2 LOOM_WAITNG=spin LD_PRELOAD='" LOOM_VERBS_LIBRARY "' ibv_devices");
    const Outcome silent = shell("LOOM_VERBS_HCA=2 LOOM_WAITNG=spin LD_PRELOAD='" LOOM_VERBS_LIBRARY "' true");

    EXPECT_THAT(outcome.out, HasSubstr("loom0"));
    EXPECT_EQ(outcome.err, "loom-verbs: no such setting: LOOM_VERBS_HCA; did you mean LOOM_VERBS_HCAS?\n");
    EXPECT_EQ(silent.err, "") << "nothing asked for devices";
}

TEST(Preloaded, ClientsThatLoadVerbsThemselvesGetIt) {
    const Outcome outcome = preloaded(LOOM_DLOPEN_CLIENT, "2");

    EXPECT_EQ(outcome.out, "loom0\nloom1\nneighbour found\n") << outcome.err;
}

TEST(Preloaded, ProgramsThatDoNotSpeakVerbsSeeNothingOfIt) {
    const TemporaryFolder folder;
    const std::string script =
        "import os, subprocess, tempfile\n"
        "path = '" +
        folder.file("made") +
        "'\n"
        "fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o640); os.write(fd, b'x'); os.close(fd)\n"
        "print(oct(os.stat(path).st_mode & 0o777), os.access(path, os.R_OK), os.path.realpath(path) == path)\n"
        "print(tempfile.TemporaryFile(dir=os.path.dirname(path)).fileno() > 2, "
        "os.path.exists('/sys/class/infiniband/none'))\n"
        "print(subprocess.run(['echo', 'child'], capture_output=True).stdout)\n"
        "print(os.listdir('/proc/self/task') == [str(os.getpid())])\n";
    std::ofstream(folder.file("script.py")) << script;

    const Outcome outcome = preloaded("/usr/bin/python3 '" + folder.file("script.py") + "'");

    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out, "0o640 True True\nTrue False\nb'child\\n'\nTrue\n");
}

TEST(Preloaded, NodesOfTheKernelAreAnswered) {
    const Outcome text = preloaded(
        "cat /sys/class/infiniband/loom0/ports/1/gid_attrs/types/0 "
        "/sys/class/infiniband/loom0/ports/1/gid_attrs/ndevs/0",
        "roce:127.0.0.1");
    const Outcome node = preloaded("sh -c 'test -c /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0'");
    const Outcome status = preloaded("stat -c %F:%a /dev/infiniband/uverbs0 /sys/class/infiniband/loom0/ports");
    const Outcome none = preloaded("sh -c 'test -e /dev/infiniband/uverbs7'");

    EXPECT_EQ(text.out, "RoCE v2\nlo\n");
    EXPECT_EQ(node.exit_code, 0);
    EXPECT_EQ(status.out, "character special file:666\ndirectory:555\n");
    EXPECT_EQ(none.exit_code, 1);
}

TEST(Preloaded, TheTraceGoesWhereItIsAskedToGo) {
    const TemporaryFolder folder;

    const Outcome to_file = preloaded("env LOOM_VERBS_TRACE='" + folder.file("calls") + "' ibv_devinfo");
    const Outcome to_stderr = preloaded("env LOOM_VERBS_TRACE=1 ibv_devinfo");

    EXPECT_EQ(to_file.err, "");
    EXPECT_THAT(slurp(folder.file("calls")), HasSubstr("ibv_open_device(loom0) = 0x"));
    EXPECT_THAT(to_stderr.err, HasSubstr("ibv_query_port(loom0, 1) = 0\n"));
    EXPECT_THAT(to_stderr.err, HasSubstr("ibv_close_device("));
}

TEST(Library, ShowsVerbsFunctionsAndInterposedOnesAndNothingElse) {
    const Outcome outcome = shell("nm -D --defined-only '" LOOM_VERBS_LIBRARY "' | grep -c ' [A-Z] _Z'");
    const Outcome needed = shell("readelf -d '" LOOM_VERBS_LIBRARY "' | grep -E 'libstdc|libgcc|libfmt'");

    EXPECT_EQ(outcome.out, "0\n");
    EXPECT_EQ(needed.out, "");
}

TEST(Library, GivesEachFunctionTheVersionThatLibibverbsGivesIt) {
    const std::string list = " | awk '{print $3}' | grep -E '^(_?ibv|m[a-z]+_to_ibv)[a-z0-9_]*@@IBVERBS_1' | sort >";
    const TemporaryFolder folder;

    const Outcome outcome =
        shell("nm -D --defined-only '" LOOM_VERBS_LIBRARY "'" + list + folder.file("ours") +
              "; nm -D --defined-only \"$(/sbin/ldconfig -p | awk '/libibverbs.so.1 /{print $NF; exit}')\"" + list +
              folder.file("theirs") + "; comm -3 " + folder.file("ours") + " " + folder.file("theirs"));

    // Those are for librdmacm, which brings the system's library along.
    EXPECT_EQ(outcome.out,
              "\tibv_copy_ah_attr_from_kern@@IBVERBS_1.1\n\tibv_copy_path_rec_from_kern@@IBVERBS_1.0\n"
              "\tibv_copy_path_rec_to_kern@@IBVERBS_1.0\n\tibv_copy_qp_attr_from_kern@@IBVERBS_1.0\n")
        << outcome.err;
    EXPECT_GT(std::filesystem::file_size(folder.file("ours")), 1000u);
}

}  // namespace
