#include "loom/coll/parameters.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "coll/parameter_cache.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/model/assumed.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "support/variable.hpp"

namespace loom::coll {
namespace {

using loom::test::Variable;

namespace fs = std::filesystem;

class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("loom-parameters-" + std::to_string(getpid()))) {
        fs::create_directories(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(path_); }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

std::vector<Parameters> agree(std::uint32_t ranks) {
    std::vector<Parameters> got(ranks);
    transport::run_local(
        ranks, [&](transport::Transport& transport) { got[transport.rank().value] = agree_parameters(transport); });
    return got;
}

TEST(Parameters, AreAssumedForThreadsOfOneProcess) {
    const std::vector<Parameters> got = agree(3);

    for (const Parameters& each : got) {
        EXPECT_EQ(each.source, Parameters::Source::assumed);
        EXPECT_EQ(each, got[0]);
    }
}

TEST(Parameters, AreMeasuredAndAlikeOnEveryRank) {
    const Variable off("LOOM_CACHE", "off"), measure("LOOM_COLL_PARAMETERS", "measure");
    for (const std::uint32_t ranks : {2u, 3u, 5u}) {
        const std::vector<Parameters> got = agree(ranks);

        for (const Parameters& each : got) EXPECT_EQ(each, got[0]);
        // Also a machine too busy to measure gets parameters.
        EXPECT_TRUE(got[0].source == Parameters::Source::measured || got[0].origin.find("busy") != std::string::npos);
        const model::Charges& c = got[0].charges;
        EXPECT_GT(c.way.small.send + c.way.small.latency + c.way.small.take, Time{});
        EXPECT_GT(c.local.copy, 0);
        EXPECT_GT(c.local.reduce, 0);
        EXPECT_FALSE(c.far);
    }
}

TEST(Parameters, AreKeptForTheNextJob) {
    const Folder folder;
    const Variable cache("LOOM_CACHE", folder.path().string());
    const std::string key = "a machine";
    const fs::path file = *parameter_file(key);
    EXPECT_FALSE(load_parameters(file, key));
    const std::vector<std::uint32_t> hosts(4);
    const Parameters measured{model::assumed_charges(hosts, 2), Parameters::Source::measured, "measured at noon"};

    keep_parameters(file, key, measured);
    const std::optional<Parameters> kept = load_parameters(file, key);

    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->charges, measured.charges);
    EXPECT_EQ(kept->source, Parameters::Source::cached);
    EXPECT_NE(kept->origin.find("measured at noon"), std::string::npos);
}

// What was measured on a busy machine must not decide for ever.
TEST(Parameters, MeasuredWhileOthersRanAreKeptForTenMinutes) {
    const Folder folder;
    const Variable cache("LOOM_CACHE", folder.path().string());
    const fs::path file = *parameter_file("a machine");
    const std::vector<std::uint32_t> hosts(1);
    const auto kept_for = [&](const std::string& origin, std::chrono::minutes age) {
        keep_parameters(file, "a machine", {model::assumed_charges(hosts, 1), Parameters::Source::measured, origin});
        fs::last_write_time(file, fs::file_time_type::clock::now() - age);
        return load_parameters(file, "a machine").has_value();
    };
    const std::string busy = "measured at noon" + std::string(busy_words);

    EXPECT_TRUE(kept_for(busy, std::chrono::minutes(5)));
    EXPECT_FALSE(kept_for(busy, std::chrono::minutes(15)));
    EXPECT_TRUE(kept_for("measured at noon", std::chrono::hours(10'000)));
}

// Processes that compute until they are killed.
class OtherPrograms {
public:
    explicit OtherPrograms(int count) {
        for (int i = 0; i < count; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (volatile unsigned turns = 0;;) turns = turns + 1;
            }
            children_.push_back(child);
        }
    }
    OtherPrograms(const OtherPrograms&) = delete;
    OtherPrograms& operator=(const OtherPrograms&) = delete;
    ~OtherPrograms() {
        for (const pid_t child : children_) kill(child, SIGKILL);
        for (const pid_t child : children_) waitpid(child, nullptr, 0);
    }

private:
    std::vector<pid_t> children_;
};

// A compiler at work made a receive 40 times as expensive and latency nothing, and choices followed.
TEST(Parameters, AreAssumedWhileOtherProgramsRunUnlessMeasuringIsAskedFor) {
    const Folder folder;
    const Variable cache("LOOM_CACHE", folder.path().string());
    const OtherPrograms others(6);
    const auto source = [] {
        transport::Launch request;
        request.ranks = 2;
        request.body = [](Rank) {
            const auto bootstrap = transport::find_bootstrap();
            const auto transport = transport::open_verbs(*bootstrap);
            const Parameters parameters = agree_parameters(*transport);
            bootstrap->fence();
            bootstrap->finished();
            return static_cast<int>(parameters.source) +
                   (parameters.origin.find(busy_words) != std::string::npos ? 10 : 20);
        };
        return transport::launch(request).ranks.at(0).exit_code;
    };

    EXPECT_EQ(source(), static_cast<int>(Parameters::Source::assumed) + 10);
    EXPECT_EQ(source(), static_cast<int>(Parameters::Source::cached) + 10);
    const Variable measure("LOOM_COLL_PARAMETERS", "measure");
    const int measured = source();
    EXPECT_TRUE(measured == static_cast<int>(Parameters::Source::measured) + 10 ||
                measured == static_cast<int>(Parameters::Source::assumed) + 10);  // too busy to measure anything
}

TEST(Parameters, OfAnotherMachineOrADamagedFileAreNotTaken) {
    const Folder folder;
    const Variable cache("LOOM_CACHE", folder.path().string());
    const fs::path file = *parameter_file("a machine");
    const std::vector<std::uint32_t> hosts(1);
    keep_parameters(file, "a machine", {model::assumed_charges(hosts, 1), Parameters::Source::measured, "at noon"});
    const std::string text = read_file(file);

    EXPECT_FALSE(load_parameters(file, "another machine"));
    for (std::size_t at = 0; at < text.size(); at += 7) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write_file(file, damaged);
        EXPECT_FALSE(load_parameters(file, "a machine")) << at;
        write_file(file, text.substr(0, at));
        EXPECT_FALSE(load_parameters(file, "a machine")) << at;
    }
    write_file(file, text);
    EXPECT_TRUE(load_parameters(file, "a machine"));
}

TEST(Parameters, AreNotKeptWhereTheyShallNotBe) {
    const Variable off("LOOM_CACHE", "off");

    EXPECT_FALSE(parameter_file("a machine"));
}

TEST(Parameters, AFolderThatCannotBeWrittenIsNoError) {
    const std::vector<std::uint32_t> hosts(1);
    const fs::path file = "/proc/no such folder/parameters.txt";

    EXPECT_NO_THROW(keep_parameters(file, "x", {model::assumed_charges(hosts, 1), Parameters::Source::measured, ""}));

    EXPECT_FALSE(load_parameters(file, "x"));
}

TEST(Parameters, MayBeGiven) {
    const Variable given("LOOM_COLL_PARAMETERS", "L=7us,far.G=2ns");

    const std::vector<Parameters> got = agree(2);

    EXPECT_EQ(got[0], got[1]);
    EXPECT_EQ(got[0].source, Parameters::Source::given);
    EXPECT_EQ(got[0].charges.way.small.latency, microseconds(7));
    EXPECT_EQ(got[0].charges.far->large.gap_byte, 2000);
}

TEST(Parameters, ThatCannotBeReadAreAnErrorOnEveryRank) {
    const Variable off("LOOM_CACHE", "off");
    for (const char* text : {"L=soon", "measure,L=soon"}) {
        const Variable given("LOOM_COLL_PARAMETERS", text);
        std::mutex mutex;
        int errors = 0;

        transport::run_local(3, [&](transport::Transport& transport) {
            try {
                (void)agree_parameters(transport);
            } catch (const UsageError& error) {
                const std::lock_guard lock(mutex);
                errors += std::string(error.what()).find("L=soon") != std::string::npos;
            }
        });

        EXPECT_EQ(errors, 3) << text;
    }
}

TEST(Parameters, ThatAreAssumedKnowOfACrowd) {
    const std::vector<std::uint32_t> hosts(8);

    const model::Charges alone = model::assumed_charges(hosts, 8), crowd = model::assumed_charges(hosts, 2);

    EXPECT_EQ(alone.host_cores, 0u);
    EXPECT_EQ(crowd.host_cores, 2u);
    EXPECT_GT(crowd.way.small.latency, alone.way.small.latency);
}

}  // namespace
}  // namespace loom::coll
