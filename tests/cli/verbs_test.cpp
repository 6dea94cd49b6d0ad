#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::shell;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

void make_program(const std::string& path, const std::string& content, mode_t mode = 0755) {
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
}

// A program of this machine, as far as its header says, that asks for no dynamic linker.
std::string static_program(unsigned char bits = ELFCLASS64) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    std::ifstream self("/proc/self/exe", std::ios::binary);
    Elf64_Ehdr own{};
    self.read(reinterpret_cast<char*>(&own), sizeof own);
    header.e_machine = own.e_machine;
    header.e_ident[EI_CLASS] = bits;
    return {reinterpret_cast<const char*>(&header), sizeof header};
}

TEST(VerbsRun, SaysInJsonWhatItWouldDo) {
    const Outcome outcome = loom_program(
        "verbs run --json --hcas ib,ib --trace=calls.txt --fault seed=3,drop=0.5 --stats s --roce-port 5000 --no-gso "
        "--no-shared --no-ptracer --realtime -- sh -c 'exit 1'");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_THAT(object["program"], EndsWith("/sh"));
    EXPECT_EQ(object["arguments"], (json{"sh", "-c", "exit 1"}));
    EXPECT_THAT(object["library"], EndsWith("/libloom-verbs.so"));
    const json& environment = object["environment"];
    EXPECT_EQ(environment["LD_PRELOAD"], object["library"]);
    EXPECT_EQ(environment["LOOM_VERBS_HCAS"], "ib,ib");
    EXPECT_EQ(environment["LOOM_VERBS_TRACE"], std::filesystem::absolute("calls.txt").string());
    EXPECT_EQ(environment["LOOM_VERBS_FAULT"], "seed=3,drop=0.5");
    EXPECT_EQ(environment["LOOM_VERBS_STATS"], std::filesystem::absolute("s").string());
    EXPECT_EQ(environment["LOOM_VERBS_ROCE_PORT"], "5000");
    EXPECT_EQ(environment["LOOM_VERBS_GSO"], "0");
    EXPECT_EQ(environment["LOOM_VERBS_SHARED"], "0");
    EXPECT_EQ(environment["LOOM_VERBS_PTRACER"], "0");
    EXPECT_EQ(environment["LOOM_VERBS_REALTIME"], "1");
}

TEST(VerbsRun, KeepsWhatIsPreloadedAlready) {
    const Outcome outcome = shell("LD_PRELOAD=libm.so.6 '" LOOM_PROGRAM "' verbs run --json -- sh");

    EXPECT_THAT(json::parse(outcome.out)["environment"]["LD_PRELOAD"], EndsWith("/libloom-verbs.so:libm.so.6"));
}

TEST(VerbsRun, PreloadsOnceInsideOfAnother) {
    const Outcome outcome = loom_program("verbs run -- '" LOOM_PROGRAM "' verbs run --json -- sh");

    const json object = json::parse(outcome.out);
    EXPECT_EQ(object["environment"]["LD_PRELOAD"], object["library"]);
}

struct Refusal {
    std::string name, content;
    mode_t mode;
    std::string reason;
};

class VerbsRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(VerbsRefuse, ProgramsThatNothingCanBePreloadedInto) {
    const TemporaryFolder folder;
    const std::string path = folder.file("program");
    make_program(path, GetParam().content.empty() ? slurp("/bin/sh") : GetParam().content, GetParam().mode);

    const Outcome outcome = loom_program("verbs run -- '" + path + "'");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err,
              "loom: " + path + " " + GetParam().reason + ": the dynamic linker preloads no library into it\n");
}

INSTANTIATE_TEST_SUITE_P(Each, VerbsRefuse,
                         testing::Values(Refusal{"Static", static_program(), 0755, "is a static program"},
                                         Refusal{"Narrow", static_program(ELFCLASS32), 0755, "is a 32-bit program"},
                                         Refusal{"Short", "\177ELF", 0755, "is cut short"},
                                         Refusal{"Setuid", "", 04755, "changes its user (setuid)"},
                                         Refusal{"Setgid", "", 02755, "changes its group (setgid)"}),
                         [](const auto& refusal) { return refusal.param.name; });

TEST(VerbsRun, RefusesWhatIsNotThere) {
    const TemporaryFolder folder;
    make_program(folder.file("text"), "no program", 0644);

    const Outcome absent = loom_program("verbs run -- nonesuch-program");
    const Outcome text = loom_program("verbs run -- '" + folder.file("text") + "'");
    const Outcome none = loom_program("verbs run");
    const Outcome library = shell("LOOM_VERBS_LIBRARY=/nonesuch.so '" LOOM_PROGRAM "' verbs run -- sh");

    EXPECT_EQ(absent.exit_code, 2);
    EXPECT_EQ(absent.err, "loom: no such program: nonesuch-program\n");
    EXPECT_EQ(text.exit_code, 2);
    EXPECT_THAT(text.err, HasSubstr("is not a program that can be run"));
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_EQ(library.exit_code, 2);
    EXPECT_EQ(library.err, "loom: LOOM_VERBS_LIBRARY='/nonesuch.so': there is no such file\n");
}

