// rdma-core's own tests, as Debian ships them with its Python binding, on the software HCA. They skip what a device
// says that it cannot do, and everything of vendors' devices.
#include <gtest/gtest.h>

#include <regex>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using loom::test::TemporaryFolder;

class RdmaCore : public testing::TestWithParam<const char*> {};

TEST_P(RdmaCore, ItsOwnTestsPass) {
    const TemporaryFolder folder;
    const Outcome unpacked = shell("cp -r \"$(dpkg -L python3-pyverbs | grep '/rdma-core/tests$')\" '" +
                                   folder.file("tests") + "' && gunzip -f '" + folder.file("tests") + "'/*.gz");
    ASSERT_EQ(unpacked.exit_code, 0) << unpacked.err;

    const Outcome outcome = shell(std::string("LOOM_VERBS_HCAS='") + GetParam() +
                                  "' LD_PRELOAD='" LOOM_VERBS_LIBRARY "' timeout 100 /usr/bin/python3 '" +
                                  folder.file("tests") + "/run_tests.py' --dev loom0 --gid 0 -v");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::regex passed("\\.\\.\\. ok\n");
    EXPECT_GE(std::distance(std::sregex_iterator(outcome.err.begin(), outcome.err.end(), passed), {}), 75)
        << "most were skipped:\n"
        << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(On, RdmaCore, testing::Values("ib", "roce:127.0.0.1"), [](const auto& hcas) {
    return std::string(hcas.param, 0, 2) == "ib" ? "InfiniBand" : "Ethernet";
});

}  // namespace
