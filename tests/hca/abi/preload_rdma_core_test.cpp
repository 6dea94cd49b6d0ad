// rdma-core's own tests, as Debian ships them with its Python binding, on the software HCA. They skip what a device
// says that it cannot do, and everything of vendors' devices.
#include <gtest/gtest.h>

#include <regex>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using loom::test::TemporaryFolder;

struct Link {
    const char* name;
    const char* hcas;
    int passing;  // as many as fit what the device says it can do: a capability that is lost makes tests skip, not fail
};

void PrintTo(const Link& link, std::ostream* out) {
    *out << link.hcas;
}

class RdmaCore : public testing::TestWithParam<Link> {};

TEST_P(RdmaCore, ItsOwnTestsPass) {
    const TemporaryFolder folder;
    const Outcome unpacked = shell("cp -r \"$(dpkg -L python3-pyverbs | grep '/rdma-core/tests$')\" '" +
                                   folder.file("tests") + "' && gunzip -f '" + folder.file("tests") + "'/*.gz");
    ASSERT_EQ(unpacked.exit_code, 0) << unpacked.err;

    const Outcome outcome = shell(std::string("LOOM_VERBS_HCAS='") + GetParam().hcas +
                                  "' LD_PRELOAD='" LOOM_VERBS_LIBRARY "' timeout 100 /usr/bin/python3 '" +
                                  folder.file("tests") + "/run_tests.py' --dev loom0 --gid 0 -v");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::regex passed("\\.\\.\\. ok\n");
    EXPECT_GE(std::distance(std::sregex_iterator(outcome.err.begin(), outcome.err.end(), passed), {}),
              GetParam().passing)
        << "some were skipped that used to pass:\n"
        << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(On, RdmaCore,
                         testing::Values(Link{"InfiniBand", "ib", 81}, Link{"Ethernet", "roce:127.0.0.1", 82}),
                         [](const auto& link) { return std::string(link.param.name); });

}  // namespace
