// Faults that were asked for, as programs see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using testing::HasSubstr;

// Both ends of a ping-pong; the client's words.
Outcome pingpong(const std::string& faults, int port, const std::string& options) {
    const std::string command = "LOOM_VERBS_FAULT='" + faults +
                                "' LD_PRELOAD='" LOOM_VERBS_LIBRARY "' timeout 20 ibv_rc_pingpong -p " +
                                std::to_string(port) + " " + options;
    // The client is tried again until the server listens.
    return shell(command +
                 " >/dev/null 2>&1 & server=$!\n"
                 "for try in $(seq 50); do out=$(" +
                 command +
                 " 127.0.0.1 2>&1); code=$?; "
                 "case \"$out\" in *\"Couldn't connect\"*) sleep 0.1;; *) break;; esac; done\n"
                 "echo \"$out\"; kill $server 2>/dev/null; wait; exit $code");
}

int own_port(int offset) {
    return 20000 + static_cast<int>(getpid() % 20000) * 2 + offset;
}

double seconds_of(const std::string& output) {
    const std::regex line(R"(iters in ([0-9.]+) seconds)");
    std::smatch match;
    return std::regex_search(output, match, line) ? std::stod(match[1]) : -1;
}

TEST(Faults, DelayHoldsCompletionsBack) {
    const Outcome polled = pingpong("delay=2ms", own_port(0), "-n 50");
    const Outcome with_events = pingpong("delay=2ms", own_port(1), "-n 50 -e");

    EXPECT_EQ(polled.exit_code, 0) << polled.out;
    EXPECT_GE(seconds_of(polled.out), 50 * 0.002);
    EXPECT_EQ(with_events.exit_code, 0) << with_events.out;
    EXPECT_GE(seconds_of(with_events.out), 50 * 0.002);
}

TEST(Faults, ErrorsEndARun) {
    const Outcome outcome = pingpong("seed=3,error=0.05", own_port(0), "-n 1000");

    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Failed status"));
}

TEST(Faults, LostPacketsAreSentAgain) {
    const Outcome outcome = pingpong("seed=3,drop=0.02", own_port(0), "-n 300");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
}

}  // namespace
