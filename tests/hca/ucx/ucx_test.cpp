// UCX and Open MPI, unchanged, on the software HCA: clients that ask more of an adapter than the examples do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "peer/harness/process.hpp"
#include "support/network/namespaces.hpp"

namespace loom::hca {
namespace {

using testing::HasSubstr;
using Environment = std::vector<std::pair<std::string, std::string>>;

std::filesystem::path build_folder() {
    return std::filesystem::path(LOOM_PROGRAM).parent_path().parent_path().parent_path();
}

// Bytes by path that the HCAs of all processes counted.
std::map<std::string, double> paths(const std::filesystem::path& stats) {
    std::map<std::string, double> bytes;
    std::istringstream in(peer::content_or_empty(stats));
    const std::function<void(const nlohmann::json&)> add = [&](const nlohmann::json& object) {
        for (const auto& [key, value] : object.items())
            if ((key == "store" || key == "direct" || key == "target" || key == "roce") && value.is_number())
                bytes[key] += value.get<double>();
            else if (value.is_structured())
                add(value);
    };
    for (std::string line; std::getline(in, line);)
        if (const auto object = nlohmann::json::parse(line, nullptr, false); object.is_structured()) add(object);
    return bytes;
}

Environment on_the_hca(const std::string& transports, const std::filesystem::path& stats) {
    return {{"LD_PRELOAD", build_folder() / "lib" / "libloom-verbs.so"},
            {"UCX_TLS", transports},
            {"UCX_NET_DEVICES", "loom0:1"},
            {"UCX_WARN_UNUSED_ENV_VARS", "n"},
            {"LOOM_VERBS_STATS", stats}};
}

struct Perftest {
    const char* transports;  // UCX needs datagrams to wire up rc_verbs: its alias rc_v has them
    const char* test;
    std::size_t bytes;
    std::size_t rounds;
};

void PrintTo(const Perftest& p, std::ostream* out) {
    *out << p.transports << ' ' << p.test << ' ' << p.bytes;
}

// Server and client, on one host or on the two given. Returns the bytes that the HCAs counted, by path.
std::map<std::string, double> run_pair(const Perftest& p, const test::TwoHosts* hosts) {
    const peer::TemporaryFolder folder;
    const auto stats = folder.path() / "stats";
    static unsigned count = 0;
    // Below those that the kernel gives to anybody's connections.
    const std::string port = std::to_string(17000 + (static_cast<unsigned>(getpid()) * 16 + count++) % 15000);
    const auto command = [&](const char* name, bool client) {
        std::vector<std::string> arguments{"ucx_perftest"};
        if (client) arguments.emplace_back(hosts ? test::TwoHosts::left_address : "127.0.0.1");
        for (const std::string& more :
             {std::string("-t"), std::string(p.test), std::string("-s"), std::to_string(p.bytes), std::string("-n"),
              std::to_string(p.rounds), std::string("-p"), port})
            arguments.push_back(more);
        peer::Command out{.arguments = arguments,
                          .environment = on_the_hca(p.transports, stats),
                          .directory = folder.path(),
                          .output = folder.path() / name,
                          .timeout = peer::Seconds{60}};
        if (hosts) {
            const char* address = client ? test::TwoHosts::right_address : test::TwoHosts::left_address;
            out.environment.emplace_back("LOOM_VERBS_HCAS", std::string("roce:") + address);
            out.network = (client ? hosts->right : hosts->left).descriptor();
        }
        return out;
    };

    peer::Background server(command("server", false));
    peer::Outcome client;
    for (int attempt = 0; attempt < 100; ++attempt) {  // until the server listens
        client = peer::run(command("client", true));
        if (client.ok() || client.output.find("connect") == std::string::npos) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    const auto served = client.ok() ? server.wait() : peer::Outcome{};

    EXPECT_TRUE(client.ok()) << client.output << client.errors;
    EXPECT_TRUE(served.ok()) << served.output << served.errors;
    EXPECT_THAT(client.output, HasSubstr("Final:"));
    return paths(stats);
}

class UcxPerftest : public testing::TestWithParam<Perftest> {};

TEST_P(UcxPerftest, RunsOnTheHca) {
    const Perftest& p = GetParam();

    auto bytes = run_pair(p, nullptr);

    EXPECT_GE(bytes["store"] + bytes["direct"], static_cast<double>(p.bytes * p.rounds));
    EXPECT_EQ(bytes["roce"], 0);
}

INSTANTIATE_TEST_SUITE_P(
    Reliable, UcxPerftest,
    testing::Values(Perftest{"rc_v,self", "tag_lat", 8, 5000}, Perftest{"rc_v,self", "tag_lat", 4096, 2000},
                    Perftest{"rc_v,self", "tag_bw", 65536, 1000}, Perftest{"rc_v,self", "tag_bw", 4194304, 50},
                    Perftest{"rc_v,self", "tag_sync_lat", 1024, 1000}, Perftest{"rc_v,self", "ucp_put_lat", 8, 2000},
                    Perftest{"rc_v,self", "ucp_put_bw", 65536, 1000}, Perftest{"rc_v,self", "ucp_get", 65536, 1000},
                    Perftest{"rc_v,self", "ucp_fadd", 8, 2000}, Perftest{"rc_v,self", "ucp_cswap", 8, 2000},
                    Perftest{"rc_v,self", "stream_bw", 16384, 2000}, Perftest{"rc_v,self", "ucp_am_bw", 16384, 2000}));

INSTANTIATE_TEST_SUITE_P(
    Datagrams, UcxPerftest,
    testing::Values(Perftest{"ud_v,self", "tag_lat", 8, 5000}, Perftest{"ud_v,self", "tag_lat", 4096, 2000},
                    Perftest{"ud_v,self", "tag_bw", 65536, 500}, Perftest{"ud_v,self", "tag_bw", 1048576, 20},
                    Perftest{"ud_v,self", "ucp_put_bw", 4096, 1000}, Perftest{"ud_v,self", "stream_bw", 16384, 1000}));

class UcxBetweenHosts : public testing::TestWithParam<Perftest> {};

TEST_P(UcxBetweenHosts, RunsOverRoce) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const Perftest& p = GetParam();
    const test::TwoHosts hosts;

    auto bytes = run_pair(p, &hosts);

    EXPECT_GE(bytes["roce"], static_cast<double>(p.bytes * p.rounds));
    EXPECT_EQ(bytes["store"] + bytes["direct"] + bytes["target"], 0);
}

INSTANTIATE_TEST_SUITE_P(
    Roce, UcxBetweenHosts,
    testing::Values(Perftest{"rc_v,self", "tag_lat", 8, 500}, Perftest{"rc_v,self", "tag_bw", 65536, 200},
                    Perftest{"rc_v,self", "ucp_get", 65536, 100}, Perftest{"rc_v,self", "ucp_fadd", 8, 200},
                    Perftest{"ud_v,self", "tag_lat", 8, 500}, Perftest{"ud_v,self", "tag_bw", 65536, 100}));

class OpenMpi : public testing::TestWithParam<const char*> {};

TEST_P(OpenMpi, RunsARealProgramOnFourRanks) {
    const peer::TemporaryFolder folder;
    const auto stats = folder.path() / "stats";
    std::vector<std::string> arguments{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "4"};
    for (const char* more : {"--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", "^openib,vader,tcp"})
        arguments.emplace_back(more);
    for (const auto& [name, value] : on_the_hca(GetParam(), stats)) {
        arguments.emplace_back("-x");
        arguments.push_back(name + "=" + value);
    }
    arguments.push_back(build_folder() / "tests" / "hca" / "mpi_workout");

    const auto outcome = peer::run({.arguments = arguments,
                                    .environment = {},
                                    .directory = folder.path(),
                                    .output = folder.path() / "output",
                                    .timeout = peer::Seconds{120}});

    ASSERT_TRUE(outcome.ok()) << outcome.output << outcome.errors;
    const auto report = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(report["ranks"], 4);
    EXPECT_GT(report["iterations"], 0);
    double total = 0;
    for (const auto& [path, bytes] : paths(stats)) total += bytes;
    EXPECT_GE(total, 4 * report["ring_bytes"].get<double>()) << peer::content_or_empty(stats);
}

INSTANTIATE_TEST_SUITE_P(OverUcx, OpenMpi, testing::Values("rc_v,self", "ud_v,self"));

}  // namespace
}  // namespace loom::hca
