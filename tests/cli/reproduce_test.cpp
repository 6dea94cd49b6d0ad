#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ReproduceCommand, WritesEveryValueAsCsv) {
    const TemporaryFolder folder;
    const std::string file = folder.file("rows.csv");

    const Outcome run = loom_program("reproduce zahavi-table-1 --quick --json --csv " + file);

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out)["reproductions"][0];
    const std::string csv = slurp(file);
    EXPECT_THAT(csv, StartsWith("reproduction,row,column,paper,corrected,ours,verdict\nzahavi-table-1,"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
              static_cast<std::ptrdiff_t>(1 + result["rows"].size() * result["columns"].size()));
    EXPECT_THAT(csv, HasSubstr(",holds\n"));
}

TEST(ReproduceCommand, GivesStandardOutputToTheCsvAlone) {
    const Outcome alone = loom_program("reproduce zahavi-table-1 --quick --csv -");
    const Outcome both = loom_program("reproduce zahavi-table-1 --quick --json --csv -");

    EXPECT_EQ(alone.exit_code, 0) << alone.err;
    EXPECT_THAT(alone.out, StartsWith("reproduction,row,"));
    EXPECT_THAT(alone.out, testing::EndsWith("\n"));
    EXPECT_EQ(alone.out.find("Rules"), std::string::npos);
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_THAT(both.err, HasSubstr("--json needs standard output for itself"));
}

}  // namespace