TEST(VerbsRun, RefusesSettingsThatTheLibraryWould) {
    const Outcome hcas = loom_program("verbs run --hcas nine -- sh");
    const Outcome fault = loom_program("verbs run --fault drop=7 -- sh");

    EXPECT_EQ(hcas.exit_code, 2);
    EXPECT_THAT(hcas.err, StartsWith("loom: LOOM_VERBS_HCAS='nine': expected "));
    EXPECT_EQ(fault.exit_code, 2);
    EXPECT_THAT(fault.err, StartsWith("loom: LOOM_VERBS_FAULT='drop=7': expected drop from 0 to 1"));
}

TEST(VerbsDevices, AreListedAsProgramsSeeThem) {
    const Outcome outcome = loom_program("verbs devices --json --hcas ib,roce:127.0.0.1");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json devices = json::parse(outcome.out)["devices"];
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[0]["name"], "loom0");
    EXPECT_EQ(devices[0]["lid"], 1);
    EXPECT_EQ(devices[0]["mtu"], 4096);
    EXPECT_EQ(devices[1]["link_layer"], "Ethernet");
    EXPECT_EQ(devices[1]["gid"], "::ffff:127.0.0.1");
}

TEST(VerbsDevices, AreATableForPeople) {
    const Outcome outcome = loom_program("verbs devices");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("loom0"));
    EXPECT_THAT(outcome.out, HasSubstr("InfiniBand"));
}

TEST(VerbsBench, MeasuresAndComparesTheBytes) {
    const Outcome outcome = loom_program("verbs bench --json");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_EQ(object["data"], "right");
    ASSERT_EQ(object["sizes"].size(), 7u);
    for (const json& row : object["sizes"]) {
        EXPECT_GT(row["send_us"], 0);
        EXPECT_GT(row["read_gb_per_s"], 0);
        EXPECT_NE(row["write_path"], "");
    }
}

TEST(VerbsBench, NeedsTwoHcas) {
    const Outcome outcome = loom_program("verbs bench --hcas ib");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("expected two HCAs or more"));
}

TEST(VerbsCounters, OfOtherProcessesAreNone) {
    const Outcome outcome = loom_program("verbs counters $$");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("has no software HCA open that you may look at"));
}

// A sanitizer's runtime must be loaded first: nothing sanitized can be preloaded into foreign programs.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST(VerbsRun, GivesTheProgramDevicesAndTakesItsExitCode) {
    const Outcome devices = loom_program("verbs run --hcas 2 -- ibv_devices");
    const Outcome code = loom_program("verbs run -- sh -c 'exit 7'");

    EXPECT_EQ(devices.exit_code, 0);
    EXPECT_THAT(devices.out, HasSubstr("loom1"));
    EXPECT_EQ(devices.err, "");
    EXPECT_EQ(code.exit_code, 7);
}

TEST(VerbsRun, LeavesTheProgramsOptionsToTheProgram) {
    const Outcome outcome = loom_program("verbs run -- ibv_devinfo -d loom0 -l");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("loom0"));
}

TEST(VerbsRun, TracesIntoAFileOrOnStandardError) {
    const TemporaryFolder folder;

    const Outcome to_file = loom_program("verbs run --trace='" + folder.file("calls") + "' -- ibv_devinfo");
    const Outcome to_stderr = loom_program("verbs run --trace -- ibv_devinfo");

    EXPECT_EQ(to_file.err, "");
    EXPECT_THAT(slurp(folder.file("calls")), HasSubstr("ibv_open_device(loom0)"));
    EXPECT_THAT(to_stderr.err, HasSubstr("ibv_open_device(loom0)"));
}

TEST(VerbsRun, KeepsTheCountersOfWhatHasEnded) {
    const TemporaryFolder folder;

    const Outcome outcome = loom_program("verbs run --stats '" + folder.file("stats") + "' -- ibv_devinfo");

    EXPECT_EQ(outcome.exit_code, 0);
    const json line = json::parse(slurp(folder.file("stats")));
    EXPECT_EQ(line["program"], "ibv_devinfo");
    EXPECT_EQ(line["hcas"][0]["name"], "loom0");
}

