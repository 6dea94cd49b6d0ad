// Debian's verbs programs and our checker inside one host: unchanged, over the ways that shared memory offers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hca/clients/play.hpp"

namespace loom::test {
namespace {

using testing::HasSubstr;

std::string identifier(const std::string& text) {
    std::string result;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            result += c;
        else if (!result.empty() && result.back() != '_')
            result += '_';
    return result;
}

#ifndef LOOM_SANITIZED  // nothing sanitized can be preloaded into foreign programs

class Pingpong : public testing::TestWithParam<const char*> {};

TEST_P(Pingpong, RunsUnchanged) {
    const std::uint16_t port = fresh_port();
    Words program = split(GetParam());
    program.insert(program.end(), {"-n", "300", "-p", std::to_string(port)});

    const Played played = play_by_command(program, port, {"127.0.0.1"});

    ASSERT_TRUE(played.ok()) << played.said();
    EXPECT_THAT(played.client.outcome.output, HasSubstr("300 iters in"));
    EXPECT_THAT(played.server.outcome.output, HasSubstr("300 iters in"));
    const Bytes sent = played.sent();
    const std::uint64_t message = program.front() == "ibv_ud_pingpong" ? 1024 : 4096;
    EXPECT_GE(sent.inside(), 2 * 300 * message) << played.said();
    EXPECT_EQ(sent.roce, 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, Pingpong,
                         testing::Values("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
                                         "ibv_rc_pingpong -e", "ibv_uc_pingpong -e", "ibv_ud_pingpong -e",
                                         "ibv_srq_pingpong -e"),
                         [](const auto& tested) { return identifier(tested.param); });

// -c also looks at the data.
TEST(PingpongData, IsRight) {
    const std::uint16_t port = fresh_port();

    const Played played =
        play_by_command({"ibv_rc_pingpong", "-c", "-n", "300", "-p", std::to_string(port)}, port, {"127.0.0.1"});

    ASSERT_TRUE(played.ok()) << played.said();
    EXPECT_THAT(played.client.outcome.output, Not(HasSubstr("invalid data")));
}

// perftest measures the clock's frequency for a quarter of a second after each size, so that only a few are run here;
// the checker has all of them.
class Perftest : public testing::TestWithParam<const char*> {};

TEST_P(Perftest, RunsUnchanged) {
    const Words given = split(GetParam());
    const bool atomic = given.front().starts_with("ib_atomic");
    const bool datagrams = std::string(GetParam()).find("UD") != std::string::npos;
    const std::vector<std::string> sizes = atomic ? Words{"8"} : datagrams ? Words{"1", "4096"} : Words{"1", "8388608"};
    for (const std::string& size : sizes) {
        const std::uint16_t port = fresh_port();
        Words program = given;
        program.insert(program.end(), {"-F", "-d", "loom0", "-n", "20", "-p", std::to_string(port)});
        if (!atomic) program.insert(program.end(), {"-s", size});

        const Played played = play(program, port, {"127.0.0.1"});

        ASSERT_TRUE(played.ok()) << size << played.said();
        EXPECT_THAT(played.client.outcome.output, HasSubstr("\n " + size + " "));
        const Bytes sent = played.sent();
        EXPECT_GE(sent.inside(), 20 * std::stoull(size)) << played.said();
        EXPECT_EQ(sent.roce, 0u);
        // UC sends go by packets, since nobody would tell the sender when its memory has been read, and so do a few
        // that come before the connection between the processes stands.
        if (size == "8388608" && !(given.front().starts_with("ib_send") && std::string(GetParam()).ends_with("UC"))) {
            EXPECT_GE(sent.direct, 10 * std::stoull(size)) << "copied once, between the processes' memory";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Each, Perftest,
                         testing::Values("ib_send_lat -c RC", "ib_send_lat -c UC", "ib_send_lat -c UD",
                                         "ib_send_bw -c RC", "ib_send_bw -c UC", "ib_send_bw -c UD",
                                         "ib_write_lat -c RC", "ib_write_lat -c UC", "ib_write_bw -c RC",
                                         "ib_write_bw -c UC", "ib_read_lat -c RC", "ib_read_bw -c RC",
                                         "ib_atomic_lat -A CMP_AND_SWAP", "ib_atomic_lat -A FETCH_AND_ADD",
                                         "ib_atomic_bw -A CMP_AND_SWAP", "ib_atomic_bw -A FETCH_AND_ADD",
                                         "ib_send_bw -c RC -b", "ib_send_bw -c RC -e -r 64", "ib_send_lat -c RC -e",
                                         "ib_write_bw -c RC -b -q 4"),
                         [](const auto& tested) { return identifier(tested.param); });

#endif

// Every transport with every operation it has.
const char* const plain_runs[] = {
    "rc send", "rc send_imm", "rc write", "rc write_imm", "rc read", "rc cas",      "rc fadd",
    "uc send", "uc send_imm", "uc write", "uc write_imm", "ud send", "ud send_imm",
};

Words checker_options(const std::string& run, const std::string& more) {
    const Words words = split(run);
    Words options = {"--transport", words.at(0), "--operation", words.at(1)};
    for (const std::string& word : split(more)) options.push_back(word);
    return options;
}

// Both sides found everything right, and something was looked at.
void expect_all_right(const Played& played, std::uint64_t messages) {
    ASSERT_TRUE(played.ok()) << played.said();
    const nlohmann::json server = played.server.answer();
    const nlohmann::json client = played.client.answer();
    EXPECT_EQ(server["messages"].get<std::uint64_t>() + client["messages"].get<std::uint64_t>(), messages);
    EXPECT_EQ(server["lost"], 0);
    EXPECT_EQ(client["lost"], 0);
}

class Checker : public testing::TestWithParam<const char*> {
protected:
    [[nodiscard]] std::string transport() const { return split(GetParam()).at(0); }
    [[nodiscard]] bool atomic() const {
        const std::string operation = split(GetParam()).at(1);
        return operation == "cas" || operation == "fadd";
    }
};

TEST_P(Checker, FindsEveryByteOfEverySizeRight) {
    const Played played = check(checker_options(GetParam(), "--sizes 0,1-8M --iterations 16"));

    // UD has messages up to 4096 bytes: 0 and 13 powers of two. The others go on to 8 MiB.
    expect_all_right(played, 16 * (atomic() ? 1 : transport() == "ud" ? 14 : 25));
    EXPECT_EQ(played.sent().roce, 0u);
    if (!atomic()) {
        EXPECT_GE(played.sent().inside(), played.server.answer()["bytes"].get<std::uint64_t>() +
                                              played.client.answer()["bytes"].get<std::uint64_t>());
    }
}

TEST_P(Checker, FindsOddSizesInOddPiecesRight) {
    const Played played = check(checker_options(
        GetParam(), "--sizes 3,100,1023,1025,4095,4097,70001,1000001 --sge 7 --unsignalled 5 --iterations 48"));

    expect_all_right(played, 48 * (atomic() ? 1 : transport() == "ud" ? 5 : 8));
}

TEST_P(Checker, FindsEventsSharedReceivesInlineAndTheExtendedInterfaceRight) {
    const Played played = check(checker_options(
        GetParam(), "--sizes 0,1,64,5000,200000 --events --srq --inline --extended --sge 3 --iterations 32"));

    expect_all_right(played, 32 * (atomic() ? 1 : transport() == "ud" ? 3 : 5));
}

TEST_P(Checker, FindsBothDirectionsAtOnceRight) {
    const Played played =
        check(checker_options(GetParam(), "--sizes 1,4096,65536,1M --bidirectional --unsignalled 3 --iterations 64"));

    expect_all_right(played, 2 * 64 * (atomic() ? 1 : transport() == "ud" ? 2 : 4));
}

INSTANTIATE_TEST_SUITE_P(Each, Checker, testing::ValuesIn(plain_runs),
                         [](const auto& tested) { return identifier(tested.param); });

TEST(CheckerRuns, ReceivesThatComeLateLoseNothing) {
    for (const char* run : {"rc send", "rc send_imm", "rc write_imm"}) {
        const Played played = check(checker_options(run, "--sizes 1,5000,1M --late-receives --iterations 100"));

        expect_all_right(played, 300);
    }
}

TEST(CheckerRuns, SharedMemoryOfTheTargetIsWrittenByPlainStores) {
    for (const char* run : {"rc write", "rc read"}) {
        const Played played = check(checker_options(run, "--sizes 64,64K,1M --memfd --iterations 32"));

        expect_all_right(played, 96);
        const Bytes sent = played.sent();
        EXPECT_GE(sent.store, 32u * (64 + (64 << 10) + (1 << 20))) << run << played.said();
        EXPECT_EQ(sent.direct, 0u) << run;
    }
}

TEST(CheckerRuns, WithSeveralHcasEachReachesTheOther) {
    Side server, client;
    server.environment = client.environment = {{"LOOM_VERBS_HCAS", "ib,ib"}};
    const std::uint16_t port = fresh_port();
    const Words program = {VERBS_CHECKER, "--port", std::to_string(port), "--sizes", "1,4096,1M", "--iterations", "20"};

    const Played played = play(program, port, {"--device", "loom1", "127.0.0.1"}, server, client);

    expect_all_right(played, 60);
}

}  // namespace
}  // namespace loom::test
