#include "coll/kept_choices.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "coll/parameter_cache.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/world.hpp"
#include "loom/model/assumed.hpp"
#include "loom/transport/launch.hpp"

namespace loom::coll {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("loom-choices-" + std::to_string(getpid()))) {
        fs::create_directories(path_);
        setenv("LOOM_CACHE", path_.c_str(), 1);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        unsetenv("LOOM_CACHE");
        fs::remove_all(path_);
    }
    [[nodiscard]] fs::path file(std::string_view begin) const {
        for (const fs::directory_entry& each : fs::directory_iterator(path_))
            if (each.path().filename().string().starts_with(begin)) return each.path();
        return {};
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

constexpr std::uint64_t of(Collective what) {
    return static_cast<std::uint64_t>(what) << 1;
}

KeptChoices two_calls() {
    KeptChoices kept;
    kept.add({1, 64, 8, of(Collective::alltoall)}, {{&find_algorithm(Collective::alltoall, "linear"), {}},
                                                    {&find_algorithm(Collective::alltoall, "bruck"), {0, 3}}});
    kept.add({UINT64_MAX, 1 << 20, 0, of(Collective::broadcast)},
             {{&find_algorithm(Collective::broadcast, "chain"), {65536, 0}}});
    return kept;
}

Parameters measured() {
    const std::uint32_t one_host[] = {0, 0, 0, 0};
    return {model::assumed_charges(one_host, 2), Parameters::Source::measured, "measured at noon"};
}

TEST(KeptChoices, ComeBackFromText) {
    const KeptChoices back = KeptChoices::from_text(two_calls().to_text());

    const std::vector<Kept>* const alltoall = back.find({1, 64, 8, of(Collective::alltoall)});
    ASSERT_NE(alltoall, nullptr);
    ASSERT_EQ(alltoall->size(), 2u);
    EXPECT_EQ(alltoall->at(0).algorithm->name, "linear");
    EXPECT_EQ(alltoall->at(1).tuning, (Tuning{0, 3}));
    EXPECT_EQ(back.to_text(), two_calls().to_text());
    EXPECT_EQ(back.find({2, 64, 8, of(Collective::alltoall)}), nullptr);
}

TEST(KeptChoices, WhatNoRankingCouldSayIsRefused) {
    const auto line = [](std::string_view choice) {
        return fmt::format("1 40 8 {:x} {}\n", of(Collective::alltoall), choice);
    };

    EXPECT_NO_THROW((void)KeptChoices::from_text(line("linear:0:0")));
    for (const char* choice : {"none:0:0", "linear", "linear:0", "linear:x:0", "linear:0:-1", "bruck:0:100000",
                               "linear:99999999999:0", "linear:0:0:0"})
        EXPECT_THROW((void)KeptChoices::from_text(line(choice)), UsageError) << choice;
    EXPECT_THROW((void)KeptChoices::from_text("1 40 8 ffff linear:0:0\n"), UsageError);
    EXPECT_THROW((void)KeptChoices::from_text("1 40\n"), UsageError);
}

TEST(KeptChoices, OfAMachineAreBoundedInNumber) {
    KeptChoices kept;
    const Kept linear{&find_algorithm(Collective::alltoall, "linear"), {}};

    for (std::uint64_t i = 0; i < KeptChoices::most + 10; ++i)
        kept.add({i, 0, 0, of(Collective::alltoall)}, std::vector<Kept>(10, linear));

    EXPECT_EQ(kept.find({0, 0, 0, of(Collective::alltoall)})->size(), KeptChoices::most_each);
    EXPECT_NE(kept.find({KeptChoices::most - 1, 0, 0, of(Collective::alltoall)}), nullptr);
    EXPECT_EQ(kept.find({KeptChoices::most, 0, 0, of(Collective::alltoall)}), nullptr);
}

TEST(KeptChoices, OfOtherParametersOrADamagedFileAreNotTaken) {
    const Folder folder;
    const fs::path file = folder.path() / "choices";
    keep_choices(file, measured(), two_calls());
    const std::string text = read_file(file);
    EXPECT_EQ(load_choices(file, measured()).to_text(), two_calls().to_text());

    Parameters others = measured();
    others.charges.local.copy += 1;
    EXPECT_TRUE(load_choices(file, others).empty());
    for (std::size_t at = 0; at < text.size(); at += 5) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write_file(file, damaged);
        EXPECT_TRUE(load_choices(file, measured()).empty()) << at;
        write_file(file, text.substr(0, at));
        EXPECT_TRUE(load_choices(file, measured()).empty()) << at;
    }
}

TEST(KeptChoices, OfTwoJobsAtOnceAreBothKept) {
    const Folder folder;
    const fs::path file = folder.path() / "choices";
    KeptChoices mine, theirs;
    mine.add({1, 2, 3, of(Collective::barrier)}, {{&algorithms(Collective::barrier).front(), {}}});
    theirs.add({4, 5, 6, of(Collective::barrier)}, {{&algorithms(Collective::barrier).front(), {}}});

    keep_choices(file, measured(), theirs);
    keep_choices(file, measured(), mine);

    KeptChoices both = mine;
    both.take(theirs);
    EXPECT_EQ(load_choices(file, measured()).to_text(), both.to_text());
}

// Rules that change say so in the table of choices, and then earlier choices are not theirs.
TEST(KeptChoices, ByTheRulesOfToday) {
    const std::string table = read_file(fs::path(LOOM_SOURCE_DIR) / "tests" / "coll" / "golden" / "choices.txt");

    EXPECT_EQ(digest(table), rules_version)
        << fmt::format("write rules_version = 0x{:016x} into src/coll/kept_choices.hpp", digest(table));
}

// The name of the algorithm that 3 ranks take for an alltoall of 1 KiB.
std::string alltoall_of_a_job() {
    transport::Launch request;
    request.ranks = 3;
    request.body = [](Rank) {
        const auto world = World::open();
        std::vector<char> in(3 * 1024), out(in.size());
        world->communicator().alltoall(in, out);
        const std::string_view chosen = world->communicator().explain(Collective::alltoall, 1024).algorithm;
        world->close();
        for (int i = 0; i < std::ssize(algorithms(Collective::alltoall)); ++i)
            if (algorithms(Collective::alltoall)[static_cast<std::size_t>(i)].name == chosen) return i + 1;
        return 0;
    };
    const int chosen = transport::launch(request).ranks.at(1).exit_code;
    return chosen == 0 ? "none"
                       : std::string(algorithms(Collective::alltoall)[static_cast<std::size_t>(chosen - 1)].name);
}

TEST(KeptChoices, OfOneJobAreTheNextOnes) {
    const Folder folder;
    const std::string first = alltoall_of_a_job();
    const fs::path file = folder.file("choices-");
    ASSERT_FALSE(file.empty());
    std::string text = read_file(file);
    ASSERT_NE(text.find(" " + first + ":"), std::string::npos) << text;

    // Whatever stands there is taken.
    const std::string other = first == "pairwise" ? "linear" : "pairwise";
    const std::string of_alltoalls = fmt::format(" {:x} ", of(Collective::alltoall) | 1);
    for (std::size_t at = text.find(of_alltoalls); at != std::string::npos; at = text.find(of_alltoalls, at + 1))
        text.replace(at + of_alltoalls.size(), first.size(), other);
    text.resize(text.rfind("check "));
    write_file(file, text + fmt::format("check {:016x}\n", digest(text)));

    EXPECT_EQ(alltoall_of_a_job(), other);
    fs::remove(file);
    EXPECT_EQ(alltoall_of_a_job(), first);
}

}  // namespace
}  // namespace loom::coll