TEST(VerbsRun, SaysThatTheCountersCannotBeKept) {
    const Outcome outcome = loom_program("verbs run --stats /nonesuch/stats -- ibv_devinfo");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "loom-verbs: cannot write the counters to /nonesuch/stats: No such file or directory\n");
}

TEST(VerbsRun, FilesAreSeenFromWhereItWasStarted) {
    const TemporaryFolder folder;

    const Outcome outcome =
        shell("cd '" + folder.file(".") +
              "' && '" LOOM_PROGRAM "' verbs run --stats stats --trace=calls -- sh -c 'cd / && exec ibv_devinfo'");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(json::parse(slurp(folder.file("stats")))["program"], "ibv_devinfo");
    EXPECT_THAT(slurp(folder.file("calls")), HasSubstr("ibv_open_device(loom0)"));
}

TEST(VerbsRun, ALimitOnFilesMakesNoDeviceButKillsNobody) {
    const Outcome outcome = shell("ulimit -f 4; '" LOOM_PROGRAM "' verbs run --trace -- ibv_devinfo");

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("ibv_open_device(loom0) = NULL EFBIG"));
}

TEST(VerbsRun, JudgesAScriptByItsInterpreter) {
    const TemporaryFolder folder;
    make_program(folder.file("static"), static_program());
    make_program(folder.file("bad"), "#! " + folder.file("static") + " -x\n");
    make_program(folder.file("lost"), "#!/nonesuch/interpreter\n");
    make_program(folder.file("nameless"), "echo ran\n");
    make_program(folder.file("good"), "#!/bin/sh\necho ran \"$1\"\n");

    const Outcome bad = loom_program("verbs run -- '" + folder.file("bad") + "'");
    const Outcome lost = loom_program("verbs run -- '" + folder.file("lost") + "'");
    const Outcome nameless = loom_program("verbs run -- '" + folder.file("nameless") + "'");
    const Outcome good = loom_program("verbs run -- '" + folder.file("good") + "' well");

    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_THAT(bad.err, HasSubstr(folder.file("static") + " is a static program"));
    EXPECT_EQ(lost.exit_code, 2);
    EXPECT_THAT(lost.err, HasSubstr("no such interpreter: /nonesuch/interpreter"));
    EXPECT_EQ(good.out, "ran well\n");
    EXPECT_EQ(nameless.exit_code, 2);
    EXPECT_THAT(nameless.err, HasSubstr("a script begins with a line like #!/bin/sh"));
}

TEST(VerbsRun, SaysWhyPacketsCannotBeHad) {
    // The port is somebody else's, and the other side (played by the shell) is on another host.
    const int holder = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    ASSERT_EQ(bind(holder, reinterpret_cast<const sockaddr*>(&name), size), 0);
    ASSERT_EQ(getsockname(holder, reinterpret_cast<sockaddr*>(&name), &size), 0);
    const std::string udp = std::to_string(ntohs(name.sin_port)), tcp = std::to_string(20000 + getpid() % 10000);

    const Outcome outcome = shell("timeout 20 '" LOOM_PROGRAM "' verbs run --hcas roce:127.0.0.1 --roce-port " + udp +
                                  " -- ibv_rc_pingpong -g 0 -p " + tcp +
                                  " & pid=$!\n"
                                  "timeout 20 bash -c 'until exec 3<>/dev/tcp/127.0.0.1/" +
                                  tcp +
                                  "; do sleep 0.05; done; printf "
                                  "\"0000:000001:000001:00000000000000000000ffff0aff0001\\0\" >&3; head -c 10 <&3' "
                                  "2>/dev/null\nkill $pid; wait");
    close(holder);

    EXPECT_THAT(outcome.err,
                StartsWith("loom-verbs: RoCE address 127.0.0.1 port " + udp + ": Address already in use\n"));
}

TEST(VerbsCounters, OfARunningProgramCanBeRead) {
    // A program that is on a device while the counters are read: the shell waits for it inside.
    const Outcome outcome = shell("'" LOOM_PROGRAM
                                  "' verbs run -- ibv_asyncwatch -d loom0 >/dev/null 2>&1 & pid=$!\n"
                                  "for try in $(seq 100); do '" LOOM_PROGRAM
                                  "' verbs counters --json $pid 2>/dev/null && break; sleep 0.05; done\n"
                                  "kill $pid");

    const json processes = json::parse(outcome.out)["processes"];
    ASSERT_EQ(processes.size(), 1u);
    EXPECT_EQ(processes[0]["program"], "ibv_asyncwatch");
    EXPECT_EQ(processes[0]["hcas"][0]["name"], "loom0");
    EXPECT_EQ(processes[0]["hcas"][0]["sent_bytes"]["roce"], 0);
    EXPECT_EQ(processes[0]["hcas"][0]["completion_errors"], 0);
}

#endif

}  // namespace
